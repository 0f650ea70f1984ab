"""The account of a run in words: how it ended, what is missing, what each access method did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from fff.display.counts import counted
from fff.stats import MORE_KEYS, AccessStats, Bill, Missing, Snapshot, bills
from fff_cli.output.values import printable

if TYPE_CHECKING:
    from fff.federation import RunOutcome

_WHOLE = frozenset({"", "true"})  # predicates of what is missing of a table as a whole
MISSING_SHOWN = 10  # missing parts told; the report has them all
BILLED = 6  # sources whose requests are told by themselves


def missing_texts(missing: Sequence[Missing], access: Sequence[AccessStats] = ()) -> list[str]:
    """Missing parts in a few words: table, which rows, why; keys that failed alike together.

    A table that was not read to its end comes before single keys of others, which may be many.
    """
    alike: dict[tuple[str, str], list[Missing]] = {}
    for one in sorted(missing, key=lambda one: one.predicate.lower() not in _WHOLE):
        alike.setdefault((one.table, one.reason), []).append(one)
    texts = []
    for (table, reason), parts in alike.items():
        known = sum(
            one.distinct_keys + one.pending_keys for one in access if f"{one.source}.{one.table}" == table
        )
        keys = sum(one.keys for one in parts)
        listed = [one.predicate for one in parts if not one.predicate.endswith(MORE_KEYS)]
        if parts[0].predicate.lower() in _WHOLE:
            texts.append(f"{table}: {reason}")
        elif keys == len(listed) == 1:
            texts.append(f"{table} where {listed[0]}: {reason}")
        else:
            of = f"{keys:,} of {counted(known, 'key')}" if known >= keys else counted(keys, "key")
            texts.append(f"{table}: {of}, {reason}" + (f" ({listed[0]}, …)" if listed else ""))
    return [printable(text) for text in texts]


def closing_lines(account: RunOutcome, access: Sequence[AccessStats]) -> list[str]:
    """The last words on standard error: rows, seconds, requests, and complete, or PARTIAL with what is missing."""
    head = f"{counted(account.rows, 'row')} in {account.elapsed_s:.1f} s, {bill_text(bills(access))}, "
    warnings = [f"warning: {text}" for text in account.warnings]
    if account.complete:
        return [*warnings, head + "complete"]
    label = "PARTIAL"
    if account.doubts:
        label += ", numbers are bounds" if account.bounded else ", rows may be wrong"
    lines = [*warnings, head + label + (f": {account.reason}" if account.reason else "")]
    missing = missing_texts(account.missing, access)
    lines += [f"  missing {text}" for text in missing[:MISSING_SHOWN]]
    if len(missing) > MISSING_SHOWN:
        more = counted(len(missing) - MISSING_SHOWN, "more missing part")
        lines.append(f"  and {more} (--report tells more)")
    return lines


def bill_text(bill: Sequence[Bill]) -> str:
    """What was asked and what that cost, in all and, of several sources, of each."""
    asked = counted(sum(one.requests for one in bill), "request")
    if len(bill) > 1:
        named = sorted(bill, key=lambda one: -one.requests)[:BILLED] if len(bill) > BILLED + 1 else bill
        each = [f"{printable(one.source)} {one.requests:,}" for one in bill if one in named]
        if others := [one for one in bill if one not in named]:
            each.append(f"{len(others):,} others {sum(one.requests for one in others):,}")
        asked += f" ({', '.join(each)})"
    charged = [one for one in bill if one.cost is not None]
    for currency in dict.fromkeys(one.currency for one in charged):
        some = [one for one in charged if one.currency == currency]
        asked += f", {_amount(sum(Decimal(repr(one.cost)) for one in some))} {currency}"
        if len(some) > 1:
            asked += f" ({', '.join(f'{printable(one.source)} {_amount(one.cost)}' for one in some)})"
    return asked


def _amount(money: float | Decimal | None) -> str:
    """Without an exponent, and without zeros that say nothing."""
    text = f"{Decimal(str(money)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


#: What is told of each access method after a run, and which columns give way to others.
_ACCOUNT: tuple[tuple[str, Callable[[AccessStats], str], int], ...] = (
    ("requests", lambda one: _count(one.requests), 1),
    ("cost", lambda one: f"{_amount(one.cost)} {one.currency}" if one.cost else "", 3),
    ("rows", lambda one: _count(one.rows), 2),
    ("req/s", lambda one: f"{one.requests / one.busy_s:,.1f}" if one.busy_s and one.requests > 1 else "", 6),
    ("slowest", lambda one: f"{one.slowest_s:.1f} s" if one.slowest_s >= 0.05 else "", 6),
    ("retries", lambda one: _count(one.retries), 4),
    ("failed", lambda one: _count(one.failed), 3),
    ("throttled", lambda one: f"{one.throttled_s:.1f} s" if one.throttled_s >= 0.05 else "", 5),
    ("cached", lambda one: _count(one.cached), 7),
    ("hedged", lambda one: _count(one.hedged), 9),
    ("bytes", lambda one: _count(one.bytes), 8),
)


_ONE = {"requests": "request", "rows": "row", "retries": "retry"}

#: Of these columns the highest goes first where a terminal is narrow.
RANKS = {"access": 0, "state": 2} | {title: rank for title, _, rank in _ACCOUNT}


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def foremost(access: Sequence[AccessStats], most: int) -> tuple[list[AccessStats], list[AccessStats]]:
    """Of the access methods that did something at most so many: those that failed, then what took longest; and the others."""
    used = [one for one in access if one.requests or one.cached]
    ranked = sorted(used, key=lambda one: (one.state != "failed", not one.failed, -one.busy_s))
    kept = {id(one) for one in ranked[:most]}
    return [one for one in used if id(one) in kept], [one for one in used if id(one) not in kept]


def accounts(access: Sequence[AccessStats]) -> tuple[list[str], list[list[str]]]:
    """What each access method did that did something: titles and rows, without columns that say nothing."""
    used = [one for one in access if one.requests or one.cached]
    kept = [what for what in _ACCOUNT if any(what[1](one) for one in used)]
    titles = ["access", "state", *(title for title, _, _ in kept)]
    return titles, [[printable(one.name), one.state, *(tell(one) for _, tell, _ in kept)] for one in used]


def account_lines(access: Sequence[AccessStats]) -> list[str]:
    """The same in words, a line each."""
    titles, rows = accounts(access)
    busy = [
        f"{one.busy_s:.1f} s" if one.busy_s >= 0.05 else "" for one in access if one.requests or one.cached
    ]
    titles, rows = (
        [*titles, "with requests under way"],
        [[*row, s] for row, s in zip(rows, busy, strict=True)],
    )
    lines = []
    for row in rows:
        did = (
            f"{text} {_ONE.get(title, title) if text == '1' else title}"
            for title, text in zip(titles[2:], row[2:], strict=True)
            if text
        )
        lines.append(f"  {row[0]}: {', '.join([row[1], *did])}")
    return lines


def spark_lines(snapshot: Snapshot) -> list[str]:
    """What Spark took of the time, where it was used."""
    spark = snapshot.spark
    if not spark.used:
        return []
    start_s, final_s = spark.start_s or 0.0, spark.final_s or 0.0
    share = min(1.0, spark.waited_s / max(snapshot.elapsed_s, 1e-9))
    waited = f"waited for {spark.waited_s:.1f} s, {share:.0%} of the time"
    return [f"  Spark: {waited} ({start_s:.1f} s to start, {final_s:.1f} s for the result)"]
