"""Typed text cut into statements and commands, while it may still be unfinished. Nothing here knows a terminal.

Checking SQL is the engine's; this only has to know where strings, quoted names and comments end, as Spark has
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from fff.structs import Struct, lazy_pattern

Kind: TypeAlias = Literal["word", "name", "string", "number", "comment", "symbol"]

#: Lines that mean a command though they do not begin with a backslash, at the beginning of a statement.
BARE_COMMANDS = {"help": "\\?", "quit": "\\q", "exit": "\\q"}

_LEXEME = lazy_pattern(
    r"""(?P<space>\s+)
      | (?P<comment>--[^\n]*|/\*)
      | (?P<raw>[rR](?:'[^']*'?|"[^"]*"?))
      | (?P<string>'(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z))
      | (?P<name>`(?:[^`]|``)*(?:`|\Z))
      | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\w*|\.\d+(?:[eE][+-]?\d+)?\w*)
      | (?P<word>\w+)
      | (?P<symbol>.)""",
    re.VERBOSE | re.DOTALL,
)
_SENT = lazy_pattern(r"\\(?:g|(?P<expanded>G|gx))(?!\w)")  # ends a statement, as a semicolon does
_DOTTED = lazy_pattern(r"\.[a-z]")  # how commands of DuckDB's and SQLite's shells begin, and no SQL
_COMMENT_EDGE = lazy_pattern(r"/\*|\*/")


class Lexeme(Struct, frozen=True):
    """A piece of SQL text, from `start` to `end` (exclusive); `closed` is false where the text ends inside it."""

    kind: Kind
    start: int
    end: int
    text: str
    closed: bool = True


def lexemes(text: str) -> Iterator[Lexeme]:
    """The pieces of a text, without the space between them."""
    index = 0
    while index < len(text):
        match = _LEXEME.match(text, index)
        assert match is not None, "the last alternative takes any character"
        group, end = match.lastgroup, match.end()
        closed = True
        if group == "comment":
            if text.startswith("/*", index):
                end, closed = _comment_end(text, index)
            else:
                closed = end < len(text)  # a line comment goes on while the line does
        elif group in ("string", "raw"):
            closed = _is_closed(text[index:end], raw=group == "raw")
        elif group == "name":
            closed = text[index:end].count("`") % 2 == 0
        if group != "space":
            kind: Kind = "string" if group == "raw" else group  # type: ignore[assignment]
            yield Lexeme(kind, index, end, text[index:end], closed)
        index = end


def _comment_end(text: str, start: int) -> tuple[int, bool]:
    """Where a bracketed comment ends; they nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end(), True
    return len(text), False


def _is_closed(written: str, *, raw: bool) -> bool:
    body = written[1:] if raw else written
    if len(body) < 2 or body[-1] != body[0]:
        return False
    backslashes = len(body) - 1 - len(body[:-1].rstrip("\\"))
    return raw or backslashes % 2 == 0


class Item(Struct, frozen=True):
    r"""One thing to do: a statement without its semicolon, or a command line; `line` is where it began, from 1.

    `expanded`: it ended with `\G`, which asks for a line for each value; `file`: where it stands, if in one.
    """

    text: str
    line: int
    is_command: bool = False
    expanded: bool = False
    file: str = ""


class Reader:
    """Takes lines, gives statements and commands; what is unfinished waits for more lines."""

    def __init__(self) -> None:
        self._held = ""
        self._began = 1
        self._line = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is waiting: a new statement would begin on the next line."""
        return all(one.kind == "comment" and one.closed for one in lexemes(self._held))

    def feed(self, line: str) -> list[Item]:
        """The items that end on this line (given without its line end)."""
        self._line += 1
        if (command := self._command(line.strip())) is not None:
            if self.is_idle:
                self._hold("", self._line + 1)
            else:  # the statement goes on below
                self._held += "\n"
            return [Item(command, self._line, is_command=True)]
        self._held += line + "\n"
        return (
            list(self._cut()) if ";" in line or "\\" in line else []
        )  # so that a long statement is not read again for each line

    def _command(self, line: str) -> str | None:
        """The command that a line is: between statements, and with a backslash also between the lines of one."""
        if line.startswith("\\") and not _SENT.match(line):
            return line if all(one.closed for one in lexemes(self._held)) else None
        bare = BARE_COMMANDS.get(line.rstrip(";").lower(), line if _DOTTED.match(line) else None)
        return bare if bare is not None and self.is_idle else None

    def _cut(self) -> Iterator[Item]:
        start, text, began = 0, self._held, self._began
        first: Lexeme | None = None
        for lexeme in lexemes(text):
            ends = lexeme.kind == "symbol" and lexeme.text == ";"
            sent = _SENT.match(text, lexeme.start) if lexeme.text == "\\" else None
            if ends or sent:
                if first is not None:
                    line = began + text.count("\n", 0, first.start)
                    expanded = sent is not None and sent["expanded"] is not None
                    yield Item(text[start : lexeme.start].strip(), line, expanded=expanded)
                start, first = lexeme.end if sent is None else sent.end(), None
            elif lexeme.end > start and lexeme.kind != "comment":
                first = first or lexeme
        self._hold(text[start:], began + text.count("\n", 0, start))

    def _hold(self, text: str, began: int) -> None:
        self._held, self._began = text, began

    @property
    def unfinished(self) -> str:
        """The beginning of a statement that waits for the rest of it."""
        return "" if self.is_idle else self._held.strip("\n")

    def rest(self) -> list[Item]:
        """The last statement, which needs no semicolon where the text ends."""
        first = first_word(self._held)
        if first is None and self.is_idle:
            return []
        line = self._began + self._held.count("\n", 0, first.start if first is not None else 0)
        text = self._held.strip()
        self._hold("", self._line + 1)
        return [Item(text, line)]


def items_of(text: str) -> list[Item]:
    """Everything in a whole text."""
    reader = Reader()
    items = [item for line in text.split("\n") for item in reader.feed(line)]
    return items + reader.rest()


def is_finished(text: str) -> bool:
    """Whether Enter runs this text: it ends with a semicolon that ends a statement, or with a command."""
    reader, items = Reader(), list[Item]()
    for line in text.split("\n"):
        items = reader.feed(line)
    return reader.is_idle or any(item.is_command for item in items)


def first_word(text: str) -> Lexeme | None:
    """The first lexeme that is no comment."""
    return next((one for one in lexemes(text) if one.kind != "comment"), None)
