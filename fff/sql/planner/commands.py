"""SHOW TABLES, DESCRIBE and EXPLAIN: answered from the catalog and by the planner, with the columns that Spark gives them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from fff.catalog import Catalog
from fff.dataflow.plan.expressions import Literal
from fff.errors import QueryError, Span
from fff.schema import Field
from fff.sql.binder.names import find_table
from fff.sql.planner.explain import explain
from fff.sql.planner.plan import Branch, BranchUnion, Prepared
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import exp

# The tokenizer takes what stands behind the first word of a command for one string.
_NAME = r"(?:`[^`]*`|\w+)"
_SHOW = re.compile(
    rf"\s*SHOW\s+TABLES(?:\s+(?:IN|FROM)\s+(?P<source>{_NAME}))?(?:\s+(?:LIKE\s+)?'(?P<like>[^']*)')?[\s;]*",
    re.IGNORECASE,
)
_DESCRIBE = re.compile(
    rf"\s*DESC(?:RIBE)?\s+(?:TABLE\s+)?(?:EXTENDED\s+|FORMATTED\s+)?(?P<table>{_NAME}(?:\s*\.\s*{_NAME})*)[\s;]*",
    re.IGNORECASE,
)
_EXPLAIN = re.compile(
    r"\s*EXPLAIN\b(?!\s+(?:EXTENDED|FORMATTED|CODEGEN|COST|ANALYZE|LOGICAL)\b)(?P<sql>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NOTHING = "SELECT 1"


def query_of(sql: str) -> str:
    """The query that tells what a statement reads: itself, or that of a command."""
    if found := _EXPLAIN.fullmatch(sql):
        return found["sql"]
    if found := _DESCRIBE.fullmatch(sql):
        return f"TABLE {found['table']}"
    return _NOTHING if _SHOW.fullmatch(sql) else sql


def command(sql: str, catalog: Catalog, prepare: Callable[[str], Prepared]) -> Prepared | None:
    """The rows that a command gives; None for any other statement. `prepare` plans what is to be explained.

    Raises QueryError, and what `prepare` raises.
    """
    if found := _SHOW.fullmatch(sql):
        tables = [
            table
            for table in catalog.tables()
            if not table.function
            if found["source"] is None or table.source.lower() == found["source"].strip("`").lower()
            if _matches(table.name.lower(), found["like"])
        ]
        unknown = tuple(f"which tables {one.name} has is not known yet" for one in catalog.unlisted())
        rows = [(table.source, table.name, False) for table in tables]
        return _rows(
            sql, {"namespace": "string", "tableName": "string", "isTemporary": "boolean"}, rows, unknown
        )
    if _DESCRIBE.fullmatch(sql):
        statement = parse_statement(query_of(sql))
        node = statement.tree.find(exp.Table)
        assert node is not None, "a table is named"
        try:
            table = find_table(statement, node, catalog, Span(0, 0))
        except QueryError as error:
            error.sql, error.span = None, None  # of a text that nobody wrote
            raise
        columns = [(one.name, one.type, None) for one in table.columns]
        return _rows(sql, {"col_name": "string", "data_type": "string", "comment": "string"}, columns)
    if found := _EXPLAIN.fullmatch(sql):
        try:
            planned = prepare(found["sql"])
        except QueryError as error:
            if error.sql == found["sql"] and error.span is not None:
                before = found.start("sql")
                error.sql, error.span = sql, Span(error.span.start + before, error.span.end + before)
            raise
        return _rows(sql, {"plan": "string"}, [(explain(planned),)])
    return None


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
