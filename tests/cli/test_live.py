"""The live view as text: what it shows of a snapshot, at every size of terminal."""

from __future__ import annotations

import random
import re
from decimal import Decimal

import pytest

from fff.stats import MISSING as UNANSWERED
from fff.stats import Missing, RoutingShare, SparkStats
from fff.structs import replace
from fff_cli.live.forecast import History, duration, share_done
from fff_cli.live.frame import KEYS, frame
from fff_cli.live.selection import View, arranged, identity, moved
from fff_cli.output.drawing import rendered
from fff_cli.output.values import width
from fff_cli.run.account import closing_lines
from tests.cli.fake_engine import ACCESS, MISSING, outcome, snapshot
from tests.sampling import every

FEC, DEMOGRAPHICS = ACCESS


def lines(one, columns=80, height=24, **options):
    shown = rendered(frame(one, columns, height, **options), columns - 1, color=None)
    return [line.rstrip() for line in shown.splitlines()]


def below(one, *arguments, **options):
    """The lines without the one that says what the run waits for."""
    return [line for line in lines(one, *arguments, **options) if not line.startswith("waiting for")]


def watched(*snapshots):
    """The history of a view that saw these."""
    history = History()
    for one in snapshots:
        history = history.after(one)
    return history


def groups(count, **changes):
    """A snapshot of groups by state, in no order."""
    sample = [(float(n), f"S{n:03}") for n in range(count)]
    random.Random(count).shuffle(sample)
    values = {
        "sample": tuple(sample), "sample_rows": count, "group_keys": (None, "F.State"),
        "rests_on": tuple(int(n) * 10 for n, _ in sample), "settled": tuple(n % 4 == 0 for n, _ in sample),
    }  # fmt: skip
    return snapshot(**(values | changes))


def test_everything_worth_knowing_is_there_at_80_by_24():
    shown = lines(groups(61, missing=MISSING, priorities=("F.State = 'S001'",)), view=View(keys=True))
    assert shown == [
        "   1.5 s  fetching  ━━━━━━━━━━                     35%  6,500 rows  97 requests",
        "waiting for Demographics: 8 in flight, 30 keys waiting",
        "groups so far  1-11 of 61  16 final (✓)",
        "    avg  State  rows",
        "    0.0  S000      0  ✓",
        "»   1.0  S001     10",
        "    2.0  S002     20",
        "    3.0  S003     30",
        "    4.0  S004     40  ✓",
        "    5.0  S005     50",
        "    6.0  S006     60",
        "    7.0  S007     70",
        "    8.0  S008     80  ✓",
        "    9.0  S009     90",
        "   10.0  S010    100",
        "access                    state            rows  req  in flight  retries",
        "FEC.scan                  running  7,000/20,000    7          1",
        "Demographics.lookup[zip]  running            88   90          8        2",
        "routing  F → Crime SteM 60%  Demographics lookup 40%",
        "first    F.State = 'S001'",
        "missing demo.Crime where zip = '99999': HTTP 503 after 5 attempts",
        "Spark    starting",
        "↑↓ pick  Enter fetch it first  Esc none first  q stop  ? help",
    ]


def test_a_wide_terminal_gets_bars_and_every_count():
    shown = lines(snapshot(), columns=140, height=40)
    header = next(line for line in shown if line.startswith("access"))
    first, second = (line for line in shown if line.startswith(("FEC.scan", "Demographics.lookup")))
    assert header.split() == [
        "access",
        "state",
        "rows",
        "requests",
        "in",
        "flight",
        "retries",
        "waiting",
        "throttled",
    ]
    assert re.search(r" ━{7} +35% ", first)
    assert second.endswith("2       30          1")
    assert len(first) <= len(header)


