"""`fff source`: what the catalog holds, and whether a spec is right."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from fff.catalog import LookupMethod, ScanMethod
from fff.display.counts import counted
from fff.errors import SecretError, SourceError, UsageError
from fff_cli.output.console import is_terminal, output_screen
from fff_cli.output.files import Target
from fff_cli.output.formats import emit, emit_batch, emit_outline
from fff_cli.output.streams import choose_format
from fff_cli.output.values import pad, printable, width
from fff_cli.run.progress import say, say_error, say_words

if TYPE_CHECKING:
    from fff.catalog import Catalog, KeyColumn, Table


_LEGIBLE = 12  # terminal columns of a list, from which on it says something


def list_tables(sources: Sequence[Path], output: str | None, *, every: bool = False) -> int:
    """Print tables with their columns, key columns and access methods, in any result format; see `list_own`."""
    chosen = choose_format(output, None, terminal=is_terminal(sys.stdout))
    asyncio.run(_list(sources, chosen, every=every))
    return 0


async def _list(sources: Sequence[Path], chosen: str, *, every: bool) -> None:
    from fff_cli.run.federation import open_catalog  # noqa: PLC0415 - sources, only now

    async with open_catalog(sources) as catalog:
        await list_all(catalog)
        if every:
            write_listing(listing(catalog.tables()), chosen)
        else:
            list_own(catalog, chosen, "--all")


def search_tables(word: str, sources: Sequence[Path], output: str | None) -> int:
    """Print the tables and columns whose names or descriptions hold a word."""
    chosen = choose_format(output, None, terminal=is_terminal(sys.stdout))
    asyncio.run(_search(word, sources, chosen))
    return 0


async def _search(word: str, sources: Sequence[Path], chosen: str) -> None:
    from fff_cli.run.federation import open_catalog  # noqa: PLC0415 - sources, only now

    async with open_catalog(sources) as catalog:
        await list_all(catalog)
        matches = [row for table in catalog.tables() for row in _matching(word.casefold(), table)]
    if not matches:
        say(f"nothing is called like {word!r}: `fff source list --all` shows the tables there are")
    columns = [pa.array([row[index] for row in matches], pa.string()) for index in range(4)]
    names = ["table", "column", "type", "description"]
    emit_batch(pa.RecordBatch.from_arrays(columns, names), chosen)


def _matching(word: str, table: Table) -> Iterator[tuple[str, str | None, str | None, str]]:
    """The table where its name or description holds the word, and each column whose name does."""
    if word in table.full_name.casefold() or word in table.description.casefold():
        yield table.full_name, None, None, table.description
    for column in table.columns:
        if word in column.name.casefold():
            yield table.full_name, column.name, column.type, table.description


def list_own(catalog: Catalog, chosen: str, more: str, to: Target | None = None) -> None:
    """Write the tables there are; a terminal gets the user's own, where there are any, and the number of bundled ones.

    `more` says how to see those.
    """
    tables, own = list(catalog.tables()), catalog.own_tables()
    if not tables:
        say("no sources: name a spec with -s, or see `fff demo`")
    bundled = len(tables) - len(own) if own and chosen == "table" and output_screen() is not None else 0
    write_listing(listing(own if bundled else tables), chosen, to)
    if bundled:
        say(f"and {counted(bundled, 'bundled table')}: {more}")


def write_listing(rows: Sequence[tuple[str, ...]], chosen: str, to: Target | None = None) -> None:
    """Write rows of `listing` to standard output in a result format."""
    names = ["table", "columns", "key columns", "access", "description"]
    screen = output_screen()
    if chosen == "table" and screen is not None and screen.color:
        from fff_cli.output.drawing import DrawnColumn, cell, rendered, table  # noqa: PLC0415 - only a terminal pays for rich

        # Names whole, and of the rest as much as there is room for: `fff source show` tells all about a
        # table.
        shown = [
            DrawnColumn(
                name, [cell(printable(row[at])) for row in rows], False, rank, _LEGIBLE if at else None
            )
            for at, (name, rank) in enumerate(zip(names, (0, 4, 2, 3, 1), strict=True))
        ]
        emit(rendered(table(shown, screen.width, "bold")[0], screen.width), to)
        return
    columns = [pa.array([row[index] for row in rows], pa.string()) for index in range(len(names))]
    emit_batch(pa.RecordBatch.from_arrays(columns, [name.replace(" ", "_") for name in names]), chosen, to)


def show_table(name: str, sources: Sequence[Path]) -> int:
    """Print one table; raises UsageError when the name means none or several."""
    emit_outline(asyncio.run(_described(name, sources)))
    return 0


async def _described(name: str, sources: Sequence[Path]) -> list[str]:
    from fff_cli.run.federation import open_catalog  # noqa: PLC0415 - sources, only now

    async with open_catalog(sources) as catalog:
        await catalog.list_tables([name.split(".")])  # asks only sources that may have it
        await catalog.discover([find(catalog, name)])  # asks only where no columns are declared
        return described(find(catalog, name))


def lint_file(file: Path) -> int:
    """Print what is wrong with a spec, one mistake after the other; 2 when there is any."""
    code = lint_errors(file)
    if code == 0:
        emit(f"{file}: no mistakes found\n")
    return code


def lint_errors(file: Path, *, drafts: bool = False) -> int:
    """Tell what is wrong with a spec; 2 when there is any, else 0 and no word. `drafts`: tables may be some."""
    from fff_sources.load import lint, says_draft  # noqa: PLC0415

    errors = [error for error in lint(file) if not (drafts and says_draft(error))]
    for error in errors:
        say_error(error)
    return 2 if errors else 0


async def list_all(catalog: Catalog, name: str | None = None) -> None:
    """Have the sources that find out their tables by asking do so, or those that may have a table of a name.

    One that cannot be asked is told of, and left out.
    """
    for source in catalog.unlisted(None if name is None else [name.split(".")]):
        try:
            await catalog.list_source(source)
        except (SourceError, SecretError) as error:
            say_words(f"warning: {error.render()}")


def listing(tables: Iterable[Table]) -> list[tuple[str, ...]]:
    """One row for each table: name, columns, key columns, access methods, description."""
    return [
        (
            table.full_name,
            ", ".join(column.name for column in table.columns),
            ", ".join(key.name + ("*" if key.require == "required" else "") for key in table.key_columns),
            ", ".join(access_names(table)),
            table.description or (f"function: {called_as(table)}" if table.function else ""),
        )
        for table in tables
    ]


def called_as(table: Table) -> str:
    """How a function is called, and what type its value has."""
    arguments = ", ".join(f"{field.name} {field.type}" for field in table.columns[:-1])
    return f"{table.full_name}({arguments}) gives {table.columns[-1].type}"


def access_names(table: Table) -> list[str]:
    """The ways to reach a table's rows, briefly: scan, lookup[zip], lookup[zip by 50]."""
    if table.function:
        batch = max(method.batch_size for method in table.lookups)
        return [f"call by {batch}" if batch > 1 else "call"]
    lookups = [
        f"lookup[{','.join(method.keys)}{f' by {method.batch_size}' if method.batch_size > 1 else ''}]"
        for method in table.lookups
    ]
    return ["scan"] * len(table.scans) + lookups


