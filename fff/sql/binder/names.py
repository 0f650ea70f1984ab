"""What names mean: tables of the catalog, aliases of the FROM clause, columns in reach.

Columns are named by `fff.dataflow.plan.expressions.Column` with the column's place among the table's *declared* columns;
the planner renumbers them once it knows which columns the query needs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import pyarrow as pa

from fff.catalog import Catalog, Naming, Table
from fff.dataflow.plan.expressions import Column
from fff.errors import Span
from fff.schema import Field
from fff.sql.syntax.aggregates import makes_rows
from fff.sql.syntax.statement import Node, Statement, TokenType, arg, exp, identifier_span, qualified
from fff.structs import Struct, lazy_pattern

_PLAIN_NAME = lazy_pattern(r"[a-z_]\w*")
#: Casts written as calls that the parser does not know as such; a column that is cast keeps its name.
_CASTS = frozenset({"bigint", "binary", "decimal", "smallint", "tinyint"})
#: What stands before the name of a file, and what is piped in.
_FILES = frozenset({"csv", "tsv", "json", "ndjson", "parquet", "arrow", "excel", "local", "stdin"})
_FILES_HINT = (
    "those of the machine that runs statements are, with `fff serve --local-files` or local_files=True in Python;"
    " specs can name files everywhere"
)
_WHERE_TABLES_COME_FROM = (
    "tables come from the files given with -s, FFF_SOURCES, ./fff.yaml, ./sources/ and the bundled catalog; "
    "`fff source list` shows them"
)


class Relation(Struct, frozen=True):
    """One table of the FROM clause, under its alias."""

    alias: str
    table: Table
    ordinal: int
    span: Span
    renamed: bool  # an alias was written; the table's own name no longer names it
    unseen: bool = False  # the right side of a semi or anti join, which nothing behind that names

    @property
    def called(self) -> bool:
        """Whether it stands for a call: only its own alias names its columns, and no star does."""
        return is_call(self.table, self.alias)

    def answers_to(self, qualifier: Sequence[str]) -> bool:
        """Whether `alias` or, without an alias, `source.table` names this relation."""
        names = [part.lower() for part in qualifier]
        if self.unseen:
            return False
        if names == [self.alias.lower()]:
            return True
        return not self.renamed and names == [self.table.source.lower(), self.table.name.lower()]


class Scope(Struct, frozen=True, dict=True):
    """The columns in reach at one place of a query.

    `output` is what `*` means there, in order. `hidden` are the right-hand columns that USING and NATURAL merged away:
    only a qualified name reaches them.
    """

    relations: tuple[Relation, ...] = ()
    output: tuple[Column, ...] = ()
    hidden: tuple[Column, ...] = ()

    @classmethod
    def of(cls, relation: Relation) -> Scope:
        """Every column of one table; only qualified names reach those of a call."""
        if relation.called:
            return cls((relation,))
        columns = tuple(Column(relation.ordinal, index) for index in range(len(relation.table.columns)))
        return cls((relation,), columns)

    def __add__(self, other: Scope) -> Scope:
        return Scope(self.relations + other.relations, self.output + other.output, self.hidden + other.hidden)

    @cached_property
    def _by_ordinal(self) -> dict[int, Relation]:
        return {relation.ordinal: relation for relation in reversed(self.relations)}

    def relation(self, ordinal: int) -> Relation:
        """The relation of that ordinal."""
        return self._by_ordinal[ordinal]

    def field(self, column: Column) -> Field:
        """What the table declares about a column."""
        return self.relation(column.alias).table.columns[column.index]

    def named(self, name: str) -> list[Column]:
        """The columns an unqualified name can mean."""
        return [column for column in self.output if self.field(column).name.lower() == name.lower()]

    def describe(self, column: Column) -> str:
        """`alias.column`, as messages name it."""
        return f"{self.relation(column.alias).alias}.{self.field(column).name}"

    def star(self, qualifier: Sequence[str] | None = None) -> list[Column]:
        """What `*` or `alias.*` stands for, in Spark's order; empty when the qualifier names nothing."""
        if qualifier is None:
            return list(self.output)
        ordinals = {relation.ordinal for relation in self.relations if relation.answers_to(qualifier)}
        return [column for column in self.hidden + self.output if column.alias in ordinals]


