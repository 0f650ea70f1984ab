"""Statements about sessions, cursors, COPY and prepared statements, read: SET, DECLARE, FETCH, COPY … TO STDOUT, PREPARE, EXECUTE.

Cursors go forward alone, since rows that were sent are kept by nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from fff.errors import QueryError, Span
from fff.structs import lazy_pattern
from fff_cli.postgres.copying import CopyForm
from fff_cli.postgres.dialect import Token, said, tokens, words
from fff_cli.postgres.parameters import ARRAYS, kind_named, rewritten

_BACK = {"prior", "first", "last", "absolute", "relative", "backward"}
#: As PostgreSQL took them before it took a list in brackets: option, and whether it has a value.
_OLD_OPTIONS = {"csv": False, "binary": False, "header": False, "delimiter": True, "null": True, "quote": True, "escape": True, "encoding": True}  # fmt: skip

_NUMBER = lazy_pattern(r"[-+]?\s*(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_T = TypeVar("_T")
_TEXT = 25

_BEGIN, _END = {"begin", "start"}, {"commit", "end", "rollback", "abort"}
_IDLE = {"deallocate": "DEALLOCATE", "listen": "LISTEN", "unlisten": "UNLISTEN", "reset": "RESET"} | {
    "savepoint": "SAVEPOINT", "release": "RELEASE",
}  # fmt: skip


def session_word(sql: str) -> str | None:
    """The tag of a statement that is about the session alone; None for those that give rows."""
    first = next(iter(words(sql)), "")
    if first in _BEGIN:
        return "BEGIN"
    if first in _END:
        return "ROLLBACK" if first in ("rollback", "abort") else "COMMIT"
    if first == "discard":
        return " ".join(words(sql)[:2]).upper()
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


@dataclass(frozen=True)
class PrepareStatement:
    """A query that is kept under a name. `kinds`: the types that its parameters are said to have, 0 for any."""

    name: str
    sql: str
    kinds: tuple[int, ...]


@dataclass(frozen=True)
class ExecuteStatement:
    """A query that is kept under a name, run with these values, as texts."""

    name: str
    values: tuple[bytes | None, ...]


PreparedCommand: TypeAlias = PrepareStatement | ExecuteStatement
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


def prepared_command(sql: str) -> PreparedCommand | None:
    """What a PREPARE or EXECUTE says; None for other statements. Raises QueryError, CodedError, ValueError."""
    reader = _Reader(sql)
    match reader.one_of("prepare", "execute"):
        case "prepare":
            name = reader.name()
            kinds = reader.listed(reader.kind) if reader.peek == "(" else ()
            reader.need("as")
            return PrepareStatement(name, " " * reader.start + sql[reader.start :], kinds)
        case "execute":
            run = ExecuteStatement(
                reader.name(), reader.listed(reader.constant) if reader.peek == "(" else ()
            )
            reader.end()
            return run
    return None


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


def _array(items: Sequence[bytes | None]) -> bytes:
    """An array as PostgreSQL writes it."""
    quoted = [
        "NULL" if one is None else '"' + re.sub(r'(["\\])', r"\\\1", one.decode()) + '"' for one in items
    ]
    return ("{" + ",".join(quoted) + "}").encode()


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
            raise self._wrong(f"{word.upper()} is expected")

    def end(self) -> None:
        """There is no more."""
        if self.peek:
            raise self._wrong("this is not understood")

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
            raise self._wrong("cursors go forward alone")
        self.one_of("+")
        digits = ""
        while self.peek.isdecimal():  # each digit is a piece
            digits += self.peek
            self._at += 1
        if not digits:
            raise self._wrong("a number is expected")
        return int(digits)

    def listed(self, item: Callable[[], _T]) -> tuple[_T, ...]:
        """What stands in brackets, one after another."""
        self.need("(")
        found: list[_T] = []
        while not self.one_of(")"):
            if found:
                self.need(",")
            found.append(item())
        return tuple(found)

    def kind(self) -> int:
        """A type, by its number; 0 for `unknown`. What stands behind it in brackets tells nothing of a parameter."""
        if self.one_of("pg_catalog"):
            self.need(".")
        name = self.name()
        more = {"double": ("precision",), "character": ("varying",), "bit": ("varying",)}.get(name, ())
        name += "".join(f" {word}" for word in more if self.one_of(word))
        if self.peek == "(":
            self.bracketed()
        if name in ("timestamp", "time") and (zone := self.one_of("with", "without")):
            self.need("time")
            self.need("zone")
            name += "tz" * (zone == "with")
        found = kind_named(name)
        if self.one_of("["):
            self.need("]")
            found = ARRAYS.get(found, ARRAYS[_TEXT])
        return found

    def constant(self) -> bytes | None:
        """A constant, as a text; None for NULL."""
        found = self._constant()
        while self.one_of("::"):
            found = rewritten(found, self.kind())
        return found

    def _constant(self) -> bytes | None:
        number = _NUMBER.match(self.sql, self.start)
        if number is not None:
            while self._at < len(self._pieces) and self.start < number.end():
                self._at += 1
            return number[0].replace(" ", "").encode()
        if word := self.one_of("null", "true", "false"):
            return None if word == "null" else word.encode()
        if self.one_of("array"):
            self.need("[")
            items: list[bytes | None] = []
            while not self.one_of("]"):
                if items:
                    self.need(",")
                items.append(self.constant())
            return _array(items)
        if self.peek == "cast" and self.after == "(":
            self._at += 2
            inner = self.constant()
            self.need("as")
            inner = rewritten(inner, self.kind())
            self.need(")")
            return inner
        texts = ("text", "escaped", "dollar")
        if self._at + 1 < len(self._pieces) and self._pieces[self._at + 1].kind in texts:
            kind = self.kind()  # as in DATE '2020-01-01'
            return rewritten(said(self._take("a text", *texts)).encode(), kind)
        if self._at < len(self._pieces) and self._pieces[self._at].kind in texts:
            return said(self._take("a text", *texts)).encode()
        raise self._wrong("EXECUTE takes constants")

    def bracketed(self) -> tuple[int, int]:
        """What stands between the next bracket and its end."""
        begin, depth = self.start + 1, 0
        while self.peek:
            depth += {"(": 1, ")": -1}.get(self.peek, 0)
            self._at += 1
            if depth == 0:
                return begin, self._pieces[self._at - 1].start
        raise self._wrong("a bracket has no end")

    def _take(self, what: str, *kinds: str) -> Token:
        if self._at >= len(self._pieces) or self._pieces[self._at].kind not in kinds:
            raise self._wrong(f"{what} is expected")
        self._at += 1
        return self._pieces[self._at - 1]

    def _wrong(self, message: str) -> QueryError:
        return QueryError(message, sql=self.sql, span=Span(self.start, max(self.start + 1, len(self.sql))))
