"""What a spec may say of an OData source, and what is wrong with this one."""

from __future__ import annotations

from typing import Annotated, Literal

from fff.errors import SpecError
from fff_sources.adapter import SourceContext
from fff_sources.http.spec import common, spec
from fff_sources.http.spec.check import read_as
from fff_sources.odata.edm import edm_of


class ODataColumn(spec.ColumnSpec):
    """A property declared by hand; `path` is where it is in an entity, `edm` its OData type."""

    edm: str | None = None


class ODataBatch(spec.Spec):
    """Several keys in one `$filter`: `x eq … or x eq …`, or `x in (…)` for services of 4.01."""

    size: spec.BatchSize
    operator: Literal["in", "or"] = "or"


class Paging(spec.Spec):
    """How the pages of a scan follow one another, and what requests say.

    `pushdown`: conditions as well as keys.
    """

    page_size: spec.PageSize | None = None
    paging: Literal["next_link", "skip"] = "next_link"
    count: bool = True
    batch: ODataBatch | None = None
    pushdown: bool = True


class ODataTable(Paging, common.DiscoveredTableSpec):
    """An entity set. Whatever is left out is the source's, or comes from $metadata."""

    entity_set: str | None = None
    primary_key: tuple[str, ...] = ()
    columns: dict[str, Annotated[ODataColumn, spec.short_for("type")]] | None = None
    filter: str | None = None
    lookups: tuple[str, ...] | None = None


class ODataSpec(Paging, common.SourceSpec):
    """A whole source of type `odata`."""

    type: Literal["odata"]
    tables: dict[str, ODataTable] | None = None


def read_odata(context: SourceContext) -> tuple[ODataSpec | None, list[SpecError]]:
    """The spec of one source, and everything that is wrong with it."""
    name, document = context.name, context.document
    declared, errors = read_as(ODataSpec, name, document)
    if declared is None:
        return None, errors
    base = ("sources", name)
    if declared.paging == "skip" and declared.page_size is None:
        errors.append(document.error((*base, "paging"), "skip needs a page_size"))
    for table, part in (declared.tables or {}).items():
        here = (*base, "tables", table)
        errors += [
            document.error(here, f"{key!r} is not a column")
            for key in (*part.primary_key, *(part.lookups or ()))
            if part.columns is not None and key not in part.columns
        ]
        for column, one in (part.columns or {}).items():
            if one.edm is not None and not one.edm.startswith("Edm."):
                problem = f"{one.edm!r} is no primitive type of OData"
                errors.append(
                    document.error(
                        (*here, "columns", column, "edm"), problem, hint=f"such as {edm_of('string')}"
                    )
                )
    return declared, errors
