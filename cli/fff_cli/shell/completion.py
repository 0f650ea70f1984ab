"""What the Tab key offers: commands, tables, columns of the tables named in the statement, Spark's words.

A function of the text, the cursor and the catalog; nothing here knows a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from fff.structs import lazy_pattern
from fff_cli.shell.keywords import KEYWORDS, RESERVED
from fff_cli.shell.text import Lexeme, first_word, lexemes

if TYPE_CHECKING:
    from fff.catalog import Catalog, Table

Sort: TypeAlias = Literal[
    "column", "table", "source", "alias", "keyword", "function", "command", "file", "value"
]

_SIMPLE_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME = r"(?:\w+|`(?:[^`]|``)+`)"
#: What is being typed: names with dots behind them, and the beginning of one more.
_TYPED = lazy_pattern(rf"(?P<before>(?:{_NAME}\s*\.\s*)*)(?P<prefix>`[^`]*|\w*)\Z")


@dataclass(frozen=True)
class Suggestion:
    """A text that could stand from `start` (an offset in the whole text) to the cursor."""

    text: str
    start: int
    sort: Sort
    note: str = ""


@dataclass(frozen=True)
class Named:
    """A table of the statement, and the name it goes by there."""

    name: str
    table: Table


@dataclass(frozen=True)
class CommandArgument:
    """What may follow a command: words, `then` words behind one of them, tables, files, SQL."""

    words: tuple[str, ...] = ()
    then: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: bool = False
    files: bool = False
    sql: bool = False


def suggestions(
    text: str, cursor: int, catalog: Catalog, commands: dict[str, CommandArgument]
) -> Iterator[Suggestion]:
    """What could be meant at the cursor, best first."""
    first = first_word(text[:cursor])
    if first is not None and first.text == "\\":
        yield from _command(text, cursor, first.start, catalog, commands)
    else:
        yield from _sql(text, 0, cursor, catalog)


def _command(
    text: str, cursor: int, start: int, catalog: Catalog, commands: dict[str, CommandArgument]
) -> Iterator[Suggestion]:
    name, space, written = text[start:cursor].partition(" ")
    if not space:
        yield from (Suggestion(one, start, "command") for one in commands if one.startswith(name))
        return
    argument = commands.get(name, CommandArgument())
    if argument.sql:
        yield from _sql(text, cursor - len(written), cursor, catalog)
        return
    last = written.split(" ")[-1]
    begin = cursor - len(last)
    earlier = written[: -len(last) or None].strip()
    words = argument.then.get(earlier, ()) if earlier else argument.words
    yield from (Suggestion(one, begin, "value") for one in words if one.startswith(last.lower()))
    if argument.tables and not earlier:
        yield from _tables(last, begin, catalog)
    if argument.files:
        yield from _files(last, begin)


def _files(written: str, start: int) -> Iterator[Suggestion]:
    folder, slash, prefix = written.rpartition("/")
    try:
        paths = sorted(Path(folder + slash).expanduser().iterdir())
    except OSError:  # no such folder: nothing to offer
        return
    for path in paths:
        if path.name.startswith(prefix) and (prefix or not path.name.startswith(".")):
            yield Suggestion(folder + slash + path.name + "/" * path.is_dir(), start, "file")


def _sql(text: str, begin: int, cursor: int, catalog: Catalog) -> Iterator[Suggestion]:
    before = list(lexemes(text[begin:cursor]))
    if before and not before[-1].closed and before[-1].kind in ("string", "comment"):
        return
    typed = _TYPED.search(text[begin:cursor])
    assert typed is not None, "both of its parts may be empty"
    prefix, start = typed["prefix"], begin + typed.start("prefix")
    statement = _statement_around(text[begin:], cursor - begin)
    named = list(tables_named(statement, catalog))
    if typed["before"]:
        qualifiers = [_unquoted(part) for part in re.findall(_NAME, typed["before"])]
        yield from _qualified(qualifiers, prefix, start, named, catalog)
        return
    if _wants_table([one for one in before if begin + one.start < start]):
        yield from _tables(prefix, start, catalog)
        return
    yield from _distinct([*_columns(named, prefix, start), *_aliases(named, prefix, start)])
    begun = any(begin + one.start < start for one in before)
    if not named and begun:  # the select list is typed before its tables are
        everything = [Named(table.full_name, table) for table in catalog.tables(offered=False)]
        yield from _distinct(_columns(everything, prefix, start))
    if prefix and not prefix.startswith("`"):
        yield from _words(prefix, start)
        yield from _tables(prefix, start, catalog)
    if not prefix:
        yield from (Suggestion(word, start, "keyword") for word in KEYWORDS)


def _statement_around(text: str, cursor: int) -> list[Lexeme]:
    """The lexemes of the statement that the cursor is in."""
    statement: list[Lexeme] = []
    for one in lexemes(text):
        if one.kind == "symbol" and one.text == ";":
            if one.start >= cursor:
                break
            statement = []
        elif one.kind != "comment":
            statement.append(one)
    return statement


def tables_named(statement: Sequence[Lexeme], catalog: Catalog) -> Iterator[Named]:
    """The tables that follow FROM, JOIN, or a comma between tables, with their aliases; of subqueries too."""
    index, listing = 0, False
    while index < len(statement):
        word = statement[index].text.upper()
        index += 1
        if statement[index - 1].kind == "word" and word in ("FROM", "JOIN"):
            listing = True
        elif not (listing and word == ","):
            listing = listing and (word in ("AS", ".") or not _is_keyword(statement[index - 1]))
            continue
        parts, index = _dotted(statement, index)
        candidates = catalog.find(parts) if parts else []
        if index < len(statement) and statement[index].text.upper() == "AS":
            index += 1
        alias = parts[-1] if parts else ""
        if index < len(statement) and _is_name(statement[index]):
            alias = _unquoted(statement[index].text)
            index += 1
        if len(candidates) == 1:
            yield Named(alias, candidates[0])


def _dotted(statement: Sequence[Lexeme], index: int) -> tuple[list[str], int]:
    parts: list[str] = []
    while index < len(statement) and _is_name(statement[index]):
        parts.append(_unquoted(statement[index].text))
        index += 1
        if index >= len(statement) or statement[index].text != ".":
            break
        index += 1
    return parts, index


def _is_keyword(one: Lexeme) -> bool:
    return one.kind == "word" and one.text.lower() in RESERVED


def _is_name(one: Lexeme) -> bool:
    return one.kind == "name" or (one.kind == "word" and not _is_keyword(one))


def _wants_table(before: Sequence[Lexeme]) -> bool:
    """Whether a table must come next: after FROM and JOIN, and after a comma between tables."""
    seen = [one for one in before if one.kind != "comment"]
    if not seen:
        return False
    if seen[-1].text.upper() in ("FROM", "JOIN"):
        return True
    if seen[-1].text != ",":
        return False
    depth = 0
    for one in reversed(seen):
        if one.text == ")":
            depth += 1
        elif one.text == "(":
            depth -= 1
            if depth < 0:
                return False
        elif (
            depth == 0
            and _is_keyword(one)
            and one.text.upper() not in ("AS", "ON", "AND", "JOIN", "INNER", "LEFT")
        ):
            return one.text.upper() == "FROM"
    return False


def _qualified(
    qualifiers: list[str], prefix: str, start: int, named: list[Named], catalog: Catalog
) -> Iterator[Suggestion]:
    """After a dot: columns of an alias or a table, tables of a source."""
    wanted = ".".join(qualifiers).lower()
    hits = [one for one in named if wanted in (one.name.lower(), one.table.full_name.lower())]
    yield from _columns(hits, prefix, start)
    for table in catalog.tables():
        if table.source.lower() == wanted and _begins(table.name, prefix):
            yield Suggestion(quoted(table.name), start, "table", table.description)
    if not hits:
        qualified = [Named(table.name, table) for table in catalog.find(qualifiers)]
        yield from _columns(qualified, prefix, start)


def _columns(named: Iterable[Named], prefix: str, start: int) -> Iterator[Suggestion]:
    for one in named:
        for column in one.table.columns:
            if _begins(column.name, prefix):
                yield Suggestion(
                    quoted(column.name), start, "column", f"{column.type} of {one.table.full_name}"
                )


def _aliases(named: Iterable[Named], prefix: str, start: int) -> Iterator[Suggestion]:
    for one in named:
        if _begins(one.name, prefix):
            yield Suggestion(quoted(one.name), start, "alias", one.table.full_name)


def _tables(prefix: str, start: int, catalog: Catalog) -> Iterator[Suggestion]:
    """Tables by their own name where that says which, and by source and name; `prefix` may hold the dot."""
    tables = list(catalog.tables())
    for table in tables:
        if _begins(table.name, prefix) and len(catalog.find([table.name])) == 1:
            yield Suggestion(quoted(table.name), start, "table", table.description or table.full_name)
    for table in tables:
        if _begins(table.full_name, prefix):
            name = f"{quoted(table.source)}.{quoted(table.name)}"
            yield Suggestion(name, start, "table", table.description)


def _words(prefix: str, start: int) -> Iterator[Suggestion]:
    """Keywords in the case of what was typed, then functions."""
    for word in KEYWORDS:
        if _begins(word, prefix):
            yield Suggestion(word.lower() if prefix[0].islower() else word, start, "keyword")
    from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS  # noqa: PLC0415 - loaded with the engine

    for name in sorted(SPARK_FUNCTIONS):
        if _begins(name, prefix) and name.upper() not in KEYWORDS:
            yield Suggestion(name.upper() if prefix.isupper() else name, start, "function")


def _distinct(suggestions: Iterable[Suggestion]) -> list[Suggestion]:
    """The first of each text; a column that several tables have says so."""
    kept: dict[str, Suggestion] = {}
    for one in suggestions:
        known = kept.get(one.text.lower())
        if known is None:
            kept[one.text.lower()] = one
        elif known.sort == one.sort == "column":
            kept[one.text.lower()] = Suggestion(known.text, known.start, "column", "in several tables")
    return list(kept.values())


def _begins(name: str, prefix: str) -> bool:
    return name.lower().startswith(prefix.lstrip("`").lower())


def quoted(name: str) -> str:
    """A name as Spark takes it: in backquotes where it is no plain word."""
    if _SIMPLE_NAME.match(name) and name.lower() not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