@pytest.mark.parametrize("columns", every(2, [20, 40, 80, 200]))
@pytest.mark.parametrize("height", every(3, [5, 8, 12, 24, 60]))
@pytest.mark.parametrize("methods", every(2, [0, 2, 30]))
def test_it_fits_every_terminal(columns, height, methods):
    row = ("漢字\x1b[2J\n", None, 1.5, True, b"x", {"a": 1}, "é", "", "x" * 99999)
    one = snapshot(
        access=tuple(replace(ACCESS[n % 2], name=f"table{n}.lookup[{'key,' * 9}]") for n in range(methods)),
        routing=tuple(RoutingShare("s" * n, "destination", 1, n) for n in range(20)),
        missing=MISSING * 3,
        columns=("漢字",) * 9,
        sample=(row,) * 200,
        sample_rows=2**40,
        group_keys=("a.b", *[None] * 8),
        rests_on=(2**40,) * 200,
        settled=(True,) * 200,
        partial_columns=("漢字",) * 9,
        partial=((UNANSWERED, *row[1:]),) * 9,
        priorities=("p" * 300, "q\x1b"),
    )
    for view in (View(), View(keys=True, picked=("漢字\x1b[2J\n",)), View(stopping=True, note="n\x1b" * 99)):
        shown = lines(one, columns, height, view=view, history=watched(replace(one, elapsed_s=0.5), one))
        assert len(shown) < height
        assert all(width(line) < columns for line in shown)
        assert all(line.isprintable() for line in shown)


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_numbers_are_left_out_rather_than_cut(columns):
    big = replace(DEMOGRAPHICS, rows=123456789, requests=987654321, retries=55555, pending_keys=4444444)
    allowed = {"7,000/20,000", "35%", "7", "1", "123,456,789", "987,654,321", "55,555", "4,444,444", "8"}
    shown = lines(snapshot(access=(FEC, big)), columns)
    for line in (one for one in shown if "running" in one):
        counts = line.split("running")[1].split()
        assert {text for text in counts if not set(text) & set("━╸")} <= allowed


def test_a_snapshot_without_rows_shows_the_sources():
    shown = below(snapshot(columns=(), sample=(), sample_rows=0, rows=0))
    assert shown[1].startswith("access")
    assert below(snapshot(sample=(), sample_rows=0))[1:3] == ["groups so far  0", "   avg  State"]


def test_groups_keep_their_places_whatever_order_they_come_in():
    before, after = groups(20), groups(20)
    after = replace(after, **{name: getattr(after, name)[::-1] for name in ("sample", "rests_on", "settled")})
    assert lines(before) == lines(after)
    assert lines(before, view=View(ordered=True)) != lines(after, view=View(ordered=True))
    mixed = snapshot(
        sample=((1, None), (2, "b"), (3, 4), (4, float("nan")), (5, Decimal("1.5")), (6, "a")),
        group_keys=(None, "t.x"),
    )
    assert [mixed.sample[row][0] for row in arranged(mixed, ordered=False)] == [5, 3, 4, 6, 2, 1]


def test_the_newest_rows_come_first():
    rows = tuple((n, "x") for n in range(100, 0, -1))  # as the engine tells them
    shown = below(snapshot(sample_is="newest rows", sample=rows, sample_rows=6500))
    assert shown[1] == "newest rows so far  14 of 6,500"
    assert shown[3].split() == ["100", "x"]


def test_values_not_answered_yet_are_not_null():
    one = snapshot(
        sample_is="newest rows",
        sample=((1, "a"), (2, None)),
        sample_rows=2,
        partial_columns=("avg", "State"),
        partial=((3, UNANSWERED), (UNANSWERED, None)),
    )
    assert below(one)[1:7] == [
        "newest rows so far  2  … not answered yet", "   avg  State", "     1  a", "     2  NULL", "     3  …", "     …  NULL",
    ]  # fmt: skip
    many = below(replace(one, sample=one.sample * 50, sample_rows=100))
    at = next(number for number, line in enumerate(many) if line.startswith("access"))
    assert many[1] == "newest rows so far  12 of 100  … not answered yet"
    assert [line.split() for line in many[at - 3 : at]] == [["2", "NULL"], ["3", "…"], ["…", "NULL"]]
    assert re.search(r"\x1b\[2m *… *\x1b\[0m", rendered(frame(one, 80, 24), 79))


def test_rows_under_way_of_other_columns_have_a_header_of_their_own():
    one = groups(50, partial_columns=("id", "zip", "crimeRating"), partial=((7, "94705", UNANSWERED),) * 20)
    shown = below(one)
    at = next(number for number, line in enumerate(shown) if line.startswith("rows under way"))
    assert shown[at] == "rows under way  3 of 20  … not answered yet"
    assert shown[at + 1].split() == ["id", "zip", "crimeRating"]
    assert shown[at + 2].split() == ["7", "94705", "…"]
    assert shown[1].startswith("groups so far  ")


