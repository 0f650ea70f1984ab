"""Renders a prepared statement as plain text: what will run where, what binds what, how many requests it may take."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from fff.catalog import Table
from fff.dataflow.plan.expressions import Column
from fff.dataflow.plan.labels import move_name, state_name
from fff.dataflow.plan.plan import AliasPlan, LookupPlan
from fff.dataflow.plan.state import TupleState
from fff.dataflow.routing.constraints import Constraints
from fff.display.counts import counted
from fff.sql.plan import MADE, BlockQuery, Cut, KeyBinding, LookupBinding, Prepared
from fff.sql.syntax.parameters import params as parameters

_SHOWN_VALUES = 5
_SHOWN_STATES = 20


def explain(prepared: Prepared) -> str:
    """The plan of a statement in words; sends no request."""
    lines: list[str] = []
    for number, block in enumerate(prepared.blocks):
        title = "Block" if len(prepared.blocks) == 1 else f"Block {number + 1}"
        title += f", for Spark {block.view}" if len(prepared.blocks) > 1 and block.view else ""
        lines += _sections(
            [
                (title, _block(block)),
                ("Keys", _feeds(prepared, block)),
                ("Modules", _modules(block)),
                ("Bindings", _bindings(block)),
                ("Conditions", _conditions(prepared, block)),
                ("Feasible", _feasible(block)),
                ("Legal moves", _moves(block)),
                ("Requests", _requests(block)),
            ]
        )
    above = "Above the blocks" if len(prepared.blocks) > 1 else "Above the block"
    lines += _sections([(above, _above(prepared)), ("Warnings", list(prepared.warnings))])
    return "\n".join(lines)


def _sections(sections: Sequence[tuple[str, list[str]]]) -> list[str]:
    return [line for title, lines in sections if lines for line in (title, *(f"  {one}" for one in lines))]


def _feeds(prepared: Prepared, block: BlockQuery) -> list[str]:
    """Where the keys of a block come from that other blocks find."""
    lines = []
    for feed in block.feeds:
        fed = block.plan.tables[feed.table]
        if feed.query is not None:
            after = ", ".join(str(number + 1) for number in feed.query.blocks)
            lines.append(f"{fed.name}: what Spark finds once block {after} has ended: {feed.query.sql}")
        if feed.rows is not None:
            blocks = " and ".join(str(number + 1) for number in sorted(feed.blocks)) or "none"
            columns = ", ".join(column.name for column in fed.columns)
            lines.append(f"{fed.name} ({columns}): the rows of a query, made of block {blocks}")
        for source in feed.sources:
            other = prepared.blocks[source.block].plan
            names = [
                f"{other.aliases[other.output[one].alias].name}.{other.field_of(other.output[one]).name}"
                if isinstance(one, int)
                else parameters.render("", one.value)
                for one in source.columns
            ]
            keys = ", ".join(column.name for column in fed.columns)
            distinct = "distinct " if feed.distinct else ""
            lines.append(f"{fed.name} ({keys}): {distinct}{', '.join(names)} of block {source.block + 1}")
    if block.plan.recursion is not None:
        made = block.plan.tables[block.plan.recursion.table].name
        lines.append(f"{made}: what this block's own rows make, level by level, each once")
    return lines


def _moves(block: BlockQuery) -> list[str]:
    """Where tuples may go, state by state, as far as rows of active aliases can get."""
    plan = block.plan
    if len(plan.aliases) < 2:
        return []
    constraints = Constraints.of(plan)
    waiting = [
        TupleState(1 << number)
        for number, alias in enumerate(plan.aliases)
        if alias.active and number not in constraints.waiting and number not in constraints.right
    ]
    seen = dict.fromkeys(waiting)
    lines: list[str] = []
    while waiting:
        state = waiting.pop(0)
        if constraints.finished(state):
            continue
        if len(lines) == _SHOWN_STATES:
            return [*lines, "… and so on"]
        moves = constraints.legal(state)
        lines.append(f"{state_name(plan, state)} → {', '.join(move_name(plan, move) for move in moves)}")
        for move in moves:
            done = state.done if move.predicate is None else state.done | 1 << move.predicate
            span = state.span if move.predicate is not None else state.span | 1 << move.alias
            after = TupleState(span, done)
            if after not in seen:
                seen[after] = None
                waiting.append(after)
    return lines


def _block(block: BlockQuery) -> list[str]:
    plan = block.plan
    if not plan.aliases:
        return ["no table: nothing is fetched"]
    lines = []
    for alias in plan.aliases:
        table = plan.tables[alias.table]
        columns = ", ".join(field.name for field in table.columns)
        name = table.name if table.name.endswith(f".{alias.name}") else f"{table.name} AS {alias.name}"
        joined = "" if alias.kind == "inner" else f", right side of {_article(alias.kind)} join"
        lines.append(f"{name}: {columns}{joined}")
    output = ", ".join(f"{plan.aliases[one.alias].name}.{plan.field_of(one).name}" for one in plan.output)
    lines.append(f"output: {output}")
    if block.empty is not None:
        lines.append(f"no rows: {block.empty}; nothing is fetched")
    elif plan.limit is not None:
        lines.append(f"stops after {counted(plan.limit, 'row')}")
    elif block.first is not None and block.first.column is not None:
        order = plan.field_of(block.first.column).name + (" DESC" if block.first.falling else "")
        rows = f"{counted(block.first.count, 'row')}"
        so = "is" if block.first.sort is None else "is asked for"
        cut = " and for no more" if block.tables[0].rows_wanted is not None else ""
        lines.append(f"stops once the first {rows} by {order} are there: the scan {so} in that order{cut}")
    return lines


def _modules(block: BlockQuery) -> list[str]:
    plan = block.plan
    lines = []
    for table, narrowed in zip(plan.tables, block.tables, strict=True):
        lines += [f"note: {narrowed.full_name}: {note}" for note in narrowed.notes]
        lines += [f"scan {scan.name}{_sends(narrowed)}" for scan in table.scans]
        for lookup in table.lookups:
            batch = f", up to {lookup.batch_size} keys a request" if lookup.batch_size > 1 else ""
            keys = [table.columns[index].name for index in lookup.columns]
            lines.append(f"lookup {lookup.name}{batch}{_sends(narrowed, keys)}")
        identity = {
            "position": "every row arrives once",
            "key": f"one row per {', '.join(table.columns[index].name for index in table.key)}",
            "value": "rows compared by value",
        }[table.identity]
        lines.append(f"SteM {table.name}: {identity}")
    lines += [f"selection {predicate.text}" for predicate in plan.predicates]
    return lines


def _sends(table: Table, keys: Sequence[str] = ()) -> str:
    """What requests say of the table's conditions; rows that come all the same are left out here."""
    sent = [table.said(qual) for qual in table.quals_beside(keys)]
    return f", sends {', '.join(sent)}" if sent else ""


