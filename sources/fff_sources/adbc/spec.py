"""What a spec may say of a database, and what is wrong with this one."""

from __future__ import annotations

from typing import Annotated, Literal

from fff.errors import SpecError
from fff_sources.adapter import SourceContext
from fff_sources.http.spec import spec
from fff_sources.http.spec.check import read_as
from fff_sources.http.spec.model import Field
from fff_sources.http.spec.settings import misspelt_secrets


class AdbcTable(spec.Spec):
    """A table or view.

    `table` is its name in the database where that differs, `columns` are types in place of those found.
    """

    description: str = ""
    table: str | None = None
    namespace: Annotated[str | None, spec.named("schema")] = None
    columns: dict[str, spec.TypeName] | None = None


class AdbcSpec(spec.Spec):
    """A whole source of type `adbc`. Without `tables` it has all that the database has."""

    type: Literal["adbc"]
    description: str = ""
    driver: Literal["sqlite", "postgresql"]
    uri: str = Field(min_length=1)
    namespace: Annotated[str | None, spec.named("schema")] = None
    tables: dict[str, Annotated[AdbcTable, spec.short_for("table")]] | None = None
    batch_size: spec.BatchSize = 500
    max_concurrency: int = Field(default=4, ge=1, le=100)
    tests: tuple[str, ...] = ()


def read_adbc(context: SourceContext) -> tuple[AdbcSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    declared, problems = read_as(AdbcSpec, context.name, context.document)
    if declared is None:
        return None, problems
    here = ("sources", context.name)
    problems += misspelt_secrets(context)
    if declared.driver == "sqlite":
        named: list[tuple[tuple[str, ...], str | None]] = [(here, declared.namespace)]
        named += [((*here, "tables", name), part.namespace) for name, part in (declared.tables or {}).items()]
        problems += [
            context.document.error((*path, "schema"), "is of postgresql: a SQLite file has no schemas")
            for path, schema in named
            if schema is not None
        ]
    return declared, problems
