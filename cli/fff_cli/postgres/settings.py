"""What a session has set, as PostgreSQL's SET and SHOW have it: most is fixed, some is about its queries."""

from __future__ import annotations

import re
from typing import TypeAlias

import pyarrow as pa

from fff.budget import Money
from fff.errors import UsageError
from fff_cli.postgres.dialect import words
from fff_cli.serve.queries import ServeLimits, asked_query

Batch: TypeAlias = pa.RecordBatch

#: Told of at the start, and by SHOW.
SETTINGS = {
    "server_version": "15.0",
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "session_authorization": "fff",
    "default_transaction_read_only": "on",
    "transaction_isolation": "read committed",
    "max_identifier_length": "63",
    "search_path": "public",
}
REPORTED = [
    "server_version", "server_encoding", "client_encoding", "DateStyle", "IntervalStyle", "TimeZone",
    "integer_datetimes", "standard_conforming_strings", "is_superuser", "session_authorization",
    "default_transaction_read_only",
]  # fmt: skip
#: What a session may set of its queries: within the server's limits.
_OURS = {"statement_timeout", "fff.partial", "fff.max_requests", "fff.budget", "fff.prefer", "fff.rows"}
_SET = re.compile(
    r"\s*set\s+(?:session\s+|local\s+)?(?P<name>time\s+zone|session\s+characteristics|transaction|[\w.\"]+)"
    r"(?:\s*(?:=|\bto\b)\s*|\s+)(?P<value>.*?)\s*",
    re.IGNORECASE | re.DOTALL,
)
_ON, _OFF = ("on", "true", "1", "yes"), ("off", "false", "0", "no")
_TABLES = ("tables", "columns", "databases", "schemas")  # SHOW of these is a statement of Spark's


class SessionSettings:
    """What one session has set."""

    def __init__(self) -> None:
        self._set: dict[str, str] = {}

    @property
    def takes_parts(self) -> bool:
        """Whether rows that are not the whole answer are one, with a warning."""
        return self._set.get("fff.partial", "off").lower() in _ON

    def reset(self) -> None:
        """Forget it."""
        self._set.clear()

    def of_queries(self) -> dict[str, object]:
        """What it says of queries, as members of a request (`fff_cli.serve.queries.MEMBERS`)."""
        members: dict[str, object] = {
            name: self._set[f"fff.{name}"] for name in ("budget", "prefer") if f"fff.{name}" in self._set
        }
        for name in ("max_requests", "rows"):
            if f"fff.{name}" in self._set:
                members[name] = int(self._set[f"fff.{name}"])
        if milliseconds := float(self._set.get("statement_timeout", 0)):
            members["deadline"] = milliseconds / 1000
        return members

    def change(self, sql: str, limits: ServeLimits) -> None:
        """Obey a SET. What is PostgreSQL's alone is taken note of by nobody. Raises UsageError."""
        match = _SET.fullmatch(sql)
        if match is None:
            raise UsageError("this SET is not understood", hint="SET name = value")
        name = match["name"].strip('"').lower()
        value = match["value"].strip().strip("'\"")
        if name in _OURS:
            if not _fits(name, value, limits):
                raise UsageError(f"{value!r} will not do for {name}")
            self._set[name] = value
        elif name.startswith("fff."):
            raise UsageError(f"there is no setting {name!r}", hint=f"known are {', '.join(sorted(_OURS))}")
        elif name == "client_encoding" and value.lower().replace("-", "") not in (
            "utf8",
            "unicode",
            "default",
        ):
            raise UsageError("all text is UTF-8 here", hint="SET client_encoding = 'UTF8'")

    def shown(self, sql: str) -> Batch | None:
        """What SHOW of a setting says; None for other statements. Raises UsageError."""
        tokens = words(sql)
        if tokens[:1] != ["show"] or tokens[1:2] in ([one] for one in _TABLES):
            return None
        name = sql.strip().split(None, 1)[-1].strip('"; ').lower()
        name = {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}.get(
            name, name
        )
        known = {one.lower(): text for one, text in (SETTINGS | self._set).items()}
        if name not in known:
            raise UsageError(f"there is no setting {name!r}")
        return pa.record_batch({name: pa.array([known[name]], pa.string())})


def _fits(name: str, value: str, limits: ServeLimits) -> bool:
    """Whether a value will do for a setting of ours. Raises UsageError."""
    try:
        match name:
            case "statement_timeout":
                return float(value) >= 0
            case "fff.max_requests" | "fff.rows":
                return int(value) >= 0
            case "fff.partial":
                return value.lower() in (*_ON, *_OFF)
            case "fff.budget":
                return bool(Money.parse(value))
            case _:
                return bool(asked_query({"sql": "SELECT 1", "prefer": value}, limits))
    except ValueError:
        return False
