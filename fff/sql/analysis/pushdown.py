"""Which qualifiers a statement's conditions put on its tables: what requests may say so that sources send fewer rows.

A qualifier goes to a table only where every row that the block can use fulfils it: it follows from conjuncts, directly
or through an equality class, for each alias of the table (they share one SteM). It must never be narrower than what it
follows from, as the source reads it. So it says no more than the source declares (`>` is said as `>=`, which holds for
more rows), and bounds are sent one step wider wherever a source may keep more than the declared type does: more digits,
a time of day, a zone. The engine or Spark evaluates every conjunct all the same.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from fff.catalog import KeyColumn, Table
from fff.dataflow.plan.expressions import And, Column, Compare, Expr, FunctionCall, InList, Literal, Or
from fff.dataflow.plan.extents import Extent, Stretch, ValueSet, Verge
from fff.quals import Operator, Qual, in_order
from fff.schema import ArrowType, Field
from fff.sql.analysis.cases import positive
from fff.sql.analysis.conjuncts import Conjunct
from fff.sql.analysis.equalities import Equalities
from fff.sql.binder.names import try_resolve
from fff.sql.binder.spj_block import SourceBlock
from fff.sql.syntax.literals import constant_of, fits
from fff.sql.syntax.statement import exp
from fff.structs import Struct, replace

#: What LIKE with a wildcard at an end is evaluated as, and the pattern.
_LIKE = {"startswith": "{}%", "endswith": "%{}", "contains": "%{}%"}
_MOST_LISTED = 500  # values that one condition of a request lists


class _End(Struct, frozen=True):
    """An end of an interval; open: without the value itself."""

    value: Any
    open: bool


class _Values(Struct, frozen=True):
    """Values of a column: an interval without some values, of texts that match some patterns. NULL is none of them.

    `among`: none but these.
    """

    low: _End | None = None
    high: _End | None = None
    without: frozenset[Any] = frozenset()
    like: frozenset[str] = frozenset()
    among: frozenset[Any] | None = None

    def __and__(self, other: _Values) -> _Values:
        return _Values(
            _inner(self.low, other.low, rising=True),
            _inner(self.high, other.high, rising=False),
            self.without | other.without,
            self.like | other.like,
            other.among
            if self.among is None
            else self.among & (self.among if other.among is None else other.among),
        )

    def __or__(self, other: _Values) -> _Values:
        """The interval that covers both."""
        return _Values(
            _outer(self.low, other.low, rising=True),
            _outer(self.high, other.high, rising=False),
            self.without & other.without,
            self.like & other.like,
            None if self.among is None or other.among is None else self.among | other.among,
        )

    @property
    def single(self) -> bool:
        """Whether it is one value."""
        return self.low is not None and self.low == self.high and not self.low.open


def _inner(one: _End | None, other: _End | None, *, rising: bool) -> _End | None:
    if one is None or other is None:
        return one or other
    mine, theirs = Verge(one.value), Verge(other.value)  # NaN is above every number
    if mine == theirs:
        return one if one.open else other
    return one if (mine > theirs) == rising else other


def _outer(one: _End | None, other: _End | None, *, rising: bool) -> _End | None:
    if one is None or other is None:
        return None
    return other if _inner(one, other, rising=rising) is one else one


def narrowed(block: SourceBlock, conjuncts: Sequence[Conjunct], equalities: Equalities) -> dict[str, Table]:
    """The tables of a block by full name, each with the qualifiers that all its aliases fulfil."""
    values = _column_values(block, conjuncts, equalities)
    narrowed_tables: dict[str, Table] = {}
    for relation in block.scope.relations:
        table = relation.table
        if not table.key_columns or table.full_name in narrowed_tables:
            narrowed_tables.setdefault(table.full_name, table)
            continue
        aliases = [one.ordinal for one in block.scope.relations if one.table.full_name == table.full_name]
        quals: list[Qual] = []
        wanted: dict[str, ValueSet] = {}
        for index, field in enumerate(table.columns):
            key = next((key for key in table.key_columns if key.name.lower() == field.name.lower()), None)
            if key is None:
                continue
            each = [values.get(Column(alias, index), _Values()) for alias in aliases]
            covering = each[0]
            for other in each[1:]:
                covering |= other
            covering = _listed(key, field.arrow, covering)
            key_quals = tuple(_quals(replace(key, name=field.name), field, covering, as_declared=key.exact))
            quals += key_quals
            if key_quals:
                wanted[field.name] = _declared(covering, field.arrow)
        narrowed_tables[table.full_name] = replace(table, quals=in_order(quals), wanted=Extent.of(wanted))
    return narrowed_tables


def says_all(table: Table, condition: Expr) -> bool:
    """Whether requests for a narrowed table, the only one of its block, leave out every row that a condition rejects."""
    match positive(condition):
        case And(items=items):
            return all(says_all(table, item) for item in items)
        case Compare(op="=", left=left, right=right):
            return all(says_all(table, Compare(op, left, right)) for op in (">=", "<="))
        case Compare(op=op, left=Column(index=index), right=Literal(value=value)) if value is not None:
            return _ensured(table, index, op, value)
        case InList(item=Column(index=index), values=several):
            return _ensured(table, index, "in", several)
        case FunctionCall(name=name, args=(Column(index=index), Literal(value=str(word)))) if name in _LIKE:
            if not {*word} & {*"%_\\"}:
                return _ensured(table, index, "like", _LIKE[name].format(word))
    return False


def _ensured(table: Table, index: int, op: str, value: Any) -> bool:
    name = table.columns[index].name.lower()
    exact = {key.name.lower() for key in table.key_columns if (key.exact_like if op == "like" else key.exact)}
    return name in exact and any(
        qual.column.lower() == name and qual.ensures(op, value) for qual in table.quals
    )


# ------------------------------------------------------------------------------------------------- values of a column


def _column_values(
    block: SourceBlock, conjuncts: Sequence[Conjunct], equalities: Equalities
) -> dict[Column, _Values]:
    """What the conjuncts leave of each column; members of an equality class share it."""
    allowed: dict[Column, _Values] = {}
    for conjunct in conjuncts:
        if conjunct.where not in ("engine", "spark"):
            continue
        compared = {} if conjunct.expr is None else _said(conjunct.expr)
        for column, values in (*compared.items(), *_matched(block, conjunct).items()):
            # ON leaves nothing out of what stands before a right side, nor does WHERE of the right side itself.
            right = column.alias if column.alias in block.right else None
            if right == conjunct.on:
                allowed[column] = allowed.get(column, _Values()) & values
    for members in equalities.classes:
        shared = _Values()
        for member in members:
            shared &= allowed.get(member, shared)
        for member in members:
            allowed[member] = _fitting(shared, block.scope.field(member).arrow)
    return allowed


def _said(expr: Expr) -> dict[Column, _Values]:
    """What a condition leaves of the columns it names, where it is true."""
    match positive(expr):
        case Compare(op=op, left=Column() as column, right=Literal(value=value)) if value is not None:
            return {column: values} if (values := _compared(op, value)) is not None else {}
        case InList(item=Column() as column, values=several):
            known: list[Any] = [value for value in several if value is not None]
            if known:
                low, high = (_End(end(known, key=Verge), open=False) for end in (min, max))
                return {column: _Values(low, high, among=frozenset(known))}
        case And(items=items):
            allowed: dict[Column, _Values] = {}
            for item in items:
                for column, values in _said(item).items():
                    allowed[column] = allowed.get(column, _Values()) & values
            return allowed
        case Or(items=items):
            parts = [_said(item) for item in items]
            covering = dict(parts[0])
            for part in parts[1:]:
                covering = {
                    column: values | part[column] for column, values in covering.items() if column in part
                }
            return covering
    return {}


def _compared(op: str, value: object) -> _Values | None:
    match op:
        case "=" | "<=>":
            return _Values(_End(value, open=False), _End(value, open=False), among=frozenset({value}))
        case "<>":
            return _Values(without=frozenset({value}))
        case ">" | ">=":
            return _Values(low=_End(value, op == ">"))
        case "<" | "<=":
            return _Values(high=_End(value, op == "<"))
    return None


def _matched(block: SourceBlock, conjunct: Conjunct) -> dict[Column, _Values]:
    """`column LIKE 'pattern'`. Patterns that escape something mean different things elsewhere."""
    node = None if conjunct.condition is None else conjunct.condition.node
    if node is None or not isinstance(node := node.unnest(), exp.Like):
        return {}
    if {name for name, value in node.args.items() if value} != {"this", "expression"}:
        return {}  # NOT LIKE
    if not isinstance(node.this, exp.Column):
        return {}
    assert conjunct.condition is not None, "its node was read"
    reference = try_resolve(block.statement, node.this, conjunct.condition.scope)
    constant = constant_of(block.statement, node.expression)
    if reference is None or reference.has_fields or constant is None or constant.kind != "string":
        return {}
    pattern = str(constant.value)
    if "\\" in pattern or "\0" in pattern:
        return {}
    # What counts as one character is not the same everywhere; `%` takes any number of them.
    return {reference.column: _Values(like=frozenset({pattern.replace("_", "%")}))}


def _fitting(values: _Values, arrow: ArrowType) -> _Values:
    """Without what is no value of a narrower type of the same kind: nothing is asked with it."""
    return replace(
        values,
        low=values.low if values.low is not None and fits(values.low.value, arrow) else None,
        high=values.high if values.high is not None and fits(values.high.value, arrow) else None,
        without=frozenset(value for value in values.without if fits(value, arrow)),
        among=None if values.among is None else frozenset(one for one in values.among if fits(one, arrow)),
    )


# --------------------------------------------------------------------------------------------------------- qualifiers


def quals_between(
    key: KeyColumn, field: Field, low: Any, high: Any, *, exact: bool = False
) -> tuple[Qual, ...]:
    """What a key column can be told of values from `low` up to, and without, `high`; None is no bound.

    `exact`: the source keeps no more of a value than its declared type does, so that bounds are sent as they are.
    """
    low, high = None if low is None else (low, False), None if high is None else (high, True)
    return quals_of(key, field, low=low, high=high, exact=exact)


def quals_of(
    key: KeyColumn,
    field: Field,
    *,
    low: tuple[Any, bool] | None,
    high: tuple[Any, bool] | None,
    exact: bool = False,
) -> tuple[Qual, ...]:
    """The same of any ends: values, and whether these are left out."""
    ends = _Values(None if low is None else _End(*low), None if high is None else _End(*high))
    return tuple(_quals(key, field, ends, as_declared=exact))


def _listed(key: KeyColumn, arrow: ArrowType, values: _Values) -> _Values:
    """The values with those that are `among` them where a request can list them, else without."""
    among = values.among
    if among is None or ("in", None) not in key.sendable or not _is_exact(arrow) or len(among) > _MOST_LISTED:
        return replace(values, among=None)
    low, high = values.low, values.high
    return replace(
        values,
        among=frozenset(
            one
            for one in among - values.without
            if (low is None or one > low.value or (one == low.value and not low.open))
            and (high is None or one < high.value or (one == high.value and not high.open))
        ),
    )


def _is_exact(arrow: ArrowType) -> bool:
    return bool(pa.types.is_integer(arrow) or pa.types.is_string(arrow) or pa.types.is_boolean(arrow))


def _quals(key: KeyColumn, field: Field, values: _Values, *, as_declared: bool = False) -> Iterable[Qual]:
    """What a key column can be told of some values."""
    arrow = field.arrow
    operators = {operator for operator, _ in key.sendable}
    if values.single and "=" in operators and _is_exact(arrow):
        assert values.low is not None, "a single value is both ends"
        yield Qual(key.name, "=", values.low.value)
        return
    if values.among is not None:
        yield Qual(key.name, "in", tuple(sorted(values.among)))
        return
    if pa.types.is_string(arrow):
        # Sources sort texts in orders of their own, and some compare them regardless of case.
        if "like" in operators:
            yield from (Qual(key.name, "like", pattern) for pattern in values.like)
        return
    if "<>" in operators and pa.types.is_integer(arrow):
        yield from (Qual(key.name, "<>", value) for value in values.without)
    for end, strict, loose, sign in ((values.low, ">", ">=", -1), (values.high, "<", "<=", 1)):
        if end is None or not {strict, loose} & operators:
            continue
        as_open = strict in operators and (end.open or loose not in operators)
        past = as_open and not end.open
        is_finite = not isinstance(end.value, float) or math.isfinite(end.value)
        value = end.value
        if not (as_declared and is_finite) or past:
            value = _beyond(end.value, arrow, sign, past=past)
        if value is not None:
            operator: Operator = strict if as_open else loose  # type: ignore[assignment]  # one of the four above
            yield Qual(key.name, operator, value)


def _declared(values: _Values, arrow: ArrowType) -> ValueSet:
    """The same as a set of values as they are read."""
    try:
        low, high = (
            None if end is None else Verge(pa.scalar(end.value, arrow).as_py(), end.open == opens)
            for end, opens in ((values.low, True), (values.high, False))
        )
        without = ValueSet.points(pa.array(sorted(values.without), arrow).to_pylist())
    except pa.ArrowException:
        return ValueSet.between(None, None)
    patterns = [pattern for pattern in values.like if pattern.count("%") == pattern.endswith("%")]
    declared = ValueSet.of([Stretch(low, high)]) - without
    if values.among is not None:
        declared &= ValueSet.points(sorted(values.among))
    for pattern in patterns:
        stem = pattern.removesuffix("%")
        declared &= ValueSet.points([stem]) if stem == pattern else ValueSet.prefix(stem)
    return declared


def _beyond(value: Any, arrow: ArrowType, sign: int, *, past: bool) -> Any:
    """A bound as it is sent: never inside of what is meant, whatever the source keeps that the declared type leaves out.

    Whole numbers are read exactly or not at all. Every other value may have been cut or rounded when it was read, by
    less than the step taken here: half a last digit, a fraction of a second, the time of day and the zone of a date.
    `past`: whole numbers take a step, too. None where there is nothing beyond.
    """
    try:
        if pa.types.is_integer(arrow):
            return value + sign if past else value
        if pa.types.is_decimal(arrow):
            return value + sign * Decimal(1).scaleb(-arrow.scale)
        if pa.types.is_floating(arrow):
            kind = np.float32 if pa.types.is_float32(arrow) else np.float64
            with np.errstate(over="ignore"):
                beyond = float(np.nextafter(kind(value), kind(sign * math.inf)))
            return beyond if math.isfinite(beyond) else None
        if pa.types.is_date(arrow):
            # What has this date may be the end of its day, and that up to half a day later where the source is.
            return value + dt.timedelta(days=2 if sign > 0 else -1)
        if pa.types.is_timestamp(arrow):
            whole = value.replace(microsecond=0)  # many sources read no fractions of a second
            if arrow.tz is None:
                return whole + sign * dt.timedelta(days=1)
            return whole + sign * dt.timedelta(seconds=1) if past or sign > 0 else whole
    except OverflowError:
        pass
    return None