def test_fractions_are_rounded_in_all_rows_of_a_column_or_in_none():
    one = snapshot(sample=((100 / 3, 0.5), (2.0, 1.25)), columns=("long", "short"), sample_rows=2)
    assert [line.split() for line in below(one)[3:5]] == [["2.0000", "1.25"], ["33.3333", "0.5"]]


def test_columns_that_do_not_fit_are_counted_and_the_rows_stay_told():
    names = tuple(f"column_{n}" for n in range(30))
    one = snapshot(
        columns=names,
        sample=(("value",) * 30,),
        sample_rows=1,
        rests_on=(5,),
        group_keys=("a.b", *[None] * 29),
    )
    title, header, row = below(one)[1:4]
    assert title == "groups so far  1  19 columns not shown"
    assert header.endswith("rows")
    assert row.endswith("   5")


def test_the_picked_group_stays_picked_and_in_sight():
    one = groups(200)
    rows = arranged(one, ordered=False)
    picked = None
    for _ in range(60):
        picked = moved(one, rows, picked, 1)
    assert picked == ("S059",)
    shown = lines(one, view=View(picked=picked))
    assert any(line.startswith("▸ ") and "S059" in line for line in shown)
    grown = groups(201, sample_rows=500)
    assert any(line.startswith("▸ ") and "S059" in line for line in lines(grown, view=View(picked=picked)))
    assert moved(one, rows, picked, 1000) == identity(one, rows[-1])
    assert moved(one, rows, picked, -1000) == identity(one, rows[0])
    assert moved(snapshot(), rows, None, 1) is None  # no column to pick by


def test_when_access_methods_do_not_all_fit_the_busy_ones_stay():
    done = tuple(replace(FEC, name=f"done{n}", state="complete", in_flight=0) for n in range(30))
    shown = lines(snapshot(access=(*done, replace(DEMOGRAPHICS, name="busy"))))
    assert any(line.startswith("busy") for line in shown)
    assert any(
        re.match(r"… \d+ more access methods: \d+ complete, [\d,]+ rows, \d+ requests$", line)
        for line in shown
    )


def test_access_methods_of_one_name_are_told_apart_by_their_sources():
    shown = below(snapshot(access=(FEC, replace(FEC, source="mirror"))))
    assert {line.split()[0] for line in shown if ".scan" in line} == {"demo.FEC.scan", "mirror.FEC.scan"}


def moments(*counts):
    """Snapshots a second apart: rows of the scan, requests, keys sent and keys waiting of the lookup."""
    return [
        snapshot(
            elapsed_s=1.0 + at,
            access=(
                replace(FEC, rows=rows),
                replace(DEMOGRAPHICS, requests=sent, distinct_keys=sent, pending_keys=waiting, in_flight=0),
            ),
        )
        for at, (rows, sent, waiting) in enumerate(counts)
    ]


def test_rates_are_those_of_the_last_seconds():
    past = moments(*((1000 * n, 10 * n, 0) for n in range(20)))
    shown = lines(past[-1], columns=120, history=watched(*past))
    assert any("1,000 rows/s" in line for line in shown)
    assert any("10 req/s" in line for line in shown)
    slow = moments(*((1000 * n, 10 * n, 0) for n in range(10)), *((9000, 90, 0) for _ in range(6)))
    assert watched(*slow).rate(slow[-1].access[0]) == 0
    assert watched(past[0]).rate(past[0].access[0]) is None


def test_a_view_that_looks_rarely_has_rates_over_time_and_a_forecast():
    """On a small terminal, or a slow line, frames may be further apart than the seconds that rates are those of."""
    past = [
        replace(one, elapsed_s=one.elapsed_s * 1.6)
        for one in moments(*((1000 * n, 10 * n, 5) for n in range(1, 8)))
    ]
    history = watched(*past)
    assert {len(trace) for trace in history.traces.values()} == {6}
    assert history.seconds_left(past[-1]) is not None


