"""Functions behind an API: each a table that is looked up by its arguments and has one row, or none, for each.

functions:
  geocode:
    arguments: {address: string}
    returns: {type: double, path: lat}
    endpoint: {path: geocode, params: {q: "{address}"}, data_selector: results}
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

from fff.catalog import LookupMethod, Page
from fff.errors import SourceError, SpecError
from fff.schema import arrow_type, comparison_kind
from fff.sql.syntax.spark_functions import name_problem
from fff.structs import replace
from fff_sources.document import Document
from fff_sources.http.request.keys import SEPARATE, without_separator
from fff_sources.http.response.jsonpath import literal_path
from fff_sources.http.response.verdicts import ENVELOPED
from fff_sources.http.spec import spec
from fff_sources.http.tables import PlannedTable, placeholders, plan_table

#: No record has a member of this name: the argument of a call is what was asked for, not what an answer calls
#: so.
_NOWHERE = "__fff_argument_"


def planned_functions(
    source: str, functions: Mapping[str, spec.FunctionSpec], max_in_flight: int
) -> dict[str, PlannedTable]:
    """The functions of a source, by name."""
    return {name: _planned(source, name, part, max_in_flight) for name, part in functions.items()}


def _planned(source: str, name: str, declared: spec.FunctionSpec, max_in_flight: int) -> PlannedTable:
    from fff.functions.declared import value_name  # noqa: PLC0415 - few sources have any

    value = value_name(declared.arguments)
    table = spec.TableSpec(
        description=declared.description,
        columns={**declared.arguments, value: declared.returns},
        lookups=[
            spec.LookupSpec(keys=list(declared.arguments), endpoint=declared.endpoint, batch=declared.batch)
        ],
        on_status=declared.on_status,
        on_response=declared.on_response,
    )
    planned = plan_table(source, name, table, max_in_flight=max_in_flight, columns=None)
    paths = dict(planned.paths)
    if declared.batch is None:
        paths |= {argument: literal_path(_NOWHERE + argument) for argument in declared.arguments}
    return PlannedTable(replace(planned.table, function=True), table, paths)


async def single_values(
    pages: AsyncGenerator[Page], source: str, table: str, method: LookupMethod
) -> AsyncGenerator[Page]:
    """The values as they come. Raises SourceError for a second one of the same arguments."""
    seen: set[tuple[object, ...]] = set()
    async with contextlib.aclosing(pages):
        async for page in pages:
            columns = [page.rows.column(name).to_pylist() for name in method.keys]
            for key in zip(*columns, strict=True):
                if key in seen:
                    shown = ", ".join(map(repr, key))
                    raise SourceError(
                        f"the answer has several values for {shown}",
                        source=source,
                        table=table,
                        hint="have the function's data_selector choose one record",
                    )
                seen.add(key)
            yield page


def function_problems(
    source: str, functions: Mapping[str, spec.FunctionSpec], document: Document, tables: Collection[str] = ()
) -> list[SpecError]:
    """What is wrong with the functions of a spec, beside its tables, although every part of them is well-formed."""
    errors: list[SpecError] = []
    taken = {name.lower() for name in tables}
    for name, part in functions.items():
        base = ("sources", source, "functions", name)
        problem = name_problem(name)
        if problem is not None:
            errors.append(document.error(base, problem, hint="give the function another name"))
        if name.lower() in taken:
            errors.append(document.error(base, "another table or function of the source is called so"))
        taken.add(name.lower())
        errors += _argument_problems(base, part.arguments, document)
        if part.on_response and part.endpoint.format not in ENVELOPED:
            message = f"reads JSON or XML, but format is {part.endpoint.format}"
            errors.append(document.error((*base, "on_response"), message))
        if part.endpoint.path is None:
            errors.append(document.error((*base, "endpoint", "path"), "is missing"))
        errors += [
            document.error(
                (*base, "endpoint"),
                f"nothing fills {{{unknown}}}",
                hint=f"arguments: {', '.join(part.arguments)}",
            )
            for unknown in sorted(placeholders(part.endpoint) - set(part.arguments))
        ]
        if part.batch is not None and len(part.arguments) > 1:
            errors.append(document.error((*base, "batch"), "a batch takes a function of one argument"))
        elif wrong := without_separator(part.batch, part.endpoint, next(iter(part.arguments))):
            errors.append(document.error((*base, "batch"), wrong, hint=SEPARATE))
    return errors


def _argument_problems(
    base: Sequence[str], arguments: Mapping[str, spec.ColumnSpec], document: Document
) -> list[SpecError]:
    errors = []
    for name, column in arguments.items():
        if comparison_kind(arrow_type(column.type)) is None:
            hint = "arguments are numbers, strings, Booleans, dates and timestamps"
            errors.append(
                document.error((*base, "arguments", name), f"cannot be of type {column.type}", hint=hint)
            )
    if len({name.lower() for name in arguments}) < len(arguments):
        errors.append(document.error((*base, "arguments"), "two differ only in case"))
    return errors
