"""The types that the values of parameters should have, by what they are compared and computed with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pyarrow as pa

from fff.catalog import Catalog
from fff.errors import QueryError
from fff.schema import ArrowType
from fff.sql.analysis.predicates import Translator, columns_in
from fff.sql.binder.build_scopes import read_queries
from fff.sql.binder.names import Scope
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, resolve
from fff.sql.nested.column_types import columns_of
from fff.sql.scalars.coercion import VOID
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.syntax.grammar import Positive
from fff.sql.syntax.parse import parse_statement, written_out
from fff.sql.syntax.statement import Node, exp

#: What stands beside a parameter in one of these has its type, or nearly so.
_ALIKE = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.In, exp.Between, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least),
)
_COMPUTED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_COUNTS = (exp.Count, exp.RowNumber, exp.Rank, exp.DenseRank)
_OF_THEIRS = (
    exp.Min,
    exp.Max,
    exp.Sum,
    exp.Paren,
    exp.Neg,
    exp.Window,
    exp.Filter,
)  # of the type of what they are given


def parameter_types(sql: str, catalog: Catalog) -> Mapping[str, ArrowType]:
    """The types of parameters that what stands around them tells, by their names. Raises QueryError."""
    names = {node.name: None for node in parse_statement(sql).tree.find_all(exp.Placeholder) if node.name}
    statement = parse_statement(written_out(sql).sql, names)
    reader = _TypeReader(read_queries(statement, catalog))
    found: dict[str, ArrowType] = {}
    for node in statement.tree.find_all(exp.Placeholder):
        kind = reader.wanted(node)
        if kind is not None:
            found.setdefault(node.name, kind)
    return found


class _TypeReader:
    """A statement's queries, by which names in it have types."""

    def __init__(self, tree: QueryTree) -> None:
        self._statement = tree.statement
        self._scopes = {id(scope.node): scope for scope in tree.scopes}
        self._open: set[int] = set()  # items of select lists that are being looked at

    def wanted(self, node: Node) -> ArrowType | None:
        """The type that an expression should have where it stands; None where that is not told."""
        parent = node.parent
        match parent:
            case exp.Limit() | exp.Offset() | exp.Fetch():
                return pa.int64()
            case exp.Like() | exp.ILike() | exp.RegexpLike():
                return pa.string()
            case exp.Cast():
                return None  # whose type is written there
            case exp.And() | exp.Or() | exp.Not() | exp.Where() | exp.Having():
                return pa.bool_()
            case exp.Paren() | exp.Neg() | Positive():
                return self.wanted(parent)
            case exp.Tuple():
                return self._beside_in_row(parent, node)
            case exp.Case() | exp.If():
                return self._in_case(parent, node)
        if isinstance(parent, (*_ALIKE, *_COMPUTED)):
            computed = isinstance(parent, _COMPUTED)
            for other in _operands(parent):
                kind = None if other is node else self._type(other)
                if kind is not None and (not computed or _is_number(kind)):
                    return kind
            return self.wanted(parent) if computed or isinstance(parent, exp.Coalesce) else None
        return None

    def _beside_in_row(self, row: Node, node: Node) -> ArrowType | None:
        """What stands at the same place of another row that this one is compared with."""
        at = next(place for place, one in enumerate(row.expressions) if one is node)
        for other in _operands(row.parent) if isinstance(row.parent, _ALIKE) else ():
            if other is not row and isinstance(other, exp.Tuple) and at < len(other.expressions):
                kind = self._type(other.expressions[at])
                if kind is not None:
                    return kind
        return None

    def _in_case(self, parent: Node, node: Node) -> ArrowType | None:
        case = parent.parent if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case) else parent
        branches = [parent] if case is parent and isinstance(parent, exp.If) else case.args.get("ifs") or []
        conditions = [one.this for one in branches]
        values = [one.args.get("true") for one in branches]
        values += [case.args.get("default") or case.args.get("false")]
        alike = values if any(one is node for one in values) else [case.this, *conditions]
        kinds = [self._type(one) for one in alike if isinstance(one, exp.Expression) and one is not node]
        return next((one for one in kinds if one is not None), self.wanted(case) if alike is values else None)

    def _type(self, node: Node) -> ArrowType | None:
        """The type of an expression; None where it is not known, as that of another parameter is."""
        if isinstance(node, exp.Placeholder | exp.Null):
            return None
        if isinstance(node, exp.Subquery | exp.Select):
            return self._output(self._scopes.get(id(node.find(exp.Select))), 0)
        scope = self._scopes.get(id(node.find_ancestor(exp.Select)))
        if isinstance(node, _COUNTS):
            return pa.int64()
        if isinstance(node, exp.Avg):
            return pa.float64()
        if isinstance(node, _OF_THEIRS):
            kind = self._type(node.this)
            wide = isinstance(node, exp.Sum) and kind is not None and pa.types.is_integer(kind)
            return pa.int64() if wide else kind
        if isinstance(node, exp.Column) and scope is not None:
            return self._column(node, scope)
        with suppress(LeftToSparkError, QueryError):
            columns = columns_in(Scope()) if scope is None else columns_of(self._statement, scope)
            kind = Translator(self._statement, columns.scope, {}).operand(node).type
            if kind != VOID:
                return kind
        sides = map(self._type, _operands(node)) if isinstance(node, _COMPUTED) else ()
        return next((one for one in sides if one is not None and _is_number(one)), None)

    def _column(self, node: Node, scope: SelectScope) -> ArrowType | None:
        found = resolve(node, scope)
        if found == "local":  # a name that the select list gives
            named = [item for item in scope.node.expressions if item.alias.lower() == node.name.lower()]
            return self._item(named[0]) if named else None
        if not isinstance(found, Found):
            return None
        if found.source.table is not None:
            return found.source.table.columns[found.index].arrow
        query = found.source.query
        return (
            self._output(query.branches[0], found.index)
            if query and query.branches and not query.recursive
            else None
        )

    def _output(self, scope: SelectScope | None, at: int) -> ArrowType | None:
        """The type of a column of a SELECT."""
        outputs = (scope.outputs if scope is not None else None) or ()
        if scope is None or at >= len(outputs):
            return None
        for source, place in outputs[at].origins or ():
            if source.table is not None:
                return source.table.columns[place].arrow
        return None if scope.stars else self._item(scope.node.expressions[at])

    def _item(self, item: Node) -> ArrowType | None:
        """The type of a part of a select list, which may name itself by another that it names."""
        if id(item) in self._open:
            return None
        self._open.add(id(item))
        try:
            return self._type(item.unalias())
        finally:
            self._open.discard(id(item))


def _operands(node: Node) -> list[Node]:
    values = [node.args.get(name) for name in ("this", "expression", "low", "high", "query")]
    return [
        one for one in (*values, *(node.args.get("expressions") or ())) if isinstance(one, exp.Expression)
    ]


def _is_number(kind: ArrowType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
