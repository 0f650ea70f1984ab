"""What introspection tells: which fields of the query type are tables, and which scalars their records have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fff.structs import Struct
from fff.structs import field as member
from fff_sources.graphql.fields import SelectedField
from fff_sources.http.response.json import decode

#: Asks for all types at once, with as many wrappers as `[[T!]!]!` has.
INTROSPECTION = (
    "query { __schema { queryType { name } types { name kind fields { name args { name defaultValue type { ...T } } type { ...T } } } } } "
    "fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } }"
)

_SPARK = {"Int": "int", "Float": "double", "Boolean": "boolean"}
_PAGING = frozenset({
    "first", "last", "after", "before", "limit", "offset", "skip", "take", "page", "perPage",
    "pageSize", "cursor",
})  # fmt: skip


#: Those of them that say how many records are wanted.
SIZES = ("first", "last", "limit", "take", "perPage", "pageSize")


class _Type(Struct):
    kind: str
    name: str | None = None
    ofType: _Type | None = None  # noqa: N815 - GraphQL's own word


class _Argument(Struct):
    name: str
    type: _Type
    defaultValue: str | None = None  # noqa: N815


class _Field(Struct):
    name: str
    type: _Type
    args: list[_Argument] = member(default_factory=list)

    def needs_arguments(self, given: str = "") -> bool:
        """Whether one has to be there, beside a given one."""
        needed = [one.name for one in self.args if one.type.kind == "NON_NULL" and one.defaultValue is None]
        return any(name != given for name in needed)


class _NamedType(Struct):
    name: str
    kind: str
    fields: list[_Field] | None = None


class _Query(Struct):
    name: str


class _Schema(Struct):
    queryType: _Query  # noqa: N815
    types: list[_NamedType]


class _Data(Struct):
    schema: _Schema = member(name="__schema")


class _IntrospectionAnswer(Struct):
    data: _Data


@dataclass(frozen=True)
class ListedField:
    """A field that is a table: its records' columns, and whether it is a connection with cursors."""

    columns: dict[str, str]  # name -> Spark SQL type
    is_connection: bool = False
    is_paged: bool = False  # by arguments first and after
    paging: tuple[str, ...] = ()  # its arguments that look like those of pages


class Schema:
    """The types of an endpoint."""

    def __init__(self, body: bytes) -> None:
        """Raises MalformedJSON where the answer holds no schema."""
        schema = decode(body, type=_IntrospectionAnswer).data.schema
        self._types = {one.name: {part.name: part for part in one.fields or ()} for one in schema.types}
        self._query = schema.queryType.name

    def tables(self) -> dict[str, ListedField]:
        """Fields of the query type that are lists of objects or connections, need no arguments, and tell how they page."""
        by_name = {}
        for name, part in self._types.get(self._query, {}).items():
            if name.startswith("__") or part.needs_arguments("first"):
                continue
            table = self._listed(part)
            if table is None or not table.columns or not (table.is_connection or _depth(part.type) == 1):
                continue
            # A list with paging of some other kind would end after a page and look complete.
            if table.is_paged if table.is_connection else not table.paging:
                by_name[name] = table
        return by_name

    def at(self, way: tuple[SelectedField, ...]) -> ListedField | None:
        """What is at the end of a way down from the query type; None where the schema has no such fields."""
        part: _Field | None = None
        kind = self._query
        for step in way:
            part = self._types.get(kind, {}).get(step.name)
            if part is None:
                return None
            kind = _bare(part.type).name or ""
        return None if part is None else self._listed(part)

    def variables(self, way: tuple[SelectedField, ...]) -> dict[str, str]:
        """The types of the variables that are arguments by themselves on a way down from the query type.

        One that a request may leave out, because its argument has a default, may be absent.
        """
        kinds, kind = dict[str, str](), self._query
        for step in way:
            part = self._types.get(kind, {}).get(step.name)
            if part is None:
                break
            for argument in part.args:
                variable = step.given.get(argument.name)
                if variable is None or (written := _written(argument.type)) is None:
                    continue
                if argument.defaultValue is not None:
                    written = written.removesuffix("!")
                if kinds.get(variable) != f"{written}!":  # which some other argument wants
                    kinds[variable] = written
            kind = _bare(part.type).name or ""
        return kinds

    def _listed(self, part: _Field) -> ListedField | None:
        kind = _bare(part.type).name or ""
        edges = self._types.get(kind, {}).get("edges")
        node = None if edges is None else self._types.get(_bare(edges.type).name or "", {}).get("node")
        paging = tuple(one.name for one in part.args if one.name in _PAGING)
        if node is not None and "pageInfo" in self._types[kind]:
            inner = _bare(node.type).name or ""
            return ListedField(dict(self._columns(inner)), True, {"first", "after"} <= {*paging}, paging)
        return ListedField(dict(self._columns(kind)), paging=paging) if kind in self._types else None

    def _columns(self, kind: str) -> Iterator[tuple[str, str]]:
        """The scalar fields of a type."""
        for name, part in self._types.get(kind, {}).items():
            bare = _bare(part.type)
            if bare.kind not in ("SCALAR", "ENUM") or part.needs_arguments():
                continue
            spark = _SPARK.get(bare.name or "", "string")
            for _ in range(_depth(part.type)):
                spark = f"array<{spark}>"
            yield name, spark


def _bare(kind: _Type) -> _Type:
    while kind.ofType is not None:
        kind = kind.ofType
    return kind


def _written(kind: _Type) -> str | None:
    """A type as GraphQL writes it; None where it is wrapped more often than was asked for."""
    if kind.ofType is None:
        return kind.name
    inner = _written(kind.ofType)
    if inner is None:
        return None
    return f"[{inner}]" if kind.kind == "LIST" else f"{inner}!"


def _depth(kind: _Type | None) -> int:
    """How many lists are around a type."""
    depth = 0
    while kind is not None:
        depth += kind.kind == "LIST"
        kind = kind.ofType
    return depth