def test_a_forecast_needs_a_total_and_a_rate():
    past = moments(*((1000 * n, 10 * n, 5) for n in range(6)))
    history = watched(*past)
    # 15,000 rows are left at 1,000 a second, which bring 10 keys a second, asked for as fast; 5 keys wait.
    assert history.seconds_left(past[-1]) == pytest.approx(15.5)
    assert "about 16 s left" in lines(past[-1], history=history)[0]
    assert "left" not in lines(past[-1], history=history, view=View(stopping=True))[0]
    assert history.seconds_left(replace(past[-1], phase="aggregating")) is None
    for change in ({"total_rows": None}, {"state": "stalled"}):
        scan = replace(past[-1].access[0], **change)
        assert history.seconds_left(replace(past[-1], access=(scan, past[-1].access[1]))) is None
    done = replace(past[-1].access[0], state="complete")
    assert history.seconds_left(replace(past[-1], access=(done, past[-1].access[1]))) == pytest.approx(
        0.5, abs=0.5
    )
    assert watched(past[-1]).seconds_left(past[-1]) is None
    assert [duration(seconds) for seconds in (0.1, 8.4, 33, 88, 100, 8000)] == [
        "1 s", "8 s", "35 s", "90 s", "2 min", "2 h",
    ]  # fmt: skip


def test_pages_are_a_total_where_rows_have_none_and_ended_methods_where_nobody_tells_any():
    paged = replace(FEC, total_rows=None, total_pages=40)
    past = [
        snapshot(elapsed_s=1.0 + n, access=(replace(paged, pages=2 * n, rows=2000 * n),)) for n in range(6)
    ]
    shown = lines(past[-1], columns=120, history=watched(*past))
    assert " 28%  about 15 s left " in shown[0]  # 6 s of 21: 30 pages at 2 a second
    assert "25%" in next(line for line in shown if line.startswith("FEC.scan"))
    untold = replace(FEC, total_rows=None)
    mixed = snapshot(access=(untold, *(replace(untold, name=f"S{n}", state="complete") for n in range(3))))
    assert share_done(mixed, None) == 0.75


