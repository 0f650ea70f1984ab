"""`fff explain --analyze`: how a run was routed, drawn from its report."""

from __future__ import annotations

from typing import Any

from fff_cli.commands.analyze import analysis
from fff_cli.commands.explain import Glossed


def report(**changes: Any) -> dict[str, Any]:
    return {
        "rows": 1234,
        "elapsed_s": 1.5,
        "complete": True,
        "reason": None,
        "policy": "rank",
        "seed": 7,
        "access": [
            {"source": "s", "name": "F.scan", "requests": 40, "distinct_keys": 0, "over_time": []},
            {"source": "s", "name": "D[zip]", "requests": 2, "distinct_keys": 20, "over_time": []},
        ],
        "spark": {"filters": []},
        "routing": [
            {"state": "F", "destination": "C", "batches": 2, "tuples": 1000, "produced": 10, "requests": 0},
            {
                "state": "F",
                "destination": "D[zip]",
                "batches": 1,
                "tuples": 20,
                "produced": 20,
                "requests": 9,
            },
        ],
        "audit": [
            {
                "block": "1",
                "spent": {"requests": 9, "hops": 1020, "seconds": 0.92},
                "best_order": ["F", "C", "D"],
                "best": {"requests": 4.4, "hops": 1010.0, "seconds": 0.46},
                "ties": [["F", "D", "C"]],
                "regret": 0.2,
                "regret_low": -0.01,
                "regret_high": 0.31,
                "over_time": [
                    {"state": "F", "shares": [{"C": 0.5, "D[zip]": 0.5}, {}, {"C": 1.0}]},
                ],
            }
        ],
        **changes,
    }


def test_it_shows_flow_shares_and_hindsight() -> None:
    assert analysis(report()) == [
        "Ran",
        "  1,234 rows in 1.50 s, 42 requests, complete",
        "  policy rank, seed 7",
        "Flow",
        "  from  to      tuples  came out  keys asked",
        "  F     C        1,000        10",
        "  F     D[zip]      20        20           9",
        "Shares over time, from the first tuples to the last",
        "  F",
        "    C       ▄·█",
        "    D[zip]  ▄· ",
        "Hindsight",
        "  routing spent 9 requests and 1,020 hops of tuples, 0.920 s of service",
        "  best static order, as estimated: F → C → D: 4 requests and 1,010 hops of tuples, 0.460 s of service",
        "  perhaps as good: F → D → C",
        "  regret +20 % of its seconds, with 90 % between -1 % and +31 %",
    ]


def test_scans_of_one_table_are_shown_beside_each_other() -> None:
    scan = {"source": "web", "table": "t", "requests": 7, "distinct_keys": 0}
    first = {
        "name": "scan",
        "pages": 1200,
        "rows": 9000,
        "duplicates": 10,
        "state": "stopped",
        "over_time": [1.0, 0.5, 0],
    }
    second = {
        "name": "mirror",
        "pages": 7,
        "rows": 70,
        "duplicates": 70,
        "state": "complete",
        "over_time": [0, 0.5, 1.0],
    }
    lines = analysis(report(access=[scan | first, scan | second]))
    at = lines.index("Scans of one table, and their shares of its pages over time")
    assert lines[at + 1 : at + 3] == [
        "  web.t  scan    1,200 pages  8,990 new rows  stopped   █▄ ",
        "  web.t  mirror  7 pages      0 new rows      complete   ▄█",
    ]


def test_it_says_what_a_condition_left_to_spark_threw_away() -> None:
    lookups = [{"lookup": "s.D[zip]", "keys": 10}, {"lookup": "s.D[name]", "keys": 3}]
    dropped = {"text": "f(F.a) = 1", "rows": 400, "dropped": 100, "seconds": 0.123, "lookups": lookups}
    lines = analysis(report(spark={"filters": [dropped]}))
    assert lines[7:10] == [
        "Left to Spark",
        "  f(F.a) = 1: 100 of 400 rows thrown away (25%), 0.12 s of Spark to check",
        "    s.D[zip]: 10 of 20 keys asked were for these rows alone, about 1 of 2 requests",
    ]
    assert lines[10].startswith("Shares over time"), "of a lookup that was not asked nothing is told"
    unknown = dropped | {"lookups": [{"lookup": "s.D[zip]", "keys": None}]}
    assert analysis(report(spark={"filters": [unknown]}))[9] == (
        "    s.D[zip]: of 20 keys asked nobody knows how many were for these rows alone: select the key to see it"
    )


def test_words_of_a_plan_are_explained_where_they_are_first_used() -> None:
    glossed = Glossed()
    first = glossed(["Block 1, for Spark x", "  scan a.scan", "  scan b.scan", "  SteM s.a: scan"])
    assert [line.partition("  — ")[2] != "" for line in first] == [True, True, False, True]
    assert glossed(["Block 2", "  SteM s.b"]) == ["Block 2", "  SteM s.b"]


def test_without_a_choice_it_says_so() -> None:
    assert analysis(report(audit=[]))[-1] == "  no tuple had a choice: there was one order only"


def test_a_partial_run_is_labelled() -> None:
    assert analysis(report(complete=False, reason="HTTP 503"))[1].endswith("partial: HTTP 503")
