"""The commands of `fff source` and their options. What a command needs is imported when it runs."""
# ruff: noqa: ARG001, PLR0917 - parameters are options, which typer and `telling` read off the signature

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fff_cli.options.shared import Format, Sources, Verbose, argument, commands, option, refuse_beside
from fff_cli.telling import telling

source_app = commands("What the catalog holds: tables, columns, access methods.")


@source_app.command("list")
@telling
def source_list(
    sources: Sources = None,
    output: Format = None,
    every: Annotated[
        bool, option("--all", "The bundled tables as well, which a terminal only counts beside your own.")
    ] = False,
    verbose: Verbose = False,
) -> int:
    """List the tables with their columns, key columns and access methods."""
    from fff_cli.commands.source import list_tables  # noqa: PLC0415

    return list_tables(sources or (), output, every=every)


@source_app.command("show")
@telling
def source_show(
    table: Annotated[str, argument("TABLE", "source.table, or table.")],
    sources: Sources = None,
    verbose: Verbose = False,
) -> int:
    """Show one table: columns with types, key columns, every way to reach its rows."""
    from fff_cli.commands.source import show_table  # noqa: PLC0415

    return show_table(table, sources or ())


@source_app.command("lint")
@telling
def source_lint(file: Annotated[Path, argument("FILE", "A source spec.")], verbose: Verbose = False) -> int:
    """Check a source spec; every mistake with its line and key."""
    from fff_cli.commands.source import lint_file  # noqa: PLC0415

    return lint_file(file)


@source_app.command("test")
@telling
def source_test(
    file: Annotated[Path, argument("FILE", "A source spec.")],
    table: Annotated[str | None, option("--table T", "Only what has to do with this table.")] = None,
    output: Annotated[
        str | None, option("-o --output FORMAT", "json, or any format of results. (default: text)")
    ] = None,
    strict: Annotated[bool, option("--strict", "What may be wrong counts as wrong.")] = False,
    verbose: Verbose = False,
) -> int:
    """Try a spec out: its tests, and every access method with a request or two."""
    from fff_cli.commands.source_trial import test_source  # noqa: PLC0415

    return test_source(file, table, output, strict=strict)


@source_app.command("init")
@telling
def source_init(
    url: Annotated[str | None, argument("URL", "A sample: a list, or one thing.")] = None,
    name: Annotated[str | None, option("--name N", "The source's name. (default: from the host)")] = None,
    openapi: Annotated[
        str | None, option("--openapi FILE_OR_URL", "Draft from an OpenAPI 3 document instead.")
    ] = None,
    header: Annotated[
        list[str] | None, option("-H --header 'NAME: VALUE'", "Send this too; repeatable.")
    ] = None,
    file: Annotated[
        Path | None, option("-O --output-file FILE", "A new file. (default: standard output)")
    ] = None,
    verbose: Verbose = False,
) -> int:
    """Draft a spec from a sample URL or an OpenAPI document; says what it was unsure of."""
    from fff_cli.commands.source_drafts import init_source  # noqa: PLC0415

    return init_source(url, openapi, name, header or (), file)


@source_app.command("import")
@telling
def source_import(
    where: Annotated[str, argument("FILE|FOLDER|URL", "A document of another tool.")],
    kind: Annotated[
        str | None,
        option(
            "--from FORMAT", "airbyte, coral, dlt, har, openapi, postman or steampipe. (default: guessed)"
        ),
    ] = None,
    output: Annotated[
        Path | None, option("-o --output FILE|FOLDER", "Where the spec goes. (default: standard output)")
    ] = None,
    report: Annotated[str, option("--report FORM", "The fidelity report: text or json.")] = "text",
    name: Annotated[str | None, option("--name N", "The source's name. (default: guessed)")] = None,
    force: Annotated[bool, option("--force", "Replace a file that is there.")] = False,
    count: Annotated[bool, option("--count", "Of a folder, only count what can be imported.")] = False,
    verbose: Verbose = False,
) -> int:
    """Write a spec from what another tool has, and say what became of each field."""
    from fff_cli.commands.source_import import import_source  # noqa: PLC0415

    if count:
        refuse_beside(
            "--count", {"-o": output, "--name": name, "--force": force, "--report": report != "text"}
        )
    return import_source(where, kind, output, report, name=name, force=force, count=count)


@source_app.command("search")
@telling
def source_search(
    word: Annotated[str, argument("WORD", "Part of a name or a description.")],
    sources: Sources = None,
    output: Format = None,
    verbose: Verbose = False,
) -> int:
    """Find tables and columns by a word in their names and descriptions."""
    from fff_cli.commands.source import search_tables  # noqa: PLC0415

    return search_tables(word, sources or (), output)


@source_app.command("trust")
@telling
def source_trust(
    file: Annotated[Path, argument("FILE", "A source spec.")] = Path("fff.yaml"),
    listed: Annotated[bool, option("--list", "Only show which specs are trusted.")] = False,
    revoke: Annotated[bool, option("--revoke", "Trust it no longer.")] = False,
    verbose: Verbose = False,
) -> int:
    """Let a spec that is found in the working folder use the secrets it names, until it changes."""
    from fff_cli.commands import source_trust as command  # noqa: PLC0415

    if listed:
        refuse_beside("--list", {"--revoke": revoke, "FILE": file != Path("fff.yaml")})
        return command.list_trusted()
    return command.revoke(file) if revoke else command.trust(file)


@source_app.command("schema")
@telling
def source_schema(verbose: Verbose = False) -> int:
    """Print the JSON Schema of specs, for editors."""
    from fff_cli.commands.source_drafts import print_schema  # noqa: PLC0415

    return print_schema()