class Reference(Struct, frozen=True):
    """A resolved column reference: `used` identifiers named the column, whatever follows reads its fields."""

    column: Column
    qualifiers: int  # how many identifiers stand before the column's own
    parts: tuple[Node, ...]

    @property
    def has_fields(self) -> bool:
        """Whether fields of the column are read (`alias.column.field`)."""
        return len(self.parts) > self.qualifiers + 1

    @property
    def name(self) -> str:
        """The name as written, which is what Spark calls the result column."""
        return self.parts[-1].name


def find_table(
    statement: Statement, node: Node, catalog: Catalog, span: Span, *, drafts: bool = False
) -> Table:
    """The one table a name of the FROM clause means; `drafts`: also one that nothing can be asked of yet.

    Raises:
        QueryError: no such table, or several, or a draft.
    """
    parts = [part.name for part in parts_of(node)]
    tables = catalog.find(parts)
    name = ".".join(parts)
    if len(tables) == 1:
        if tables[0].unfinished and not drafts:
            hint = f"{tables[0].unfinished}\n  then take `unfinished` out of its spec"
            raise statement.error(f"table {name} is a draft, and cannot be asked yet", span, hint=hint)
        return tables[0]
    elsewhere = _elsewhere(catalog)
    if tables:
        names = ", ".join(sorted(qualified(table.source, table.name) for table in tables))
        # Of the bundled tables alone none may be the one that is meant.
        own = catalog.own_tables()
        known = elsewhere if not any(table in own for table in tables) else ""
        hint = "\n  ".join(filter(None, ("write source.table", known)))
        raise statement.error(f"table {name} is ambiguous: {names}", span, hint=hint)
    if len(parts) > 1 and catalog.find([name], offered=False):
        raise statement.error(
            f"unknown table {name}", span, hint=f"a file's name stands in quotation marks: FROM '{name}'"
        )
    if not catalog.local_files and _means_file(parts):
        raise statement.error(f"unknown table {name}: no files are read here", span, hint=_FILES_HINT)
    close = [qualified(*one.split(".", 1)) for one in catalog.suggest(name) or catalog.suggest(parts[-1])]
    absent = _absent(parts, catalog)
    if absent is not None and (
        len(parts) > 1 or not name.isidentifier()
    ):  # so a file is called, and no table
        if "\\" in statement.sql[span.start : span.end]:
            absent += "\n  a backslash makes the next character another: write / or \\\\"
        raise statement.error(f"unknown table {name}", span, hint=absent)
    hint = f"did you mean {' or '.join(close)}?" if close else absent or _WHERE_TABLES_COME_FROM
    if elsewhere:
        hint = f"{hint}\n  {elsewhere}" if close else elsewhere
    raise statement.error(f"unknown table {name}", span, hint=hint)


def _means_file(parts: Sequence[str]) -> bool:
    """Whether a name that is no table's would be a file's, or what is piped in, where files are read."""
    return parts[0].lower() in _FILES or (len(parts) == 1 and re.search(r"[./*]", parts[0]) is not None)


def _elsewhere(catalog: Catalog) -> str:
    """Where a table may be that is not in the catalog; empty where no file is known."""
    unread = catalog.unread()
    if not unread:
        return ""
    files = " and ".join(unread[:3]) + (" and others" if len(unread) > 3 else "")
    return f"{files} in this folder may have it, and nothing reads it: -s {unread[0]}"


def is_call(table: Table | None, alias: str) -> bool:
    """Whether a function's table was put into FROM for a call: its alias is then the text of the call."""
    return table is not None and table.function and "(" in alias


def has_generator(node: Node) -> bool:
    """Whether a function in an expression makes rows."""
    return any(makes_rows(part) for part in node.walk())


def is_inline_outer(node: Node) -> bool:
    """Whether a function is `inline_outer`, which the parser does not know."""
    return (
        isinstance(node, exp.Anonymous) and node.name.lower() == "inline_outer" and len(node.expressions) == 1
    )


