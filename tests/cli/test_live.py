"""The live view as text: what it shows of a snapshot, at every size of terminal."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from fff.stats import MISSING as UNANSWERED
from fff.stats import Missing, RoutingShare, SparkStats
from fff_cli.forecast import History, duration
from fff_cli.groups import View
from fff_cli.live import frame
from fff_cli.picking import arranged, identity, is_ordered, moved
from fff_cli.progress import closing_lines
from fff_cli.values import width
from tests.cli.fake_engine import ACCESS, MISSING, Outcome, snapshot

FEC, DEMOGRAPHICS = ACCESS


def lines(one, columns=80, height=24, **options):
    return ["".join(text for text, _ in line).rstrip() for line in frame(one, columns, height, **options)]


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
        "   1.5 s  fetching  policy rank, seed 7                 6,500 rows  97 requests",
        "groups so far  11 of 61  16 final (✓)",
        "   avg  State  rows",
        "   0.0  S000      0  ✓",
        "»  1.0  S001     10",
        "   2.0  S002     20",
        "   3.0  S003     30",
        "   4.0  S004     40  ✓",
        "   5.0  S005     50",
        "   6.0  S006     60",
        "   7.0  S007     70",
        "   8.0  S008     80  ✓",
        "   9.0  S009     90",
        "  10.0  S010    100",
        "  … 50 more",
        "access                    state            rows  req  in flight  retries",
        "FEC.scan                  running  7,000/20,000    7          1",
        "Demographics.lookup[zip]  running            88   90          8        2",
        "routing  F → Crime SteM 60%  Demographics lookup 40%",
        "first    F.State = 'S001'",
        "missing demo.Crime where zip = '99999': HTTP 503 after 5 attempts",
        "Spark    starting",
        "↑↓ pick  Enter fetch it first  Esc none first  q stop",
    ]


def test_a_wide_terminal_gets_bars_and_every_count():
    shown = lines(snapshot(), columns=140, height=40)
    header = next(line for line in shown if line.startswith("access"))
    first, second = (line for line in shown if ".scan" in line or ".lookup" in line)
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
    assert "███████░░░░░░░░░░░░░  35%" in first
    assert second.endswith("2       30          1")
    assert len(first) <= len(header)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("height", [5, 8, 12, 24, 60])
@pytest.mark.parametrize("methods", [0, 2, 30])
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
        assert {text for text in counts if not set(text) & set("█░")} <= allowed


def test_a_snapshot_without_rows_shows_the_sources():
    shown = lines(snapshot(columns=(), sample=(), sample_rows=0, rows=0))
    assert shown[1].startswith("access")
    assert lines(snapshot(sample=(), sample_rows=0))[1:3] == ["groups so far  0", "  avg  State"]


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


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a LIMIT 3", True),
        ("SELECT a FROM t order\nby a", True),
        ("SELECT rank() OVER (PARTITION BY f(a) ORDER BY b) FROM t GROUP BY ALL", False),
        ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT * FROM x -- ORDER BY", False),
        ("SELECT 'ORDER BY (' FROM t /* ORDER BY */", False),
        ("SELECT ')' FROM (SELECT 1) SORT BY 1", True),
    ],
)
def test_an_order_is_that_of_the_statement(sql, ordered):
    assert is_ordered(sql) is ordered


def test_the_newest_rows_come_first():
    rows = tuple((n, "x") for n in range(100, 0, -1))  # as the engine tells them
    shown = lines(snapshot(sample_is="newest rows", sample=rows, sample_rows=6500))
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
    assert lines(one)[1:7] == [
        "newest rows so far  2  … not answered yet", "  avg  State", "    1  a", "    2  NULL", "    3  …", "    …  NULL",
    ]  # fmt: skip
    many = lines(replace(one, sample=one.sample * 50, sample_rows=100))
    at = next(number for number, line in enumerate(many) if line.endswith("more"))
    assert [line.split() for line in many[at - 1 : at + 3]] == [
        ["2", "NULL"], ["…", "88", "more"], ["3", "…"], ["…", "NULL"],
    ]  # fmt: skip
    styles = {text.strip(): style for line in frame(one, 80, 24) for text, style in line}
    assert styles["…"] == "dim"


def test_rows_under_way_of_other_columns_have_a_header_of_their_own():
    one = groups(50, partial_columns=("id", "zip", "crimeRating"), partial=((7, "94705", UNANSWERED),) * 20)
    shown = lines(one)
    at = next(number for number, line in enumerate(shown) if line.startswith("rows under way"))
    assert shown[at] == "rows under way  3 of 20  … not answered yet"
    assert shown[at + 1].split() == ["id", "zip", "crimeRating"]
    assert shown[at + 2].split() == ["7", "94705", "…"]
    assert shown[1].startswith("groups so far  ")


def test_fractions_are_rounded_in_all_rows_of_a_column_or_in_none():
    one = snapshot(sample=((100 / 3, 0.5), (2.0, 1.25)), columns=("long", "short"), sample_rows=2)
    assert [line.split() for line in lines(one)[3:5]] == [["2.0000", "1.25"], ["33.3333", "0.5"]]


def test_columns_that_do_not_fit_are_counted_and_the_rows_stay_told():
    names = tuple(f"column_{n}" for n in range(30))
    one = snapshot(
        columns=names, sample=(("value",) * 30,), sample_rows=1, rests_on=(5,), group_keys=("a.b",) * 30
    )
    title, header, row = lines(one)[1:4]
    assert title == "groups so far  1  18 columns not shown"
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
    assert any(line.startswith("…") and line.endswith("more access methods") for line in shown)


def test_access_methods_of_one_name_are_told_apart_by_their_sources():
    shown = lines(snapshot(access=(FEC, replace(FEC, source="mirror"))))
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
    assert closing_lines(Outcome(rows=1), 1) == ["1 row in 1.2 s, 1 request, complete"]
    partial = Outcome(
        complete=False,
        reason="deadline of 5 s",
        rows=51234,
        missing=(Missing("gov.crime", "true", "stopped\x1b"),),
    )
    assert closing_lines(partial, 2000) == [
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
    title, header, *rows = lines(one)[1:7]
    assert title == "groups so far  4  1 final (✓)  2 of rows under way (… not answered yet)"
    assert header.split() == ["income", "State", "rating", "rows"]
    assert [row.split() for row in rows] == [
        ["…", "AZ", "NULL", "1,200…"], ["51.5", "CA", "low", "40", "✓"],
        ["…", "MA", "high", "7…"], ["NULL", "NY", "low", "3"],
    ]  # fmt: skip
    assert {text.strip(): style for line in frame(one, 80, 24) for text, style in line}["1,200…"] == "dim"
    many = lines(replace(one, sample_rows=90), height=14)
    assert many[1].startswith("groups so far  4 of 92  1+ final (✓)  2 of rows under way")
