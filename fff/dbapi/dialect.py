"""SQLAlchemy's `fff://` URLs: tables are read, described and reflected, never written.

The only importer of sqlalchemy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import types
from sqlalchemy.engine import default
from sqlalchemy.exc import ArgumentError, NoSuchTableError
from sqlalchemy.sql import compiler

from fff.options import ConnectOptions
from fff.sql.syntax.parameters.param_types import boolean_of
from fff.structs import lazy_pattern

if TYPE_CHECKING:
    from fff.catalog import Table

_TYPES: dict[str, Any] = {
    "boolean": types.Boolean,
    "tinyint": types.SmallInteger,
    "smallint": types.SmallInteger,
    "int": types.Integer,
    "bigint": types.BigInteger,
    "float": types.REAL,
    "double": types.Double,
    "string": types.String,
    "binary": types.LargeBinary,
    "date": types.Date,
    "timestamp_ntz": types.DateTime,
    "time": types.Time,
    "void": types.NullType,
}
_DECIMAL = lazy_pattern(r"decimal\((\d+),(\d+)\)")


#: What a URL may say behind its `?`, and how each is read.
_OPTIONS: dict[str, Callable[[str], object]] = {
    "policy": str,
    "prefer": str,
    "seed": int,
    "deadline": float,
    "max_requests": int,
    "budget": str,
    "memory_limit": str,
    "on_source_error": str,
    "spark_master": str,
    "spark_remote": str,
    "keep": boolean_of,
    "cache": boolean_of,
    "cache_ttl": float,
    "local_files": boolean_of,
}
assert _OPTIONS.keys() == ConnectOptions.__annotations__.keys()


class SparkNames(compiler.IdentifierPreparer):  # type: ignore[misc]  # sqlalchemy is not type-checked
    """Names in backticks, where they need any."""

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`")


class SparkTypes(compiler.GenericTypeCompiler):  # type: ignore[misc]  # sqlalchemy is not type-checked
    """Types as CAST has them in Spark SQL."""

    def visit_string(self, _type: Any, **_: Any) -> str:
        """Text of any length."""
        return "STRING"

    visit_VARCHAR = visit_CHAR = visit_TEXT = visit_NVARCHAR = visit_text = visit_unicode = visit_string  # noqa: N815
    visit_unicode_text = visit_enum = visit_string

    def visit_BLOB(self, _type: Any, **_: Any) -> str:  # noqa: N802 - SQLAlchemy calls it so
        """Bytes."""
        return "BINARY"

    visit_large_binary = visit_BLOB

    def visit_DATETIME(self, _type: Any, **_: Any) -> str:  # noqa: N802 - SQLAlchemy calls it so
        """A moment."""
        return "TIMESTAMP"

    visit_datetime = visit_DATETIME

    def visit_FLOAT(self, _type: Any, **_: Any) -> str:  # noqa: N802 - SQLAlchemy calls it so
        """Numbers of Python are of 64 bits."""
        return "DOUBLE"

    visit_float = visit_double = visit_DOUBLE_PRECISION = visit_FLOAT  # noqa: N815


class SparkStatements(compiler.SQLCompiler):  # type: ignore[misc]  # sqlalchemy is not type-checked
    """Statements in Spark SQL."""

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """A value as SQL writes it; in texts a backslash means what follows it, so that it is written twice."""
        return str(super().render_literal_value(value, type_)).replace("\\", "\\\\")

    def limit_clause(self, select: Any, **options: Any) -> str:
        """LIMIT and OFFSET, each without the other if need be."""
        clauses = (("LIMIT", select._limit_clause), ("OFFSET", select._offset_clause))  # noqa: SLF001 - as its own
        return "".join(
            f"\n {word} {self.process(clause, **options)}" for word, clause in clauses if clause is not None
        )


class FFFDialect(default.DefaultDialect):  # type: ignore[misc]  # sqlalchemy is not type-checked
    """`fff:///path/of/spec.yaml?deadline=30`; `fff://` alone has the sources that the command line would use."""

    name = "fff"
    driver = "fff"
    default_paramstyle = "named"
    preparer = SparkNames
    statement_compiler = SparkStatements
    type_compiler_cls = SparkTypes
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_multivalues_insert = False
    div_is_floordiv = False  # 7 / 2 is 3.5
    supports_alter = False
    supports_comments = True
    supports_sane_rowcount = False
    postfetch_lastrowid = False
    insert_returning = False
    max_identifier_length = 255

    @classmethod
    def import_dbapi(cls) -> Any:
        """The module of PEP 249."""
        import fff.dbapi  # noqa: PLC0415 - as SQLAlchemy wants it

        return fff.dbapi

    def create_connect_args(self, url: Any) -> Any:
        """The sources and options that a URL says; raises ArgumentError for options that there are not."""
        query = dict(url.query)
        more = query.pop("sources", ())
        sources = [*([url.database] if url.database else []), *((more,) if isinstance(more, str) else more)]
        if unknown := query.keys() - _OPTIONS.keys():
            known = ", ".join(sorted(("sources", *_OPTIONS)))
            raise ArgumentError(f"an fff:// URL has no option {min(unknown)!r}; there are: {known}")
        options: dict[str, object] = {}
        for name, text in query.items():
            try:
                options[name] = _OPTIONS[name](text)
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"the option {name} of an fff:// URL cannot be {text!r}") from error
        return sources, options

    def do_ping(self, dbapi_connection: Any) -> bool:
        """A connection is good until it is closed; nothing is asked."""
        _ = dbapi_connection.federation
        return True

    def initialize(self, connection: Any) -> None:
        """Nothing is asked of a server: there is none."""

    def _tables(self, connection: Any, *, own: bool = False) -> list[Table]:
        federation = connection.connection.dbapi_connection.federation
        tables = federation.own_tables() if own else federation.tables()
        return [table for table in tables if not table.function]

    def _table(self, connection: Any, name: str, schema: str | None) -> Table:
        for table in self._tables(connection, own=schema is None) or self._tables(connection):
            if table.name.lower() == name.lower() and schema in (None, table.source):
                return table
        raise NoSuchTableError(name if schema is None else f"{schema}.{name}")

    def get_schema_names(self, connection: Any, **_: Any) -> list[str]:
        """The sources, one's own first."""
        return list(dict.fromkeys(table.source for table in self._tables(connection)))

    def get_table_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        """The tables of a source; without one, all that are not the bundled catalog's."""
        tables = self._tables(connection, own=schema is None)
        return list(dict.fromkeys(one.name for one in tables if schema in (None, one.source)))

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """Whether there is such a table."""
        try:
            self._table(connection, table_name, schema)
        except NoSuchTableError:
            return False
        return True

    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **_: Any
    ) -> list[dict[str, Any]]:
        """Columns and types; a source whose spec declares none is asked."""
        table = self._table(connection, table_name, schema)
        columns = table.columns
        if not columns:
            federation = connection.connection.dbapi_connection.federation
            columns = federation.describe(f"SELECT * FROM `{table.source}`.`{table.name}`")  # noqa: S608 - a name of the catalog's
        return [
            {"name": column.name, "type": _type(column.type), "nullable": True, "default": None}
            for column in columns
        ]

    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **_: Any
    ) -> dict[str, Any]:
        """The declared primary key."""
        key = self._table(connection, table_name, schema).primary_key
        return {"constrained_columns": list(key), "name": None}

    def get_table_comment(
        self, connection: Any, table_name: str, schema: str | None = None, **_: Any
    ) -> dict[str, Any]:
        """The description of a table."""
        return {"text": self._table(connection, table_name, schema).description or None}

    def _none(self, *_: Any, **__: Any) -> list[Any]:
        """What web tables have none of."""
        return []

    get_view_names = get_temp_table_names = get_temp_view_names = get_sequence_names = _none
    get_materialized_view_names = get_foreign_keys = get_indexes = _none
    get_unique_constraints = get_check_constraints = _none


def _type(name: str) -> Any:
    """SQLAlchemy's type for a type of Spark SQL; arrays, maps and structs come as Python has them."""
    if decimal := _DECIMAL.fullmatch(name):
        return types.Numeric(int(decimal[1]), int(decimal[2]))
    if name == "timestamp":
        return types.DateTime(timezone=True)
    return _TYPES.get(name.partition("(")[0], types.NullType)()