def _bindings(block: BlockQuery) -> list[str]:
    return [
        f"{block.plan.aliases[binding.alias].name} through {binding.method}: "
        + "; ".join(_binding(key, seed=binding.seed is not None) for key in binding.keys)
        for binding in block.bindings
    ]


def _binding(key: KeyBinding, *, seed: bool) -> str:
    if key.values is not None and (seed or len(key.values) == 1 or not key.columns):
        shown = ", ".join(parameters.render("", value) for value in key.values[:_SHOWN_VALUES])
        more = f", … ({len(key.values)} in all)" if len(key.values) > _SHOWN_VALUES else ""
        return f"{key.column} = {shown}{more}" if len(key.values) == 1 else f"{key.column} in ({shown}{more})"
    return f"{key.column} from {' or '.join(key.columns)}"


def _conditions(prepared: Prepared, block: BlockQuery) -> list[str]:
    left, plan = "left to Spark" if prepared.result is None else "above the block", block.plan
    lines = [f"equal: {' = '.join(members)}" for members in block.equalities]
    for one in block.conjuncts:
        if one.where == "equality" and one.on is None:
            continue
        if one.on is not None:
            lines.append(f"{plan.aliases[one.on].kind} join of {plan.aliases[one.on].name}: {one.text}")
            continue
        where = {"spark": left}.get(one.where, one.where)
        text = " ".join(one.text.split()) if "\n" in one.text else one.text
        lines.append(f"{where}: {text}" + (f" ({one.reason})" if one.reason else ""))
    return lines


def _feasible(block: BlockQuery) -> list[str]:
    lines = []
    for ordinal in block.order:
        alias = block.plan.aliases[ordinal]
        lines.append(f"{alias.name}: {_how(block, ordinal, alias)}")
    return lines


