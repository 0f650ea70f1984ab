"""How a run was routed, drawn from its report: what flowed where, over time, and what the best static order might have cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fff.display.counts import counted

_LEVELS = " ▁▂▃▄▅▆▇█"


def analysis(report: Mapping[str, Any]) -> list[str]:
    """The lines that `fff explain --analyze` adds to the plan."""
    asked = counted(sum(access["requests"] for access in report["access"]), "request")
    ended = "complete" if report["complete"] else f"partial: {report['reason']}"
    lines = [
        "Ran",
        f"  {counted(report['rows'], 'row')} in {report['elapsed_s']:.2f} s, {asked}, {ended}",
        f"  policy {report['policy']}, seed {report['seed']}",
        *_flow(report["routing"]),
        *_rivals(report["access"]),
        *_left_to_spark(report["spark"]["filters"], report["access"]),
    ]
    for audit in report["audit"]:
        lines += _over_time(audit["over_time"])
        lines += _judged(audit, several=len(report["audit"]) > 1)
    if not report["audit"]:
        lines += ["Hindsight", "  no tuple had a choice: there was one order only"]
    return lines


def _flow(routing: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every hop with what went in and what came out."""
    rows = [("from", "to", "tuples", "came out", "keys asked")]
    rows += [
        (
            share["state"],
            share["destination"],
            f"{share['tuples']:,}",
            f"{share['produced']:,}",
            f"{share['requests']:,}" if share["requests"] else "",
        )
        for share in routing
    ]
    if len(rows) == 1:
        return []
    wide = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "Flow",
        *(
            "  "
            + "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, wide, strict=True))
            ).rstrip()
            for row in rows
        ),
    ]


def _rivals(access: Sequence[Mapping[str, Any]]) -> list[str]:
    """Scans of one table that several brought: pages and rows of each, and a bar per interval as high as its share."""
    several = [one for one in access if one["over_time"]]
    rows = [
        (
            f"{one['source']}.{one['table']}",
            one["name"],
            f"{one['pages']:,} pages",
            f"{one['rows'] - one['duplicates']:,} new rows",
            one["state"],
        )
        for one in several
    ]
    wide = [max(len(row[place]) for row in rows) for place in range(5)] if rows else []
    lines = [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True))
        + "  "
        + "".join(map(_bar, one["over_time"]))
        for row, one in zip(rows, several, strict=True)
    ]
    return ["Scans of one table, and their shares of its pages over time", *lines] if lines else []


def _left_to_spark(filters: Sequence[Mapping[str, Any]], access: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each condition that Spark checked threw away of what had been fetched and joined for it."""
    asked = {f"{one['source']}.{one['name']}": one for one in access if one["distinct_keys"]}
    lines = []
    for one in filters:
        share = one["dropped"] / max(1, one["rows"])
        lines.append(
            f"  {one['text']}: {one['dropped']:,} of {one['rows']:,} rows thrown away ({share:.0%}), "
            f"{one['seconds']:.2f} s of Spark to check"
        )
        lines += [
            f"    {lookup['lookup']}: {_wasted(lookup['keys'], asked[lookup['lookup']])}"
            for lookup in one["lookups"]
            if lookup["lookup"] in asked
        ]
    return ["Left to Spark", *lines] if lines else []


def _wasted(wasted: int | None, method: Mapping[str, Any]) -> str:
    keys, requests = method["distinct_keys"], method["requests"]
    if wasted is None:
        return f"of {keys:,} keys asked nobody knows how many were for these rows alone: select the key to see it"
    wasted = min(wasted, keys)
    spent = f", about {wasted * requests / keys:,.0f} of {requests:,} requests" if wasted and requests else ""
    return f"{wasted:,} of {keys:,} keys asked were for these rows alone{spent}"


def _over_time(states: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each state that had a choice one bar per interval and destination, as high as its share."""
    drawn = []
    for state in states:
        names = list(dict.fromkeys(name for shares in state["shares"] for name in shares))
        width = max(len(name) for name in names)
        drawn.append(f"  {state['state']}")
        for name in names:
            bars = "".join(_bar(shares.get(name, 0.0)) if shares else "·" for shares in state["shares"])
            drawn.append(f"    {name.ljust(width)}  {bars}")
    return ["Shares over time, from the first tuples to the last", *drawn] if drawn else []


def _bar(share: float) -> str:
    return _LEVELS[round(share * (len(_LEVELS) - 1))]


def _judged(audit: Mapping[str, Any], *, several: bool) -> list[str]:
    best, spent = audit["best"], audit["spent"]
    order = " → ".join(audit["best_order"])
    low, high = (f"{100 * audit[name]:+.0f} %" for name in ("regret_low", "regret_high"))
    return [
        f"Hindsight, block {audit['block']}" if several else "Hindsight",
        f"  routing spent {_spend(spent)}",
        f"  best static order, as estimated: {order}: {_spend(best)}",
        *(f"  perhaps as good: {' → '.join(tie)}" for tie in audit["ties"]),
        f"  regret {100 * audit['regret']:+.0f} % of its seconds, with 90 % between {low} and {high}",
    ]


def _spend(spend: Mapping[str, float]) -> str:
    """Seconds are those of service, of all requests and hops one after another."""
    return (
        f"{spend['requests']:,.0f} requests and {spend['hops']:,.0f} hops of tuples, "
        f"{spend['seconds']:,.3f} s of service"
    )
