"""Every error a user can meet, and the exit code each ends with.

    FFFError
    ├── QueryError            1   the SQL is wrong or cannot be run; underlines the place
    │   ├── UnsupportedSQL    1   valid SQL that FFF does not run (yet, or ever)
    │   ├── InfeasibleQuery   1   a table whose key columns nothing binds
    │   └── SparkError        1   Spark refused or failed the upper query
    ├── UsageError            2   wrong option or configuration
    │   ├── SpecError         2   a source spec: file, key path, line
    │   └── SecretError       2   a secret that cannot be found
    └── SourceError           4   a web source: URL without secrets, status, attempts
    InvariantError                a bug in FFF; never caught as one of the above

Foreign exceptions (aiohttp, pyspark, sqlglot, pydantic) are turned into these at one border each.
"""

from __future__ import annotations

import unicodedata
from itertools import takewhile
from pathlib import Path
from traceback import extract_tb

from fff.structs import Struct

_HERE = str(Path(__file__).parent)
_SHOWN = 300  # characters of a URL in a message


class FFFError(Exception):
    """Base of everything FFF reports to users: one or a few lines, and what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def render(self) -> str:
        """What is wrong, where, and what to do next, as plain text without a trailing newline."""
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"

    def told(self) -> str:
        """The same, and its notes: what became of the run by then."""
        return "\n  ".join([self.render(), *getattr(self, "__notes__", ())])

    def __str__(self) -> str:
        return self.render()

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: where the reader's own code called FFF, and not what that called within."""
        own = takewhile(lambda frame: not frame.filename.startswith(_HERE), extract_tb(self.__traceback__))
        calls = [frame for frame in own if "IPython" not in frame.filename]
        lines = [f"line {frame.lineno}, in {frame.name}: {frame.line}" for frame in calls]
        return [*lines, f"{type(self).__name__}: {self.render()}"]


#: How a hint begins that only quotes an answer.
_SERVER_SAYS = "the server says"
_TOO_MANY = 429
_SERVERS_FAULT = 500


class Span(Struct, frozen=True):
    """A place in the SQL text: character offsets, end exclusive."""

    start: int
    end: int


class QueryError(FFFError):
    """The SQL is wrong or cannot be run."""

    exit_code = 1

    def __init__(
        self, message: str, *, sql: str | None = None, span: Span | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.sql = sql
        self.span = span

    def place_in(self, text: str, statement: Span) -> None:
        """Tell the place in a whole text, where this is about the statement that stands there in it."""
        if self.span is not None and self.sql == text[statement.start : statement.end]:
            self.sql = text
            self.span = Span(self.span.start + statement.start, self.span.end + statement.start)

    def render(self) -> str:
        """The message, the line of SQL with the place underlined, and the hint."""
        lines = [self.message]
        if self.sql is not None and self.span is not None:
            lines += underline(self.sql, self.span)
        if self.hint is not None:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)


class UnsupportedSQL(QueryError):  # noqa: N818 - reads as the noun users see
    """Valid SQL that FFF does not run."""


class InfeasibleQuery(QueryError):  # noqa: N818
    """A table needs key columns that nothing in the query binds.

    `unreached` are the entries of the FROM clause that cannot be read, by their place; the message names one of them.
    """

    unreached: tuple[int, ...] = ()


class SparkError(QueryError):
    """Spark refused or failed the part of the query above the eddy."""

    #: The part of the text that Spark was given which it is about, if Spark said so.
    fragment = ""
    #: That text, and where in it the part begins.
    given, start = "", 0


class UsageError(FFFError):
    """Wrong option or configuration."""

    exit_code = 2


class SpecError(UsageError):
    """A source spec that does not say what it must: file, key path and line."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        path: str | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        where = ":".join(str(part) for part in (file, line) if part is not None)
        prefix = ": ".join(part for part in (where, path) if part)
        super().__init__(f"{prefix}: {message}" if prefix else message, hint=hint)
        self.file = file
        self.path = path
        self.line = line


class SecretError(UsageError):
    """A secret named by a spec that cannot be found. Never carries the secret."""


class SourceError(FFFError):
    """A web source could not be read: who, where (URL without secrets), status and attempts."""

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        table: str | None = None,
        url: str | None = None,
        status: int | None = None,
        attempts: int = 1,
        hint: str | None = None,
        date: str | None = None,
        throttled: bool = False,
    ) -> None:
        who = ".".join(part for part in (source, table) if part)
        text = f"{who}: {message}" if who else message
        if attempts > 1:
            text += f" after {attempts} attempts"
        if url is not None:
            text += f" ({url if len(url) <= _SHOWN else url[:_SHOWN] + '…'})"
        super().__init__(text, hint=hint)
        self.reason = message if attempts <= 1 else f"{message} after {attempts} attempts"
        self.source = source
        self.table = table
        self.url = url
        self.status = status
        self.attempts = attempts
        self.date = date  # what time the server says it is
        self.throttled = throttled or status == _TOO_MANY  # told to slow down

    def render(self) -> str:
        """The message, what the server or the finder of the mistake had to say, and what to do next."""
        if self.hint is not None and not self.hint.startswith(_SERVER_SAYS):
            return super().render()
        return f"{super().render()}\n  {self._next_step()}"

    def _next_step(self) -> str:
        if self.url is not None and "://" not in self.url:
            return "look into the file; a spec of `type: files` can say its format, delimiter, encoding and columns"
        unreached = self.reason.startswith("cannot connect")
        if self.status is None and self.attempts == 1 and not unreached:
            return "correct the source's spec; `fff source test FILE` tries it out"
        if self.status is None:
            return "check the network and the source's base_url, or try again later"
        if self.throttled:
            return "try again later, or ask for less at once with client.rate_limit in the source's spec"
        if self.status >= _SERVERS_FAULT:
            return "try again later"
        return "check path and params of the endpoint in the source's spec"


class InvariantError(Exception):
    """A bug in FFF. Never raised for anything a user or a source did."""


def underline(sql: str, span: Span, most: int = 110) -> list[str]:
    """The line of SQL holding the start of the span, and a line of carets under it; of a long line the part around it.

    `most`: characters of the line that are shown.
    """
    start = max(0, min(span.start, len(sql)))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = len(sql) if line_end < 0 else line_end
    end = max(start + 1, min(span.end, line_end))
    number = sql.count("\n", 0, line_start) + 1
    gutter = f"  {number} | "
    text = sql[line_start:line_end].replace("\t", " ")
    at, length = start - line_start, end - start
    if len(text) > most:
        first = max(0, min(at - max(0, most - length) // 2, len(text) - most))
        after = "…" if first + most < len(text) else ""
        text = ("…" if first else "") + text[first : first + most] + after
        at, length = at - first + bool(first), min(length, most)
    before, under = text[:at], text[at : at + length]
    return [gutter + text, " " * (len(gutter) + _columns(before)) + "^" * max(1, _columns(under))]


def _columns(text: str) -> int:
    """Columns of a terminal that characters take: wide ones two, marks on others none."""
    if text.isascii():
        return len(text)
    marks = sum(unicodedata.category(char) in {"Mn", "Me", "Cf"} for char in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(char) in "WF" for char in text)
