"""Every bound in one place, with its unit and its reason."""

from __future__ import annotations

#: Tuples waiting and parked inside one eddy above which scans get no more credit.
HELD_TUPLES = 500_000

#: Of the memory limit of a run, what it holds before stored rows and indexes go to files; the bytes of an array from which
#: it goes there, as a share of the limit; how much of a table is written at once; and by how much of the limit what is held
#: may grow before allocators are asked to give back what nobody uses.
SPILL_SHARE = 0.5
SPILL_LEAST_SHARE = 64
SPILL_PART_BYTES = 16 << 20
SPILL_GARBAGE_SHARE = 1 / 32

#: Stored rows from which it is worth a look which of them nobody will ask for again.
FORGOTTEN_ROWS = 8_192

#: Tuples that are routed together at most: at first, then this share of those that have been routed, and in the end.
ROUTED_AT_FIRST = 4_096
ROUTED_SHARE = 1 / 16
ROUTED_MOST = 16_384

#: Bytes of results, as rows are on average, that are put into one batch.
GATHERED_BYTES = 64 << 20

#: Pairs one probe may produce; a batch that would exceed it is probed in parts.
PROBE_PAIRS = 1 << 20

#: Missing parts listed one by one; the others are counted.
MISSING_LISTED = 50

#: Columns that a table may have where nothing declares them: more are most often the keys of what should be rows.
INFERRED_COLUMNS = 2_000

#: Pages of one scan that may be under way at once, where pages do not depend on each other.
SCAN_WINDOW = 8

#: Rows below which pages of a scan that are here together are taken in as one, after which others have their turn, and that
#: a scan of small pages may be ahead: a page has its price whatever its size.
SMALL_PAGE = 2_000

#: The same where rows of scans are joined, and nothing else is asked for: pages that go on coming are waited for,
#: for so many rows at first, later for up to so many.
BATCH_ROWS = 8_000
BATCH_MOST_ROWS = 20_000

#: Seconds without a page after which a scan counts as stalled and its competitors are started, while it has shown too few
#: pages to tell; afterwards several times the longest wait for one, within these bounds.
STALL_S = 10.0
STALL_LEAST_S = 1.0
STALL_MOST_S = 60.0

#: Batches of a result, and rows of them, that wait for their reader before no further page is asked for.
READY_BATCHES = 16
READY_ROWS = 32_000

#: Batches that a statement of the Python API takes from these while its reader is busy with what it has.
AHEAD_BATCHES = 4

#: Seconds of routing after which the event loop gets its turn, so that answers are read while tuples travel.
ROUTE_SLICE_S = 0.005

#: Seconds that pages which go on coming are waited for before they are joined.
PAGES_SLICE_S = 0.02

#: Of the time until a deadline, what is left for joining on after fetching, and again for handing on what was found; and
#: the seconds that this takes at most.
JOIN_SHARE = 0.02
JOIN_MOST_S = 0.2

#: Of the time until a deadline, what is left for Spark's last run while none has been measured, and the most that it gets.
SPARK_SHARE = 0.25
SPARK_MOST_SHARE = 0.8

#: Seconds that Spark takes to start, that a run takes, and what a million rows add to it, at least (design section 8).
SPARK_START_S = 4.0
SPARK_RUN_S = 1.0
SPARK_MILLION_S = 0.5

#: Seconds that a query which Spark was told to stop is given to end.
SPARK_END_S = 0.5

#: Seconds after the first Ctrl-C in which joins go on, and in which Spark has its result where no run was measured.
INTERRUPT_JOIN_S = 2.0
INTERRUPT_SPARK_S = 10.0

#: Seconds between two looks at what is left to do before a deadline.
CUT_POLL_S = 0.02

#: Seconds that a million rows held back take to be written, about; and rows that are written though their time is over.
WRITE_MILLION_S = 2.0
LATE_ROWS = 100_000

#: Rows of the current result that a snapshot carries for display.
SAMPLE_ROWS = 500

#: Seconds between two looks whether Spark is up, or a refresh is due.
SPARK_POLL_S = 0.05

#: Partial rows that a snapshot carries for display.
PARTIAL_ROWS = 50

#: Tuples under way that a refresh of partial groups looks at.
PARTIAL_TUPLES = 50_000
#: Groups, or different values in groups, beyond which Spark alone groups what the live view shows.
PREVIEW_GROUPS = 200_000

#: Keys that one page of a feed holds at most, so that a fed block can be held back.
FEED_PAGE_ROWS = 10_000

#: Bytes of rows that a session keeps for later statements; beyond, the tables not used for longest are dropped.
SESSION_BYTES = 256 << 20

#: Bytes that rows kept on disk may take, unless FFF_CACHE_MAX_BYTES says otherwise; what was not used for longest goes first.
CACHE_BYTES = 1 << 30

#: Bytes of one answer, packed, that is kept on disk so that it is sent again only if it has changed.
CACHE_ANSWER_BYTES = 32 << 20

#: Seconds that rows are kept on disk at most, whatever a run would still take for fresh.
CACHE_KEPT_S = 30 * 86400.0
