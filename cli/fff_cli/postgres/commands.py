"""Statements about sessions, cursors, and COPY, read: SET, DECLARE, FETCH, MOVE, CLOSE, COPY … TO STDOUT and the like.

Cursors go forward alone, since rows that were sent are kept by nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from fff.errors import QueryError, Span
from fff_cli.postgres.copying import CopyForm
from fff_cli.postgres.dialect import Token, tokens, words

_BACK = {"prior", "first", "last", "absolute", "relative", "backward"}
#: As PostgreSQL took them before it took a list in brackets: option, and whether it has a value.
_OLD_OPTIONS = {"csv": False, "binary": False, "header": False, "delimiter": True, "null": True, "quote": True, "escape": True, "encoding": True}  # fmt: skip


_BEGIN, _END = {"begin", "start"}, {"commit", "end", "rollback", "abort"}
_IDLE = {"discard": "DISCARD ALL", "deallocate": "DEALLOCATE", "listen": "LISTEN", "unlisten": "UNLISTEN", "reset": "RESET"} | {
    "savepoint": "SAVEPOINT", "release": "RELEASE",
}  # fmt: skip


def session_word(sql: str) -> str | None:
    """The tag of a statement that is about the session alone; None for those that give rows."""
    first = next(iter(words(sql)), "")
    if first in _BEGIN:
        return "BEGIN"
    if first in _END:
        return "ROLLBACK" if first in ("rollback", "abort") else "COMMIT"
    return "SET" if first == "set" else _IDLE.get(first)


@dataclass(frozen=True)
class DeclareCursor:
    """A query whose rows are fetched under a name. `held`: after its transaction, too."""

    name: str
    sql: str
    held: bool


@dataclass(frozen=True)
class FetchRows:
    """So many of a cursor's next rows, None: all that are left; of MOVE they are not shown."""

    name: str
    count: int | None
    word: str

    def tag(self, rows: int) -> str:
        """What is said of it when it is done."""
        return f"{self.word} {rows}"


@dataclass(frozen=True)
class CloseCursor:
    """The end of a cursor, None: of all."""

    name: str | None


@dataclass(frozen=True)
class CopyOut:
    """A query whose rows are copied out."""

    sql: str
    form: CopyForm


CursorCommand: TypeAlias = DeclareCursor | FetchRows | CloseCursor


def cursor_command(sql: str) -> CursorCommand | None:
    """What a statement says of cursors; None where it says nothing of any. Raises QueryError."""
    reader = _Reader(sql)
    match reader.one_of("declare", "fetch", "move", "close"):
        case "declare":
            return _declare(reader)
        case "close":
            known: CursorCommand = CloseCursor(None if reader.one_of("all") else reader.name())
        case "fetch" | "move" as word:
            known = _fetch(reader, word.upper())
        case _:
            return None
    reader.end()
    return known


def copy_command(sql: str) -> CopyOut | None:
    """What a COPY copies out; None for other statements. Raises QueryError."""
    reader = _Reader(sql)
    if not reader.one_of("copy"):
        return None
    if reader.peek == "(":
        begin, end = reader.bracketed()
        query = " " * begin + sql[begin:end]
    else:
        columns, begin = "*", reader.start
        reader.path()
        table = sql[begin : reader.last_end]
        if reader.peek == "(":
            columns = sql[slice(*reader.bracketed())]
        query = f"SELECT {columns} FROM {table}"  # noqa: S608 - as it was written
    if reader.one_of("from"):
        raise QueryError("nothing is written here: COPY … TO STDOUT reads", sql=sql)
    reader.need("to")
    if not reader.one_of("stdout"):
        hint = r"COPY … TO STDOUT; psql's \copy writes a file of yours"
        raise QueryError("the server writes no files and runs no programs", sql=sql, hint=hint)
    reader.one_of("with")
    options = _listed_options(reader) if reader.one_of("(") else _old_options(reader)
    reader.end()
    return CopyOut(query, CopyForm.of(options))


def _declare(reader: _Reader) -> DeclareCursor:
    name, held = reader.name(), False
    while word := reader.one_of("binary", "insensitive", "asensitive", "scroll", "no"):
        if word == "no":
            reader.need("scroll")
        elif word in ("binary", "scroll"):
            raise QueryError(
                f"there are no {word.upper()} cursors here",
                hint="they go forward, in the format that the client asks for",
            )
    reader.need("cursor")
    if word := reader.one_of("with", "without"):
        reader.need("hold")
        held = word == "with"
    reader.need("for")
    return DeclareCursor(name, " " * reader.start + reader.sql[reader.start :], held)