def is_generated(name: str, select: Node) -> bool:
    """Whether a name, lower case, may be one that Spark gives to a column of a SELECT that has none of its own."""
    group = select.args.get("group")
    called = group.find_all(exp.Anonymous) if group is not None else ()
    if name in {"window", "session_window"} and any(one.name.lower() == name for one in called):
        return True
    for item in select.expressions:
        if isinstance(item, exp.Alias | exp.Aliases | exp.Column | exp.Star):
            continue
        bare = item.unnest()
        words = isinstance(bare, exp.Literal | exp.Null | exp.Boolean)
        if not _PLAIN_NAME.fullmatch(name) or (words and bare.sql("spark").strip("'").lower() == name):
            return True
        if makes_rows(item):
            return True
    return False


def is_cast(name: str, select: Node) -> bool:
    """Whether a column of a SELECT may have a name, lower case, from a column that is cast."""
    for item in select.expressions:
        bare = item.unnest()
        if isinstance(bare, exp.Cast) or (isinstance(bare, exp.Anonymous) and bare.name.lower() in _CASTS):
            kept = bare.expressions[0].unnest() if bare.expressions else bare.this.unnest()
            if isinstance(kept, exp.Column) and kept.name.lower() == name:
                return True
    return False


def parts_of(node: Node) -> tuple[Node, ...]:
    """The identifiers of the name of a column or a table, outermost first."""
    named = (node.args.get("catalog"), node.args.get("db"), node.args.get("table"), node.this)
    return tuple(part for part in named if part is not None)


class NamedRelation(Protocol):
    """What stands in FROM under a name."""

    def answers_to(self, qualifier: Sequence[str]) -> bool:
        """Whether it is meant by a qualifier, lower case."""


def made_names(items: Iterable[Node]) -> dict[str, list[list[str]]]:
    """The names of a select list's entries, lower case, each with what stands before it: nothing where it is given, `st` before `k` in `st.k`, and before a star."""
    made: dict[str, list[list[str]]] = {}
    for item in items:
        if item.alias:
            made.setdefault(item.alias.lower(), []).append([])
        elif isinstance(item, exp.Column):
            *qualifier, name = (part.name.lower() for part in parts_of(item))
            if qualifier:
                made.setdefault(name, []).append(qualifier)
    return made


def is_made(
    name: str, made: Mapping[str, Sequence[Sequence[str]]], sources: Collection[NamedRelation]
) -> bool:
    """Whether such a name is no source's: it is given, or that of a field, before which no name of a source stands.

    A star of a struct may make any.
    """
    return any(
        not qualifier or not any(source.answers_to(qualifier) for source in sources)
        for qualifier in (*made.get(name, ()), *made.get("*", ()))
    )


def struct_fields(kind: pa.DataType, path: Iterable[str] = ()) -> frozenset[str]:
    """The names, lower case, of the columns that a star behind a struct makes, or behind what names of fields lead to."""
    for name in path:
        inner = {one.name.lower(): one.type for one in kind} if pa.types.is_struct(kind) else {}
        kind = inner.get(name.lower(), pa.null())
    return frozenset(one.name.lower() for one in kind) if pa.types.is_struct(kind) else frozenset()


def starred(node: Node) -> Node:
    """What stands before a star, as a column."""
    parts = (one.copy() for one in reversed(parts_of(node)[:-1]))
    return exp.Column(**dict(zip(("this", "table", "db", "catalog"), parts, strict=False)))


def not_taken(alias: str, taken: Collection[str]) -> str:
    """An alias, with a number behind it where one in lower case is among those taken."""
    name, number = alias, 1
    while name.lower() in taken:
        number += 1
        name = f"{alias} #{number}"
    return name


def is_free(name: str, node: Node) -> bool:
    """Whether a name at the place of a node is not that of a variable of a function around it, as `x` in `x -> x + 1` is."""
    lower, at = name.lower(), node.parent
    while at is not None:
        if isinstance(at, exp.Lambda) and any(one.name.lower() == lower for one in at.expressions):
            return False
        at = at.parent
    return True


def qualifier_of(star: Node) -> list[str]:
    """What stands before a star, lower case; nothing for a star by itself."""
    return [part.name.lower() for part in parts_of(star)[:-1]]


