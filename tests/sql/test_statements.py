"""Statements and what becomes of them: `statements.txt` holds the SQL, and below it the plan or the error."""

from __future__ import annotations

from pathlib import Path

import pytest
from planner_fakes import DEMO

from fff.dataflow.plan.expressions import Column, Expr
from fff.errors import FFFError, Span
from fff.sql import BlockQuery, Prepared, prepare
from fff.sql.plan import MADE, Cut

FILE = Path(__file__).with_name("statements.txt")
CASES = [
    tuple(part.strip("\n") for part in case.split("\n--\n")) for case in FILE.read_text().split("\n====\n")
]


def outcome(sql: str) -> str:
    try:
        return summary(prepare(sql, DEMO))
    except FFFError as error:
        return f"{type(error).__name__}: {error.render()}"


def summary(prepared: Prepared) -> str:
    """Everything a plan says, a line each."""
    lines = []
    for number, block in enumerate(prepared.blocks):
        if len(prepared.blocks) > 1:
            lines.append(f"block {number}: {block.view} ({', '.join(field.name for field in block.fields)})")
        lines += described(block)
    if prepared.result is not None:
        for branch in prepared.result.branches:
            names = zip(prepared.result.fields, branch.values, branch.places, strict=True)
            shown = [
                (field.name, written(prepared, branch.block, value, place)) for field, value, place in names
            ]
            lines.append(
                "result " + ", ".join(name if name == what else f"{name}={what}" for name, what in shown)
            )
            lines += cuts(branch.cut)
        lines += cuts(prepared.result.cut)
    if prepared.upper is not None:
        upper = prepared.upper
        if len(prepared.blocks) == 1:
            lines.append(f"view ({', '.join(field.name for field in prepared.only_block.fields)})")
        lines.append(f"because of {upper.why}" + ("; aggregated" if upper.aggregated else ""))
        lines.append(upper.sql)
    return "\n".join(lines)


def written(prepared: Prepared, block: int | None, value: Expr, place: Span) -> str:
    """A column by its own name, anything else as it is written."""
    if block is None or not isinstance(value, Column) or value.alias == MADE:
        return prepared.sql[place.start : place.end]
    plan = prepared.blocks[block].plan
    return plan.field_of(plan.output[value.index]).name


def cuts(cut: Cut) -> list[str]:
    lines = ["distinct"] if cut.distinct else []
    return (
        [*lines, f"limit {cut.limit} offset {cut.offset}"] if (cut.limit, cut.offset) != (None, 0) else lines
    )


def described(block: BlockQuery) -> list[str]:
    plan = block.plan
    lines = []
    for table in plan.tables:
        methods = [one.name for one in (*table.scans, *table.lookups)]
        columns = ", ".join(field.name for field in table.columns)
        key = [table.columns[index].name for index in table.key]
        lines.append(
            f"table {table.name} ({columns}) by {' '.join([table.identity, *key])}: {', '.join(methods)}"
        )
    for alias in plan.aliases:
        how = "active" if alias.active else "passive"
        table = plan.tables[alias.table]
        for seed in alias.seeds:
            how += f", {table.lookups[seed.lookup].name} of {list(seed.keys)}"
        if alias.constants:
            how += ", " + ", ".join(
                f"{table.columns[index].name} is {value!r}" for index, value in alias.constants
            )
        lines.append(f"{alias.name} of {table.name}: {how}")
    lines += [f"equal {' = '.join(members)}" for members in block.equalities]
    for one in block.conjuncts:
        if one.where != "equality":
            lines.append(f"{one.where}: {one.text}" + (f" ({one.reason})" if one.reason else ""))
    lines += [
        f"keys {plan.tables[feed.table].name} from {[(one.block, one.columns) for one in feed.sources]}"
        for feed in block.feeds
    ]
    if block.empty:
        lines.append(f"empty: {block.empty}")
    if plan.limit is not None:
        lines.append(f"block limit {plan.limit}")
    return lines


@pytest.mark.parametrize(("sql", "expected"), CASES, ids=[case[0][:60] for case in CASES])
def test_statement(sql: str, expected: str) -> None:
    assert outcome(sql) == expected


def test_there_are_plenty() -> None:
    assert len(CASES) >= 60
