"""What many days say together, and the page that keeps it: docs/trust.md, written from what was run."""

from __future__ import annotations

import itertools
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fff.structs import replace
from tests.fuzz.broken import BROKEN, Broken
from tests.fuzz.broken_parts import BROKEN_PARTS
from tests.fuzz.broken_probers import BROKEN_PROBERS
from tests.fuzz.broken_right_sides import BROKEN_RIGHT_SIDES
from tests.fuzz.broken_rules import CASES
from tests.fuzz.broken_waiting import BROKEN_WAITING
from tests.fuzz.cases import Case
from tests.fuzz.core import make_core, make_forgetting
from tests.fuzz.shrink import failure
from tests.fuzz.world import MakeEddy
from tests.soak.broken import BROKEN_PATHS, BrokenPath
from tests.soak.checks import counted, problems
from tests.soak.day import Day, day
from tests.soak.pairs import calmed, in_pairs, stricter_ones
from tests.soak.play import go

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "trust.md"
#: Of so many seeds one is also run in pairs.
PAIRED = 20
#: What CI runs, bounded by days and not by time: so many from each of these seeds on, which were all well once.
DAYS, PARTS = (
    150,
    (
        *range(1000, 1600, 150),
        *range(52_000_000, 52_001_500, 150),
        *range(1_210_000_000, 1_210_007_500, 150),
    ),
)
#: Seconds of a real clock after which one day counts as stuck; the slowest takes some seconds.
STUCK_S = 300.0


class StuckError(Exception):
    """A day did not end on a real clock: something turns without time going on."""


@dataclass
class Tally:
    """What was run, and what was wrong."""

    runs: int = 0
    seconds: float = 0.0
    seen: Counter[str] = field(default_factory=Counter)
    wrong: dict[int, list[str]] = field(default_factory=dict)

    def one(self, seed: int) -> list[str]:
        """Run the day of a seed; what is wrong with it."""
        chosen = day(seed)
        try:
            with _watched():
                came = go(chosen)
                found = [] if came is None else problems(chosen, came)
                if seed % PAIRED == 0:
                    found += in_pairs(chosen)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
            came, found = None, [f"{type(error).__name__}: {error}"]
        if came is not None:
            self.runs += len(came.runs)
            self.seconds += came.seconds
            self.seen += counted(came)
        if found:
            self.wrong[seed] = found
        return found


