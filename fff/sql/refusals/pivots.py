"""What PIVOT and UNPIVOT name: columns that nothing in FROM has, values of no such column, columns that share no type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fff.errors import QueryError
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import Output, QueryTree, SelectScope, Source
from fff.sql.refusals.texts import is_day
from fff.sql.refusals.types.kinds import REFUSED, UNKNOWN, WORDS, letter_of, outcome
from fff.sql.syntax.aggregates import is_aggregate
from fff.sql.syntax.statement import Node, Statement, exp, refused

#: Kinds of which any two share a type, whatever Spark calls it.
_FAMILIES = dict.fromkeys("yhilfdm", "number") | dict.fromkeys("tTn", "moment")


def check_pivots(tree: QueryTree) -> None:
    """Raises QueryError, underlined."""
    for scope in tree.scopes:
        pivoted = [one for one in scope.sources if one.node.args.get("pivots")]
        kinds = _kinds_of(scope) if pivoted and scope.outer is None else None
        for source in pivoted if kinds is not None else ():
            first, *more = source.node.args["pivots"]
            if more:
                continue  # which is of the columns that the one before it makes
            for column in _named(first):
                name = parts_of(column)[0].name
                if name.lower() not in (kinds or ()):
                    raise QueryError(
                        f"unknown column {name} in {'UNPIVOT' if first.args.get('unpivot') else 'PIVOT'}",
                        sql=tree.statement.sql,
                        span=reference_span(column),
                    )
            check = _check_unpivot if first.args.get("unpivot") else _check_pivot
            check(tree.statement, first, kinds or {})


def _check_pivot(statement: Statement, pivot: Node, kinds: Mapping[str, str]) -> None:
    for item in pivot.expressions:
        for column in item.find_all(exp.Column):
            if not any(is_aggregate(one) or isinstance(one, exp.Filter) for one in _around(column, item)):
                raise refused(statement, column, f"{column.name} stands in no aggregate of PIVOT")
    for field in pivot.args.get("fields") or ():
        columns = _members(field.this)
        for value in map(_value, field.expressions):
            if isinstance(value, exp.PivotAny | exp.Query):
                continue
            for column in value.find_all(exp.Column):
                raise refused(statement, column, "the values of PIVOT are constants")
            parts = _members(value)
            written = isinstance(value, exp.Tuple | exp.Literal)
            if written and len(columns) != len(parts):
                raise refused(
                    statement, value, f"PIVOT has {len(columns)} columns here, and this is {len(parts)}"
                )
            for column, part in zip(columns, parts, strict=False):
                _check_cast(statement, part, kinds.get(column.name.lower(), UNKNOWN))


def _check_cast(statement: Statement, value: Node, kind: str) -> None:
    """A value is cast to the type of its column."""
    of = {True: "S", False: "i"}.get(value.is_string) if isinstance(value, exp.Literal) else None
    of = "b" if isinstance(value, exp.Boolean) else of
    if of is not None and kind in WORDS and outcome("cast", of, kind) == REFUSED:
        raise refused(statement, value, f"{WORDS[of]} is not cast to {WORDS[kind]}")
    if of == "S" and kind in "yhil" and not value.name.strip().lstrip("+-").isdecimal():
        raise refused(statement, value, f"[CAST_INVALID_INPUT] {value.sql()} is no {WORDS[kind]}")
    if of == "S" and kind == "t" and not is_day(value.name):
        raise refused(statement, value, f"[CAST_INVALID_INPUT] {value.sql()} is no day")


def _check_unpivot(statement: Statement, pivot: Node, kinds: Mapping[str, str]) -> None:
    width = len(_members(pivot.expressions[0])) if len(pivot.expressions) == 1 else 0
    known: list[tuple[str, Node] | None] = [None] * width
    for value in [one for field in pivot.args.get("fields") or () for one in map(_value, field.expressions)]:
        columns = _members(value)
        if width and len(columns) != width:
            raise refused(
                statement, value, f"UNPIVOT makes {width} columns of values, and this is {len(columns)}"
            )
        for place, column in enumerate(columns[:width]):
            kind = (
                kinds.get(parts_of(column)[-1].name.lower(), UNKNOWN)
                if isinstance(column, exp.Column)
                else UNKNOWN
            )
            if kind not in WORDS:
                continue
            before = known[place] = known[place] or (kind, column)
            if _FAMILIES.get(before[0], before[0]) != _FAMILIES.get(kind, kind):
                message = f"UNPIVOT brings no {WORDS[kind]} together with {WORDS[before[0]]}"
                raise refused(statement, column, f"[UNPIVOT_VALUE_DATA_TYPE_MISMATCH] {message}")


def _around(node: Node, outer: Node) -> Iterator[Node]:
    while node is not outer and node.parent is not None:
        node = node.parent
        yield node


def _members(node: Node) -> list[Node]:
    bare = node.unnest()
    return list(bare.expressions) if isinstance(bare, exp.Tuple) else [bare]


def _value(node: Node) -> Node:
    inner = node.this if isinstance(node, exp.PivotAlias) else node
    assert isinstance(inner, exp.Expr)
    return inner


def _named(pivot: Node) -> list[Node]:
    """The columns that are read: those of the aggregates, and what is in front of IN; of UNPIVOT what stands in IN."""
    fields = pivot.args.get("fields") or ()
    read = [part for one in fields for part in one.expressions] if pivot.args.get("unpivot") else []
    if not read:
        read = [*pivot.expressions, *(one.this for one in fields)]
    return [column for part in read for column in part.find_all(exp.Column)]


def _kinds_of(scope: SelectScope) -> dict[str, str] | None:
    """What columns and tables of a FROM are called, lower case, and the kinds of columns; None where that is not known."""
    kinds = dict[str, str]()
    for source in scope.sources:
        own = _columns_of(source)
        if own is None:
            return None
        for name, kind in own:
            known = kinds.setdefault(name.lower(), kind)
            kinds[name.lower()] = known if known == kind else UNKNOWN
        named = [part.name for part in parts_of(source.node)] if source.table is not None else []
        kinds = {name.lower(): UNKNOWN for name in (source.alias, *named)} | kinds
    return kinds


def _columns_of(source: Source) -> list[tuple[str, str]] | None:
    outputs = source.query.outputs if source.query is not None else None
    columns = [(one.name, _kind_of(one)) for one in outputs or ()]
    if source.table is not None:
        columns = [(one.name, letter_of(one.type) or UNKNOWN) for one in source.table.columns]
    alias = source.node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        kinds = [kind for _, kind in columns]
        return [
            (one.name, kind)
            for one, kind in zip(alias.columns, [*kinds, *[UNKNOWN] * len(alias.columns)], strict=False)
        ]
    return columns if columns and all(name for name, _ in columns) else None


def _kind_of(output: Output) -> str:
    tables = [(source.table, index) for source, index in output.origins or ()]
    letters = {
        UNKNOWN if table is None else letter_of(table.columns[index].type) or UNKNOWN
        for table, index in tables
    }
    return letters.pop() if len(letters) == 1 else UNKNOWN