def resolve(statement: Statement, node: Node, scope: Scope) -> Reference:
    """The column a reference means.

    Raises:
        QueryError: unknown or ambiguous column or alias.
    """
    parts = parts_of(node)
    reference = try_resolve(statement, node, scope)
    if reference is not None:
        return reference
    names = [part.name for part in parts]
    place = reference_span(node)
    for depth in (2, 1):
        relation = next((one for one in scope.relations if one.answers_to(names[:depth])), None)
        if relation is not None and len(names) > depth:
            known = {field.name.lower(): qualified(field.name) for field in relation.table.columns}
            hint = (
                _suggest(names[depth], known)
                or f"{qualified(relation.alias)} has {listed(list(known.values()))}"
            )
            raise statement.error(
                f"unknown column {names[depth]} of {relation.table.full_name}",
                identifier_span(parts[depth]) or place,
                hint=hint,
            )
    if len(names) > 1:
        aliases = {relation.alias.lower(): qualified(relation.alias) for relation in scope.relations}
        hint = _suggest(names[0], aliases) or f"in reach here: {listed(list(aliases.values()))}"
        raise statement.error(
            f"unknown table or alias {names[0]}", identifier_span(parts[0]) or place, hint=hint
        )
    columns = [(scope.relation(column.alias).alias, scope.field(column).name) for column in scope.output]
    known = {name.lower(): qualified(alias, name) for alias, name in columns}
    hint = (
        _suggest(names[0], known)
        or f"tables in reach here: {listed([qualified(one.alias) for one in scope.relations])}"
    )
    if len(scope.relations) == 1 and not hint.startswith("did"):
        hint = f"{qualified(scope.relations[0].alias)} has {listed([name for _, name in columns])}; a text is written '{names[0]}'"
    raise statement.error(f"unknown column {names[0]}", place, hint=hint)


def try_resolve(statement: Statement, node: Node, scope: Scope) -> Reference | None:
    """The column a reference means, or None; the longest qualifier wins, as in Spark.

    Raises:
        QueryError: the name is ambiguous.
    """
    parts = parts_of(node)
    names = [part.name for part in parts]
    for depth in (2, 1):
        if len(names) <= depth:
            continue
        relations = [relation for relation in scope.relations if relation.answers_to(names[:depth])]
        for relation in relations:
            index = _index(relation.table, names[depth])
            if index is not None:
                return Reference(Column(relation.ordinal, index), depth, parts)
    columns = scope.named(names[0])
    if len(columns) > 1:
        options = ", ".join(scope.describe(column) for column in columns)
        raise statement.error(
            f"column {names[0]} is ambiguous: {options}",
            reference_span(node),
            hint="write the alias before it",
        )
    return Reference(columns[0], 0, parts) if columns else None


def reference_span(node: Node) -> Span | None:
    """Where a column reference stands, from its first to its last identifier."""
    spans = [span for part in parts_of(node) if (span := identifier_span(part)) is not None]
    return Span(spans[0].start, spans[-1].end) if spans else None


def star_tokens(statement: Statement, node: Node) -> tuple[int, int]:
    """The first token of a star, its qualifier included, and the one behind it and its EXCEPT (…)."""
    star = node.this if isinstance(node, exp.Column) else node
    own = identifier_span(star)
    first = identifier_span(parts_of(node)[0]) if isinstance(node, exp.Column) else own
    assert own is not None
    assert first is not None
    end = statement.token_at(own.end - 1) + 1
    if arg(star, "except"):
        while statement.tokens[end].token_type is not TokenType.L_PAREN:
            end += 1
        end = statement.closing(end) + 1
    return statement.token_at(first.start), end


def _index(table: Table, name: str) -> int | None:
    lower = name.lower()
    return next((index for index, field in enumerate(table.columns) if field.name.lower() == lower), None)


def _suggest(name: str, known: dict[str, str]) -> str | None:
    close = difflib.get_close_matches(name.lower(), known, n=2)
    return f"did you mean {' or '.join(known[hit] for hit in close)}?" if close else None


def listed(names: Sequence[str], most: int = 12) -> str:
    """The names there are, or the first of them."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "") if names else "none"


def _absent(parts: Sequence[str], catalog: Catalog) -> str | None:
    """What sources that know names by themselves say of one that means nothing to them but looks as if it could."""
    asked = catalog.asked(parts[0].lower() if len(parts) > 1 else None)
    name = ".".join(parts[len(parts) > 1 :])
    return next(filter(None, (one.absent(name) for one in asked if isinstance(one, Naming))), None)
