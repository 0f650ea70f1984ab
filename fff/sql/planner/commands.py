"""SHOW, DESCRIBE and EXPLAIN: answered from the catalog and by the planner, with the columns that Spark gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal as OneOf

from fff.catalog import Catalog, Table
from fff.dataflow.plan.expressions import Literal
from fff.errors import QueryError, Span, UnsupportedSQL
from fff.schema import Field
from fff.sql.binder.names import find_table, listed
from fff.sql.plan import Branch, BranchUnion, Prepared
from fff.sql.planner.explain import explain
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Token, TokenType, exp, qualified, tokenize
from fff.structs import Struct, field, replace

_NOTHING = "SELECT 1"
_SOURCES = frozenset({"DATABASES", "SCHEMAS", "NAMESPACES"})
_WHOSE = {
    "ALL": (),
    "SYSTEM": ("system",),
    "USER": ("user",),
}  # functions; Spark's own, or those of specs and programs
_HOW = frozenset({"EXTENDED", "FORMATTED", "COST"})
#: What a query begins with, and no name.
_OPENERS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN})
#: What else DESCRIBE describes.
_NO_TABLES = frozenset({"FUNCTION", "DATABASE", "SCHEMA", "NAMESPACE", "CATALOG", "PROCEDURE"})
#: What Spark tells of one column with EXTENDED, of tables that nobody has analyzed.
_STATISTICS = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "histogram")
_COLUMNS = {"col_name": "string", "data_type": "string", "comment": "string"}


class AskedFor(Struct, frozen=True):
    """A command: what of, if of something; `sql` is what is explained or described, and stands at `start` of the text."""

    asks: OneOf["tables", "columns", "sources", "functions", "describe", "query", "explain"]
    name: tuple[str, ...] = ()
    like: str | None = None
    sql: str = field(default=_NOTHING)
    start: int = 0
    column: tuple[str, ...] = ()  # of what is described
    extended: bool = False

    @property
    def query(self) -> str:
        """The query that tells what the command reads."""
        if self.asks in {"columns", "describe"}:
            return f"TABLE {qualified(*self.name)}"
        if self.asks == "tables" and self.name:  # what no source has: whoever may have it is asked
            return f"TABLE {qualified(*self.name[-1:], '*')}"
        return self.sql


@lru_cache(maxsize=8)
def command_of(text: str) -> AskedFor | None:
    """The command that a text is; None where it is another statement."""
    try:
        tokens = _words(text)
    except QueryError:  # whoever parses it tells
        return None
    if not tokens:
        return None
    first, *rest = tokens
    word = first.text.upper()
    if word == "EXPLAIN":
        how = len(rest) > 1 and rest[0].text.upper() in _HOW
        start = rest[how].start if rest else len(text)
        return AskedFor("explain", sql=text[start:], start=start)
    if word in {"DESCRIBE", "DESC"} and len(rest) > 1:
        said = rest[0].text.upper() == "QUERY" and not _is_dot(rest[1])
        if said or rest[0].token_type in _OPENERS:
            start = rest[said].start
            return AskedFor("query", sql=text[start:], start=start)
    if word in {"DESCRIBE", "DESC"}:
        extended = False
        for skipped in ({"TABLE"}, {"EXTENDED", "FORMATTED"}):
            extended = len(rest) > 1 and rest[0].text.upper() in skipped and not _is_dot(rest[1])
            rest = rest[extended:]
        name, behind = _name(rest, files=True)
        place = behind[0].start if behind else 0
        column, behind = _name(behind)
        if not name or behind or (column and name[0].upper() in _NO_TABLES):
            return None
        return AskedFor("describe", name, start=place, column=column, extended=extended)
    return _shown(rest) if word == "SHOW" else None


def _shown(tokens: Sequence[Token]) -> AskedFor | None:
    """What SHOW shows."""
    if not tokens:
        return None
    what, rest = tokens[0].text.upper(), list(tokens[1:])
    if what in _SOURCES:
        asked = AskedFor("sources")
    elif what == "FUNCTIONS":
        asked = AskedFor("functions")
    elif what in _WHOSE and rest and rest[0].text.upper() == "FUNCTIONS":
        asked, rest = AskedFor("functions", _WHOSE[what]), rest[1:]
    elif what in {"TABLES", "COLUMNS"}:
        name: tuple[str, ...] = ()
        for _ in range(2 if what == "COLUMNS" else 1):  # SHOW COLUMNS IN t IN source
            if rest and rest[0].text.upper() in {"IN", "FROM"}:
                one, rest = _name(rest[1:], files=what == "COLUMNS")
                if not one:
                    return None
                name = one + name
        asked = AskedFor("columns" if what == "COLUMNS" else "tables", name)
        if what == "COLUMNS" and not name:
            return None
    else:
        return None
    if rest and what != "COLUMNS":
        rest = rest[1:] if rest[0].text.upper() == "LIKE" else rest
        if not rest or rest[0].token_type is not TokenType.STRING:
            return None
        asked, rest = replace(asked, like=rest[0].text), rest[1:]
    return None if rest else asked


def _words(text: str) -> list[Token]:
    """The tokens of a text; those of what the tokenizer takes for one string behind the first word of a command, too."""
    tokens = list(tokenize(text))
    if tokens and tokens[0].token_type in {TokenType.SHOW, TokenType.COMMAND}:
        begin = tokens[0].end + 1
        # Blanks keep the places: what stands behind the first word is read where it stands.
        tokens = [tokens[0], *tokenize(" " * begin + text[begin:])]
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return tokens


def _is_dot(token: Token) -> bool:
    return token.token_type is TokenType.DOT


def _name(tokens: Sequence[Token], *, files: bool = False) -> tuple[tuple[str, ...], list[Token]]:
    """The parts of the name that tokens begin with, and the tokens behind it; `files`: also one in quotation marks."""
    if files and tokens and tokens[0].token_type is TokenType.STRING:
        return (tokens[0].text,), list(tokens[1:])
    parts: list[str] = []
    at = 0
    while at < len(tokens) and not _is_dot(tokens[at]) and tokens[at].token_type is not TokenType.STRING:
        parts.append(tokens[at].text)
        at += 1
        if at == len(tokens) or not _is_dot(tokens[at]):
            break
        at += 1
    return tuple(parts), list(tokens[at:])


def query_of(sql: str) -> str:
    """The query that tells what a statement reads: itself, or that of a command."""
    asked = command_of(sql)
    return sql if asked is None else asked.query


def command(sql: str, catalog: Catalog, prepare: Callable[[str], Prepared]) -> Prepared | None:
    """The rows that a command gives; None for any other statement. `prepare` plans what is to be explained.

    Raises QueryError, and what `prepare` raises.
    """
    asked = command_of(sql)
    if asked is None:
        return None
    if asked.asks in {"explain", "query"}:
        try:
            planned = prepare(asked.sql)
        except QueryError as error:
            if error.sql == asked.sql and error.span is not None:
                places = (error.span.start + asked.start, error.span.end + asked.start)
                error.sql, error.span = sql, Span(*places)
            raise
        if asked.asks == "explain":
            return _rows(sql, {"plan": "string"}, [(explain(planned),)])
        if planned.result is None:
            raise UnsupportedSQL(
                "DESCRIBE QUERY is not supported here: what types these columns have, only Spark can tell",
                sql=sql,
                span=Span(asked.start, len(sql)),
                hint="describe(…) of a connection in Python asks Spark for their types",
            )
        return _rows(sql, _COLUMNS, [(one.name, one.type, None) for one in planned.result.fields])
    if asked.asks == "functions":
        return _functions(sql, asked, catalog)
    if asked.asks in {"tables", "sources"}:
        return _listed(sql, asked, catalog)
    statement = parse_statement(asked.query)
    node = statement.tree.find(exp.Table)
    assert node is not None, "a table is named"
    try:
        table = find_table(statement, node, catalog, Span(0, 0), drafts=True)
    except QueryError as error:
        error.sql, error.span = None, None  # of a text that nobody wrote
        raise
    if asked.asks == "columns":
        return _rows(sql, {"col_name": "string"}, [(one.name,) for one in table.columns])
    if asked.column:
        return _column(sql, asked, table)
    columns = [(one.name, one.type, None) for one in table.columns]
    return _rows(sql, _COLUMNS, columns)


def _column(sql: str, asked: AskedFor, table: Table) -> Prepared:
    """What DESCRIBE tells of one column. Raises QueryError where the table has none of that name."""
    *owner, name = asked.column
    own = [part.lower() for part in (table.source, table.name)]
    known = {one.name.lower(): one for one in table.columns}
    if name.lower() not in known or [part.lower() for part in owner] not in ([], own[1:], own):
        raise QueryError(
            f"unknown column {'.'.join(asked.column)} of {table.full_name}",
            sql=sql,
            span=Span(asked.start, len(sql.rstrip("; \n"))),
            hint=f"it has {listed([one.name for one in table.columns])}",
        )
    told = {"col_name": name, "data_type": known[name.lower()].type, "comment": "NULL"}
    told |= dict.fromkeys(_STATISTICS if asked.extended else (), "NULL")
    return _rows(sql, {"info_name": "string", "info_value": "string"}, list(told.items()))


def _listed(sql: str, asked: AskedFor, catalog: Catalog) -> Prepared:
    """The tables, or the sources, that match a pattern."""
    tables = [table for table in catalog.tables() if not table.function]
    if asked.asks == "sources":
        sources = dict.fromkeys([*(one.source for one in tables), *(one.name for one in catalog.unlisted())])
        return _rows(
            sql, {"namespace": "string"}, [(one,) for one in sources if _matches(one.lower(), asked.like)]
        )
    named = ".".join(asked.name).lower()
    unknown = tuple(
        f"which tables {one.name} has is not known yet"
        for one in catalog.unlisted()
        if named in ("", one.name.lower())
    )
    if named and catalog.source(named) is None:
        unknown = (f"no source is called {named}; SHOW SCHEMAS has those there are",)
    rows = [
        (table.source, table.name, False)
        for table in tables
        if named in ("", table.source.lower())
        if _matches(table.name.lower(), asked.like)
    ]
    return _rows(sql, {"namespace": "string", "tableName": "string", "isTemporary": "boolean"}, rows, unknown)


def _functions(sql: str, found: AskedFor, catalog: Catalog) -> Prepared:
    """The functions of Spark, and those of specs and programs under their full names, that match a pattern."""
    named = [] if found.name == ("user",) else [(name, name) for name in SPARK_FUNCTIONS]
    if found.name != ("system",):
        named += [(one.name.lower(), one.full_name) for one in catalog.tables() if one.function]
    rows = sorted((full,) for name, full in named if _matches(name, found.like))
    return _rows(sql, {"function": "string"}, rows)


def _matches(name: str, like: str | None) -> bool:
    """Whether a name matches a pattern of SHOW TABLES: `*` for anything, `|` for or."""
    return like is None or any(fnmatchcase(name, one) for one in like.lower().split("|"))


def _rows(
    sql: str, types: dict[str, str], rows: Sequence[Sequence[object]], warnings: tuple[str, ...] = ()
) -> Prepared:
    fields = tuple(Field.of(name, kind) for name, kind in types.items())
    place = Span(0, len(sql))
    branches = tuple(
        Branch(
            None,
            tuple(Literal(value, field.arrow) for value, field in zip(row, fields, strict=True)),
            (place,) * len(fields),
        )
        for row in rows
    )
    return Prepared(sql, (), result=BranchUnion(fields, branches), warnings=warnings)