@contextmanager
def _watched() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise StuckError(f"no end after {STUCK_S:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, STUCK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ------------------------------------------------------------------------------------------------- negative controls


@dataclass(frozen=True)
class Share:
    """Of so many runs with a broken rule, how many were noticed."""

    name: str
    noticed: int
    runs: int

    @property
    def row(self) -> str:
        percent = 100 * self.noticed / self.runs
        return (
            f"| {self.name} | {percent:.0f} % | {self.runs} |"
            if percent >= 2
            else (f"| {self.name} | {percent:.1f} % | {self.runs} |")
        )


def share_of_path(broken: BrokenPath, most: int) -> Share:
    """Of days that have what it takes; further ones until one is noticed."""
    noticed = runs = 0
    fitting = (chosen for chosen in map(day, itertools.count()) if broken.fits(chosen))
    for chosen in itertools.islice(fitting, CASES):
        if runs >= most and noticed:
            break
        runs += 1
        noticed += is_noticed(broken, chosen)
    return Share(broken.name, noticed, runs)


def is_noticed(broken: BrokenPath, chosen: Day) -> bool:
    """Whether a day with the broken rule is wrong."""
    with pytest.MonkeyPatch.context() as patching:
        broken.patch(patching)
        try:
            if broken.pairs:
                return bool(in_pairs(chosen))
            came = go(chosen)
            return came is not None and bool(problems(chosen, came))
        except Exception:  # noqa: BLE001 - noticed, too
            return True


def _share(
    name: str, make: MakeEddy, cases: Callable[[int], Case], changes: Mapping[str, Any], most: int
) -> Share:
    noticed = runs = 0
    for seed in range(CASES):
        if runs >= most and noticed:
            break
        chosen = cases(seed)
        for run in chosen.runs(faults=0.0):
            runs += 1
            noticed += failure(chosen.instance, replace(run, **changes), make) is not None
    return Share(name, noticed, runs)


#: All that is broken on purpose in the core.
CORES = (*BROKEN, *BROKEN_WAITING, *BROKEN_RIGHT_SIDES, *BROKEN_PARTS, *BROKEN_PROBERS)


def core_name(broken: Broken) -> str:
    """What the page calls it."""
    return f"{broken.name} ({broken.pitfall})"


def share_of_core(broken: Broken, most: int) -> Share:
    with pytest.MonkeyPatch.context() as patching:
        broken.breaks(patching)
        make = make_forgetting if broken in BROKEN_PROBERS else make_core
        return _share(core_name(broken), make, broken.case, broken.run, most)


def all_shares(most: int) -> Iterator[tuple[str, list[Share]]]:
    """Section by section of the page."""
    yield "path", [_told(share_of_path(one, 3 * most)) for one in BROKEN_PATHS]
    yield "core", [_told(share_of_core(one, most)) for one in CORES]


def _told(share: Share) -> Share:
    print(share.row, flush=True)
    return share


# ---------------------------------------------------------------------------------------------------------- the page

_TEXT = """\
# Why to trust an answer

FFF promises that an answer is whole or says what it lacks. This page is what the machines have tried to break that promise with, and is written by them:
`make soak` adds to the tally, `python -m tests.soak --controls` measures the shares.

## Simulation to the byte

`tests/soak/` runs all of FFF (SQL text, planner, eddy, runtime, the HTTP client on aiohttp, paginators, decoders, result and report) in virtual time over a network
in memory: the event loop resolves the name, connects the socket and hands over the bytes. A seed stands for a day: a statement, up to three tables behind any access method,
paginator and format, and for what goes wrong, in any combination:

- latencies of five kinds, bodies in pieces, slow drips, connections that the server closes when a request is on its way; names that do not resolve, refused and hanging connections;
- resets, stalls, cut and malformed heads, bodies and chunks, 4xx, bursts of 5xx, 429 and 503 with Retry-After in seconds, as a date, and without; servers that limit rates or requests at once;
- one table that answers as in the [fault matrix](faults.md): capped and repeated pages, error envelopes, drift, rows that come and go between pages, mirrors that disagree;
- Ctrl-C, a reader who leaves, a deadline, a budget of requests, a memory limit, a kill with another run that goes on from the checkpoint.

The statements are joins of every kind, sets, aggregates, windows, first rows, and subqueries as conditions and as values; those of every fourth seed are such whose partial answers are hard to tell
the worth of: calls of a function of the source, some of which are always refused, first rows inside of queries, what is absent, totals under joins.

The options of the run and of the source are drawn as well: policy, preference, semantics, sessions, the cache on disk, races, pushed conditions, ceilings, rates, retries. After each run:

- the bag is DuckDB's over all rows, or the run says that it is not whole, and then each row is one of the complete answer, or is labelled: bounds hold, doubts are told;
- with nothing wrong the answer must be whole; the report can be written, and counts the requests that were on the wire;
- requests at once, declared windows and rates, and `--max-requests` are kept; nobody comes back before Retry-After says; deadline and Ctrl-C are kept;
- what waits inside stays below its ceilings whenever the driver has had a turn: pages that nobody has taken in, requests of a lookup and their keys, and the tuples
  above which no scan reads on (a dozen on every third day, so that it comes to that);
- the bytes of rows that are counted are those that are held, whole buffers of them, and a SteM takes so many for each row at most;
- every run ends, and leaves neither a task nor a connection behind.

One seed in {paired} is run again in pairs with nothing wrong: races, sessions, the cache on disk, preferences and pushed conditions change requests alone, and a stricter WHERE asks for no more
(over scans and lookups of one key, without LIMIT: a LIMIT has to look further, and which keys travel in one batch is a matter of moments). Where a table is odd by itself there is nothing to compare, so
that of these seeds {switched} have something switched, and {stricter} get a stricter WHERE.

```sh
python -m tests.soak 957                              # one seed: what it stands for, each request, what is wrong
FFF_SOAK_SECONDS=3600 FFF_SOAK_SEED=1000000 make soak # an hour from a seed on; without them until Ctrl-C, from a random seed
```

CI runs {of_ci:,} days, always the same ones, on two cores; their share of rare faults is small, which is why `make soak` has no end.

## The tally

With no wrong run in n, the true share of wrong runs is at most 3/n, with a confidence of 95 %. Commits are the ones that were run; `+` means with changes on top.

| commit | runs | simulated hours | requests | first seed | seeds | whole | told as not whole | wrong | at most |
|---|---|---|---|---|---|---|---|---|---|
{tally}

## Random statements in the core

`python -m tests.fuzz SEED --seconds N` plays random statements by the core alone, with the answers, failures, orders and policies that a seed draws, against an oracle ([fuzzing.md](fuzzing.md)).
Beside the 20,000 that `make slow` plays from a fresh seed, 120,000 were played on 43bbf67cd (276,107 runs, from seeds 12000000 and 22000000 on). Three were wrong: two by one mistake of the engine, where
two mirrors in windows had both failed and brought all of a table together, one by the harness. On the mended core (c6f7611a) 280,000 others (643,990 runs, from 32000000,
42000000 and 52000000 on): 0 wrong, hence at most 1.1e-05 of statements; of the last 200,000 one in four of the runs that are watched from inside was.
Of 110,000 more (143,000 runs, from 62000000 and 62100000 on) none was wrong; kernels of expressions had changed before them.
One of the next 50,000 (63042199) failed the core's check of itself: of a tuple that seeks two values in one column the second alone told whether it has every match, so a key was spared whose waiter was
kept. No row was lost by that. On the core as it is since (1d3b9e9d; of what is in `fff/dataflow` two functions over values have been mended) 1,043,275 others
(1,356,516 runs, from 64000000, 65000000, 65200000, 66000000, 66110000, 68000000, 68200000, 69000000 and 69200000 on) were played: 0 wrong, hence at most 2.9e-06.
One of them (66116000) found no end, in the world of the harness alone: an answer was kept back as long as there was other work, and time that passes makes work for ever. Now what is kept back comes after a hundred steps.
Since then each of several numbers is found in another way, and mirrors that look faster are asked for a few more pages: 54,452 others (70,640 runs, from 71000000 and
72000000 on), 0 wrong.

## Kills

`tests/cli/test_kills.py` kills real processes at {kills} moments (`FFF_KILLS`), a third of them each at a request, at a write to the disk, and by a simulated power cut that loses what was not synced,
and lets another go on each time: the answer must be the same, asking at most what was in flight again. 201 kills were made once: 201 identical answers. Days of the soak that are killed in virtual time are
in the tally. `tests/api/test_killed_doors.py` kills `fff serve`, its PostgreSQL port and `fff mcp` amid a query: no temporary
file stays, the cache is whole and nobody's, and halves of answers are swept.

## Long runs

What a process holds at ten moments of a long run (`python -m tests.api.long_runs`, each in a process of its own; `tests/api/test_long_runs.py` runs it for a twentieth as long,
`tests/soak/test_long_days.py` an hour of a join in virtual time, with faults: no object, task or connection more at its end than after six minutes).

| run | | after a tenth | at the end |
| --- | --- | ---: | ---: |
| 2,000 different statements of Spark in one session, every fifth fails | memory of the process, MB | 122 | 124 |
| | the JVM's heap, and compiled code, MB | 81, 40 | 74, 48 |
| | classes of the JVM | 19,535 | 19,559 |
| | threads of the JVM, of which Spark lets go a minute after their work | 619 | 107 |
| | objects, descriptors, temporary files | 155,032, 23, 19 | 155,050, 16, 19 |
| 200 joins at once, 50 times | memory of the process, MB | 151 | 162 |
| | objects, descriptors, temporary files | 216,889, 18, 7 | 217,398, 18, 7 |
| one join for 15 minutes: 26 million rows in 264,000 pages | memory of the process, MB | 112 | 149 |
| | objects, descriptors, temporary files | 130,586, 18, 1 | 130,702, 18, 1 |

What the last one gains is a mark of each page, 140 bytes, by which pages are known that come again.

## What the checks notice

A check that finds nothing may be blind. Each rule below was broken on purpose; the share is of runs that were noticed. Tests fail where one is noticed in none.
Low shares mean that other layers notice as well: what is left of a cut body is seldom a whole document, and a paginator that counts records asks for the rest.

Each defence of [SECURITY.md](../SECURITY.md) is taken out of the module that has it (`tests/defences/`), and each test that is named there is seen to fail.

### On the whole path (`tests/soak/broken.py`)

| broken rule | noticed | of runs |
|---|---|---|
{path}

### In the core (`tests/fuzz`)

On instances made for each rule; the numbers in brackets are those of the design ledger. [fuzzing.md](fuzzing.md#negative-controls) has those of the reference, too.

| broken rule | noticed | of runs |
|---|---|---|
{core}

## What is not simulated

TLS, proxies and Unix sockets (real servers in `tests/web`), HTTP/2, logins, jobs and the formats XML, HTML and Parquet; threads, Spark (DuckDB stands in its place; `tests/spark` has the real one), the
command line, the kernel's socket buffers, more than one host, the memory of the process beside what is stored (each byte of the network stands for some), and disks that fail or lie (`tests/engine`, `tests/cli`).

Two limits of the product are known from it: a request that takes longer than a second to reach the server may come in a window in which the client no longer counts it; and a run that goes on right after
a kill knows nothing of what was sent in the seconds before, so that a declared window may be exceeded then, once. The wrong runs of the tally have been looked into: of a source that gives the same few
records for ever, copies stood in the partial answer (9777088 of 427afda54, 51000028: such pages now wait for one with something new, or the end); in the other two of 427afda54 a request that had just left when
the run ended did not get there, which is no error. In that of 453e2ee06 (88001060) a stricter statement met a connection that the server was closing, and sent its request
again: such pairs now count the requests that arrived.
In that of 46a777cc4 (910015889) the simulated server lost its place among the rows that it had filtered and ended on an empty page, which nobody can tell from the end. In that of c54018c55 (1210014829) four keys ended by a
hundred empty pages each, more requests than the harness allowed; that of 869bcca28 (1220009461) was stopped from outside for half an hour of real time. Both are well. In that of b1b8508e4
(1280000059) a server refused most requests at random, and the client came down to one in five minutes, as its own waits counted for what the server admits: the six hours that a day may take were not enough. Now no rate keeps
requests further apart than twice the longest wait after a refusal, and the day is well. On the core of 1d3b9e9d5 and later there are 100,387 runs of 206 hours, that one among them. (Runs without hours were stopped before their hours were counted.)
"""


def commit() -> str:
    """The commit that runs, with a plus where it has been changed."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--", "fff", "sources", "tests/soak", "tests/faults")
    return git("rev-parse", "--short=9", "HEAD") + ("+" if changed else "")


def tally_row(name: str, first: int, count: int, tally: Tally) -> str:
    least = f"{3 / tally.runs:.1e}" if tally.runs and not tally.wrong else "-"
    seen = tally.seen
    return (
        f"| {name} | {tally.runs:,} | {tally.seconds / 3600:,.1f} | {seen['requests']:,} | {first} | {count:,} | "
        f"{seen['complete']:,} | {seen['partial']:,} | {len(tally.wrong)} | {least} |"
    )


def parts_of(text: str) -> dict[str, str]:
    """The tables of a page."""
    tables = re.findall(r"\|(?:---\|)+\n((?:\|.*\n)*)", text)
    return {name: table.rstrip("\n") for name, table in zip(("tally", "path", "core"), tables, strict=True)}


def kills() -> int:
    """How many kills the test makes."""
    made = re.search(r'"FFF_KILLS", "(\d+)"', (ROOT / "tests/cli/test_kills.py").read_text())
    assert made is not None
    return int(made[1])


def page_of(parts: Mapping[str, str]) -> str:
    """The whole page around its tables."""
    switched, stricter = paired_shares()
    return _TEXT.format(
        **parts, paired=PAIRED, kills=kills(), switched=switched, stricter=stricter, of_ci=DAYS * len(PARTS)
    )


def paired_shares() -> tuple[str, str]:
    """Of days that are run in pairs: how many have something switched, and how many get a stricter WHERE."""
    days = 500
    calm = [one for one in map(calmed, map(day, range(0, days * PAIRED, PAIRED))) if one is not None]
    return f"{len(calm) / days:.0%}", f"{sum(bool(stricter_ones(one)) for one in calm) / days:.0%}"