def _fetch(reader: _Reader, word: str) -> FetchRows:
    if reader.peek in _BACK and reader.after not in ("", ";"):
        raise QueryError("cursors go forward alone", hint="FETCH FORWARD 100 FROM name")
    count: int | None = 1
    if not reader.one_of("next"):
        reader.one_of("forward")
        if reader.one_of("all"):
            count = None
        elif reader.peek.isdecimal() or reader.peek in ("-", "+"):
            count = reader.count()
    reader.one_of("from", "in")
    return FetchRows(reader.name(), count, word)


def _listed_options(reader: _Reader) -> dict[str, str]:
    options: dict[str, str] = {}
    while not reader.one_of(")"):
        name = reader.name()
        options[name] = "" if reader.peek in (",", ")") else reader.value()
        reader.one_of(",")
    return options


def _old_options(reader: _Reader) -> dict[str, str]:
    options: dict[str, str] = {}
    while word := reader.one_of(*_OLD_OPTIONS):
        reader.one_of("as")
        if word in ("csv", "binary"):
            options["format"] = word
        else:
            options[word] = reader.value() if _OLD_OPTIONS[word] else ""
    return options


class _Reader:
    """The pieces of a statement, taken from its front. Methods raise QueryError."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._pieces = [one for one in tokens(sql) if one.kind not in ("space", "comment")]
        self._at = 0

    @property
    def peek(self) -> str:
        """The next piece in lower case; nothing at the end."""
        return self._text(self._at)

    @property
    def after(self) -> str:
        """The piece behind it."""
        return self._text(self._at + 1)

    @property
    def start(self) -> int:
        """Where the next piece begins."""
        return self._pieces[self._at].start if self._at < len(self._pieces) else len(self.sql)

    @property
    def last_end(self) -> int:
        """Where the last piece taken ends."""
        last = self._pieces[self._at - 1]
        return last.start + len(last.text)

    def _text(self, at: int) -> str:
        return self._pieces[at].text.lower() if at < len(self._pieces) else ""

    def one_of(self, *words: str) -> str:
        """The next piece, if it is one of those."""
        if self.peek not in words:
            return ""
        self._at += 1
        return self._text(self._at - 1)

    def need(self, word: str) -> None:
        """Take that piece."""
        if not self.one_of(word):
            self._wrong(f"{word.upper()} is expected")

    def end(self) -> None:
        """There is no more."""
        if self.peek:
            self._wrong("this is not understood")

    def name(self) -> str:
        """A name as PostgreSQL folds it."""
        piece = self._take("a name", "word", "name")
        return piece.text[1:-1].replace('""', '"') if piece.kind == "name" else piece.text.lower()

    def path(self) -> None:
        """A name, qualified or not."""
        self._take("a table", "word", "name", "ticks")
        while self.one_of("."):
            self._take("a name", "word", "name", "ticks")

    def value(self) -> str:
        """The value of an option: a word or a text."""
        piece = self._take("a value", "word", "text", "escaped", "other")
        if piece.kind == "escaped":
            return piece.text[2:-1].replace("\\t", "\t").replace("\\\\", "\\").replace("''", "'")
        return piece.text[1:-1].replace("''", "'") if piece.kind == "text" else piece.text.lower()

    def count(self) -> int:
        """How many rows."""
        if self.one_of("-"):
            self._wrong("cursors go forward alone")
        self.one_of("+")
        digits = ""
        while self.peek.isdecimal():  # each digit is a piece
            digits += self.peek
            self._at += 1
        if not digits:
            self._wrong("a number is expected")
        return int(digits)

    def bracketed(self) -> tuple[int, int]:
        """What stands between the next bracket and its end."""
        begin, depth = self.start + 1, 0
        while self.peek:
            depth += {"(": 1, ")": -1}.get(self.peek, 0)
            self._at += 1
            if depth == 0:
                return begin, self._pieces[self._at - 1].start
        self._wrong("a bracket has no end")
        raise AssertionError

    def _take(self, what: str, *kinds: str) -> Token:
        if self._at >= len(self._pieces) or self._pieces[self._at].kind not in kinds:
            self._wrong(f"{what} is expected")
        self._at += 1
        return self._pieces[self._at - 1]

    def _wrong(self, message: str) -> None:
        raise QueryError(message, sql=self.sql, span=Span(self.start, max(self.start + 1, len(self.sql))))