def test_tuples_that_wait_in_the_eddy_are_still_to_be_asked_for():
    asked = moments(*((20000, 10 * n, 0) for n in range(6)))
    scanned = (replace(FEC, state="complete", rows=20000), replace(DEMOGRAPHICS, pending_keys=0))
    past = [
        replace(one, access=(scanned[0], replace(one.access[1])), waiting=600 - 10 * n)
        for n, one in enumerate(asked)
    ]
    assert watched(*past).seconds_left(past[-1]) == pytest.approx(55)  # 550 of them, 10 a second
    shown = lines(past[-1], history=watched(*past))
    assert " 9%  about 55 s left " in shown[0]
    assert shown[1] == "waiting for Demographics: 10/s, 550 rows waiting"
    seldom = [
        replace(one, access=(scanned[0], replace(scanned[1], requests=one.access[1].requests // 25)))
        for one in past
    ]
    assert lines(seldom[-1], history=watched(*seldom))[1].startswith("waiting for Demographics: 0.4/s, ")
    stuck = [replace(one, waiting=600) for one in past]
    assert watched(*stuck).seconds_left(stuck[-1]) is None
    assert " 7% " in lines(stuck[-1], history=watched(*stuck))[0], "50 keys of up to 650"
    read = [
        replace(one, waiting=600 + n)
        for n, one in enumerate(moments(*((1000 * n, 10 * n, 0) for n in range(6))))
    ]
    assert watched(*read).seconds_left(read[-1]) is None, "the scan brings more than are asked for"


def test_what_a_scan_brings_that_is_held_back_and_a_pause_are_still_to_come():
    past = [
        replace(one, access=(replace(one.access[0], state="waiting", rows=10_000), one.access[1]))
        for one in moments(*((10_000, 10 * n, 5) for n in range(6)))
    ]
    history, last = watched(*past), past[-1]
    rate = 10_000 / last.elapsed_s  # on the whole, as none have come lately
    assert history.seconds_left(last) == pytest.approx(10_000 / rate, abs=1.0)
    assert history.slowest(last) == last.access[1]
    untold = replace(last.access[0], total_rows=None)
    assert history.seconds_left(replace(last, access=(untold, last.access[1]))) is None
    read = replace(last, access=(replace(last.access[0], state="complete"), last.access[1]))
    soon = history.seconds_left(read)
    assert soon is not None
    paused = replace(read.access[1], state="throttled", resumes_s=30.0)
    assert history.seconds_left(replace(read, access=(read.access[0], paused))) == pytest.approx(soon + 30.0)


def test_a_throttled_lookup_of_which_nothing_is_under_way_is_what_the_run_waits_for():
    held = replace(DEMOGRAPHICS, state="throttled", resumes_s=3.0, in_flight=0, pending_keys=0)
    assert lines(snapshot(access=(replace(FEC, state="complete"), held)))[1] == (
        "waiting for Demographics: told to wait 3 s"
    )


def test_stalling_and_throttling_are_told_with_how_long():
    scan = [replace(FEC, state="stalled")] * 4
    lookup = [
        replace(DEMOGRAPHICS, throttled=throttled, requests=requests, in_flight=1)
        for throttled, requests in (
            (0, 10),
            (1, 12),
            (1, 13),
            (2, 14),
        )  # a retry goes out, and is refused again
    ]
    past = [snapshot(elapsed_s=1.0 + n, access=both) for n, both in enumerate(zip(scan, lookup, strict=True))]
    shown = lines(past[-1], columns=120, history=watched(*past))
    assert any("stalled 3 s" in line for line in shown)
    late = snapshot(elapsed_s=5.0, access=(FEC, replace(lookup[-1], requests=15)))
    assert watched(*past, late).lasted(FEC, "stalled") is None
    assert watched(*past, late).lasted(lookup[-1], "throttled") is None  # an answer has come
    held = [*past[:2], snapshot(elapsed_s=9.0, access=past[1].access)]
    assert any("throttled 7 s" in line for line in lines(held[-1], columns=120, history=watched(*held)))
    told = replace(DEMOGRAPHICS, state="throttled", resumes_s=41.0, throttled=0)
    assert any(
        "throttled, on in 40 s" in line for line in lines(replace(held[-1], access=(told,)), columns=120)
    )


def test_what_the_run_waits_for_is_named_with_what_it_does():
    past = moments(*((1000 * n, 10 * n, 5) for n in range(6)))
    assert lines(past[-1], history=watched(*past))[1] == "waiting for FEC: 1,000/s, 1 in flight"
    behind = moments(*((1000 * n, 10 * n, 90 * n) for n in range(6)))
    assert (
        lines(behind[-1], history=watched(*behind))[1] == "waiting for Demographics: 10/s, 450 keys waiting"
    )
    held = [
        replace(
            one, access=(one.access[0], replace(one.access[1], state="throttled", resumes_s=3.0, in_flight=8))
        )
        for one in past
    ]
    told = "waiting for Demographics: told to wait 3 s, 10/s, 8 in flight, 5 keys waiting"
    assert lines(held[-1], columns=100, history=watched(*held))[1] == told
    assert lines(snapshot(phase="aggregating"))[1] == "waiting for Spark"
    idle = tuple(replace(one, state="complete", in_flight=0, pending_keys=0) for one in ACCESS)
    assert lines(snapshot(access=idle))[1] == "", "what stands below keeps its place"


def test_on_a_narrow_terminal_whole_words_go_and_the_help_is_the_last_key():
    past = moments(*((1000 * n, 10 * n, 5) for n in range(6)))
    held = replace(
        past[-1], access=(past[-1].access[0], replace(ACCESS[1], state="throttled", resumes_s=3.0))
    )
    shown = lines(held, columns=44, history=watched(*past[:-1], held))
    assert shown[1] == "waiting for Demographics: told to wait 3 s"
    narrow = lines(groups(61, under_way=(1,) * 61), columns=40, height=15, view=View(keys=True))
    assert narrow[2] == "groups so far  1-6 of 122"
    assert narrow[-1] == "↑↓ pick  q stop  ? help"
    assert not any("…" in line for line in (shown[1], narrow[2], narrow[-1]))


def test_the_head_has_whole_words_at_every_width():
    past = moments(*((1000 * n, 10 * n, 5) for n in range(6)))
    for columns in range(24, 110):
        for history in (History(), watched(*past)):
            head = lines(past[-1], columns=columns, history=history)[0]
            assert "…" not in head, columns
            assert "request" not in head or head.endswith(" requests"), columns


def test_one_row_and_one_request_are_not_several():
    one = snapshot(rows=1, access=(replace(FEC, requests=1),))
    assert lines(one)[0].endswith("1 row  1 request")


def test_what_is_still_fetched_is_never_all_done():
    done = moments(*((4000 * n, 10 * n, 0) for n in range(6)))
    assert share_done(done[-1], 0.0) == 0.99


def test_the_bar_goes_by_the_time_left_else_by_the_source_that_is_least_far():
    past = moments(*((1000 * n, 10 * n, 5) for n in range(6)))
    assert " 27%  about 16 s left " in lines(past[-1], history=watched(*past))[0]  # 6 s of 21.5
    assert " 35% " in lines(snapshot())[0]
    slower = replace(DEMOGRAPHICS, distinct_keys=30, in_flight=10, pending_keys=70)
    assert " 20% " in lines(snapshot(access=(FEC, slower)))[0]
    unknown = replace(FEC, total_rows=None)
    assert "%" not in lines(snapshot(access=(unknown,)))[0]
    assert "━" not in lines(snapshot(), view=View(stopping=True))[0]


def test_rates_over_time_are_small_bars_of_which_the_highest_fills_a_line():
    past = moments(*((rows, 10 * n, 0) for n, rows in enumerate((0, 1000, 1500, 3500, 3500, 4500))))
    scan = next(
        line for line in lines(past[-1], columns=120, history=watched(*past)) if line.startswith("FEC")
    )
    assert "  ▅▃█▁▅  " in scan
    many = watched(*moments(*((n, n, 0) for n in range(40))))
    assert {len(trace) for trace in many.traces.values()} == {12}


def test_rates_over_time_stay_while_a_source_is_told_to_wait():
    past = moments(*((1000 * n, 10 * n, 0) for n in range(15)))
    held = replace(
        past[-1],
        access=tuple(replace(one, state="throttled", resumes_s=40.0, in_flight=8, pending_keys=700, retries=3, throttled=3)
        for one in past[-1].access),
    )  # fmt: skip
    shown = lines(held, columns=100, height=30, history=watched(*past, held))
    drawn = [line for line in shown if "throttled, on in 40 s" in line and not line.startswith("waiting")]
    assert len(drawn) == 2
    assert all(re.search("[▁▂▃▄▅▆▇█]{6}( |$)", line) for line in drawn), "\n".join(shown)
    assert any(re.search("█{4}( |$)", line) for line in lines(past[-1], history=watched(*past))), (
        "at 80 columns"
    )


def test_with_many_sources_the_busy_ones_show_the_others_are_summed_up_and_one_can_scroll():
    states = ("complete", "running", "failed", "stopped")
    many = tuple(
        replace(FEC, name=f"t{n}.scan", state=states[n % 4], in_flight=int(n % 4 == 1), total_rows=None)
        for n in range(40)
    )
    shown = lines(snapshot(access=many))
    assert len([line for line in shown if re.match(r"t\d+\.scan +running", line)]) == 8
    summed = (
        "… 32 more access methods: 10 complete, 10 failed, 10 stopped, 2 running, 224,000 rows, 224 requests"
    )
    assert next(line for line in lines(snapshot(access=many), columns=120) if line.startswith("…")) == summed
    few = next(line for line in lines(snapshot(access=many), columns=60) if line.startswith("…"))
    assert few.startswith("… 32 more: 10 complete, 10 failed, 10 stopped, 2 running")
    scrolled = lines(snapshot(access=many), view=View(scrolled=10))
    assert len([line for line in scrolled if re.match(r"t\d+\.scan +failed", line)]) == 8


def test_what_rows_are_grouped_by_is_the_last_to_go():
    one = snapshot(
        columns=("average_contribution", "total_contribution", "State"), sample=((1.0, 2.0, "CA"), (3.0, 4.0, "NY")),
        sample_rows=2, group_keys=(None, None, "F.State"), rests_on=(40, 3),
    )  # fmt: skip
    header = next(line for line in below(one, 24, 15) if "State" in line)
    assert header.split() == ["averag…", "State", "rows"], "titles of numbers give way to groups, in full"
    other = replace(
        one, columns=("average", "total", "crimeRating"), sample=((166.2452, 2.0, "moderately"),) * 2
    )
    assert next(line for line in below(other, 24, 15) if "crime" in line).split() == ["crimeRating", "rows"]


def test_routing_is_one_line_until_detail_is_asked_for_and_seed_and_policy_are_for_the_verbose():
    routing = tuple(RoutingShare(state, "SteM", 1, 9 - at) for at, state in enumerate("ABCD"))
    one = snapshot(routing=routing, sample=(), columns=())
    assert [line for line in lines(one) if "→" in line] == ["routing  A → SteM 100%"]
    assert len([line for line in lines(one, view=View(detail=True)) if "→" in line]) == 4
    assert "seed" not in lines(one, columns=140)[0]
    assert "policy rank, seed 7" in lines(one, columns=140, view=View(verbose=True))[0]


def test_help_says_what_every_key_does():
    shown = "\n".join(lines(groups(61), view=View(keys=True, help=True)))
    assert all(does in shown for _, does in KEYS)
    low = "\n".join(lines(groups(61), 40, 15, view=View(keys=True, help=True)))
    assert all(does in low for _, does in KEYS), low


def test_spark_tells_how_far_it_is():
    assert (
        lines(snapshot(spark=SparkStats(used=True, start_s=2.14, refreshes=3)))[-1]
        == "Spark    started in 2.1 s, 3 refreshes"
    )
    assert "final run 0.3 s" in lines(snapshot(spark=SparkStats(used=True, start_s=2.14, final_s=0.3)))[-1]
    assert not any("Spark" in line for line in lines(snapshot(spark=SparkStats())))


def test_stopping_is_said():
    assert lines(snapshot(), view=View(stopping=True))[0].split()[2] == "stopping"


def test_the_closing_line_says_complete_or_partial_and_why():
    assert closing_lines(outcome(rows=1), [replace(FEC, requests=1)]) == [
        "1 row in 1.2 s, 1 request, complete"
    ]
    partial = outcome(
        complete=False,
        reason="deadline of 5 s",
        rows=51234,
        missing=(Missing("gov.crime", "true", "stopped\x1b"),),
    )
    assert closing_lines(partial, [replace(FEC, requests=1000)] * 2) == [
        "51,234 rows in 1.2 s, 2,000 requests, PARTIAL: deadline of 5 s",
        "  missing gov.crime: stopped\\x1b",
    ]


def test_groups_of_rows_under_way_stand_among_the_others_and_are_marked():
    one = snapshot(
        columns=("income", "State", "rating"),
        sample=((51.5, "CA", "low"), (None, "NY", "low"), (UNANSWERED, "AZ", None), (UNANSWERED, "MA", "high")),
        sample_rows=2, group_keys=(None, "F.State", "C.rating"), rests_on=(40, 3, 0, 0),
        settled=(True, False, False, False), under_way=(0, 0, 1200, 7),
    )  # fmt: skip
    title, header, *rows = below(one)[1:7]
    assert title == "groups so far  4  1 final (✓)  2 without a whole row (… not answered yet)"
    assert header.split() == ["income", "State", "rating", "rows"]
    assert [row.split() for row in rows] == [
        ["…", "AZ", "NULL", "1,200…"], ["51.5", "CA", "low", "40", "✓"],
        ["…", "MA", "high", "7…"], ["NULL", "NY", "low", "3"],
    ]  # fmt: skip
    assert re.search(r"\x1b\[2m *1,200… *\x1b\[0m", rendered(frame(one, 80, 24), 79))
    many = below(replace(one, sample_rows=90), height=14)
    assert many[1].startswith("groups so far  1-4 of 92  1+ final (✓)  2 without a whole row")
    unanswered = replace(one, sample=tuple((UNANSWERED, *keys) for _, *keys in one.sample))
    assert below(unanswered)[3].startswith("        …  AZ"), "a column of numbers begins where it goes on"