def _how(block: BlockQuery, ordinal: int, alias: AliasPlan) -> str:
    if alias.seeds:
        keys = len(alias.seeds[0].keys)
        or_scanned = (
            " or scanned, whichever takes fewer requests" if block.plan.tables[alias.table].scans else ""
        )
        return f"looked up by constants, {counted(keys, 'key')}{or_scanned}"
    if alias.active:
        scans = len(block.plan.tables[alias.table].scans)
        return "scanned" if scans == 1 else f"scanned, {scans} scans compete"
    through = [one.method for one in block.bindings if one.alias == ordinal]
    return f"looked up by the keys of what it is joined with ({' or '.join(through)})"


def _requests(block: BlockQuery) -> list[str]:
    plan = block.plan
    if not block.fetches:
        return ["none"] if plan.aliases else []
    lines = []
    for table, source in zip(plan.tables, block.tables, strict=True):
        if not source.source:
            lines += [f"{lookup.name}: the engine computes it" for lookup in table.lookups]
            lines += [f"{scan.name}: none: the statement makes its rows" for scan in table.scans]
            continue
        lines += [f"{scan.name}: one request per page, until the last page" for scan in table.scans]
        lines += [
            _lookup_requests(block, table.name, index, lookup) for index, lookup in enumerate(table.lookups)
        ]
    return lines


def _lookup_requests(block: BlockQuery, table: str, index: int, lookup: LookupPlan) -> str:
    plan = block.plan
    uses = [one for one in block.bindings if one.method == lookup.name and _table_of(block, one) == table]
    keys = {
        key
        for alias in plan.aliases
        if plan.tables[alias.table].name == table
        for seed in alias.seeds
        if seed.lookup == index
        for key in seed.keys
    }
    methods = (method for one in block.tables for method in one.lookups if method.name == lookup.name)
    shared = next((method.shared for method in methods), 0)
    alike = Counter(key[:shared] for key in keys)
    seeded = sum(math.ceil(number / lookup.batch_size) for number in alike.values())
    joined = [use for use in uses if use.seed is None]
    if not uses:
        return f"{lookup.name}: only keys that another lookup cannot answer"
    if not joined:
        return f"{lookup.name}: {counted(seeded, 'request')}"
    per = "one request per" if lookup.batch_size == 1 else f"one request per {lookup.batch_size}"
    wanted = " and ".join(dict.fromkeys(_distinct(use, shared) for use in joined))
    competing = next(one for one in plan.tables if one.name == table).scans
    at_most = "at most " if competing else ""
    start = f"at least {seeded}, then " if seeded else ""
    return f"{lookup.name}: {start}{at_most}{per} distinct {wanted}"


def _distinct(use: LookupBinding, shared: int) -> str:
    names = [
        key.columns[0] for key in use.keys if key.columns and (key.values is None or len(key.values) != 1)
    ]
    names = names or [key.columns[0] for key in use.keys if key.columns]
    if shared and len(names) > 1:
        return f"{names[-1]} of the same {', '.join(names[:-1])}"
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _table_of(block: BlockQuery, use: LookupBinding) -> str:
    return block.plan.tables[block.plan.aliases[use.alias].table].name


def _above(prepared: Prepared) -> list[str]:
    if prepared.upper is not None:
        return [f"Spark: {prepared.upper.why}", *prepared.upper.sql.splitlines()]
    assert prepared.result is not None, "what Spark does not run the engine answers"
    cuts = [prepared.result.cut, *(branch.cut for branch in prepared.result.branches)]
    values = [value for branch in prepared.result.branches for value in branch.values]
    if (
        len(cuts) == 2
        and not any(cut.distinct for cut in cuts)
        and all(isinstance(v, Column) and v.alias != MADE for v in values)
    ):
        return []
    lines = []
    for branch in prepared.result.branches:
        texts = (" ".join(prepared.sql[place.start : place.end].split()) for place in branch.places)
        rows = "one row" if branch.block is None else f"rows of block {branch.block + 1}"
        lines.append(f"{rows}: {', '.join(dict.fromkeys(texts))}{_cut(branch.cut)}")
    lines[-1] += _cut(prepared.result.cut) if len(lines) == 1 else ""
    return lines if len(lines) == 1 else [*lines, f"all of these{_cut(prepared.result.cut)}"]


def _cut(cut: Cut) -> str:
    """Which of some rows are taken."""
    parts = ["each once"] if cut.distinct else []
    parts += [f"without the first {cut.offset}"] if cut.offset else []
    parts += [f"at most {cut.limit}"] if cut.limit is not None else []
    return "".join(f"; {part}" for part in parts)


def _article(kind: str) -> str:
    return f"{'an' if kind == 'anti' else 'a'} {kind}"
