"""`fff explain --analyze`: how a run was routed, drawn from its report."""

from __future__ import annotations

from typing import Any

from fff_cli.commands.analyze import analysis


def report(**changes: Any) -> dict[str, Any]:
    return {
        "rows": 1234,
        "elapsed_s": 1.5,
        "complete": True,
        "reason": None,
        "policy": "rank",
        "seed": 7,
        "access": [{"requests": 40, "over_time": []}, {"requests": 2, "over_time": []}],
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
                "block": "0",
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
    scan = {"source": "web", "table": "t", "requests": 7}
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


def test_without_a_choice_it_says_so() -> None:
    assert analysis(report(audit=[]))[-1] == "  no tuple had a choice: there was one order only"


def test_a_partial_run_is_labelled() -> None:
    assert analysis(report(complete=False, reason="HTTP 503"))[1].endswith("partial: HTTP 503")