def find(catalog: Catalog, name: str) -> Table:
    """The table a name means; raises UsageError with names that are close, or the several it can mean."""
    name = name.replace("`", "").strip("'")
    tables = catalog.find(name.split(".")) or catalog.find([name])  # a file's name has dots of its own
    if len(tables) == 1:
        return tables[0]
    if tables:
        raise UsageError(
            f"{name!r} is in several sources", hint="one of " + ", ".join(one.full_name for one in tables)
        )
    close = catalog.suggest(name)
    raise UsageError(
        f"there is no table {name!r}",
        hint=f"did you mean {' or '.join(close)}?"
        if close
        else "`fff source list` shows the tables there are",
    )


def described(table: Table) -> list[str]:
    """Everything the catalog knows about a table, as lines."""
    head = called_as(table) if table.function else table.full_name
    lines = [
        head + (f" - {printable(table.description)}" if table.description else ""),
        "",
        "arguments and value" if table.function else "columns",
    ]
    lines += _aligned(
        [(column.name, column.type, "key" * (column.name in table.primary_key)) for column in table.columns]
    )
    if table.key_columns:
        lines += ["", "key columns (what a request can be given)"]
        lines += _aligned(
            [(key.name, key.require, " ".join(key.operators), _sent(key)) for key in table.key_columns]
        )
    lines += ["", *map(printable, table.notes)] if table.notes else []
    rates = [f"{requests:,.10g} in {seconds:,.10g} s" for requests, seconds in table.rates]
    lines += [
        "",
        f"access methods (at most {', '.join((f'{table.max_in_flight} requests at once', *rates))})",
    ]
    scans = [("scan", scan.name, f"the whole table{_price(scan)}") for scan in table.scans]
    lookups = [
        (
            "lookup",
            one.name,
            f"rows by {', '.join(one.keys)}"
            + (f", {one.batch_size} keys a request" * (one.batch_size > 1))
            + _price(one),
        )
        for one in table.lookups
    ]
    return lines + _aligned([*scans, *lookups])


def _price(method: ScanMethod | LookupMethod) -> str:
    return "" if method.price is None else f", {method.price} a request"


def _sent(key: KeyColumn) -> str:
    """The operators that requests say beside keys, and the parameters for them; and where keys are from."""
    operators = [operator if param is None else f"{operator} as {param}" for operator, param in key.sendable]
    parts = [f"sent: {', '.join(operators)}"] if operators else []
    parts += [] if key.parent is None else [f"else from {'.'.join(key.parent)}"]
    return "; ".join(parts)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    rows = [tuple(printable(text) for text in row) for row in rows]
    sizes = [max(width(row[index]) for row in rows) for index in range(len(rows[0]))] if rows else []
    return [
        ("  " + "  ".join(pad(text, size) for text, size in zip(row, sizes, strict=True))).rstrip()
        for row in rows
    ]
