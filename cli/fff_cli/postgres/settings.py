"""What a session has set, as PostgreSQL's SET and SHOW have it: most is fixed, some is about its queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import pyarrow as pa

from fff.budget import Money
from fff.errors import UsageError
from fff.structs import lazy_pattern
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
    "transaction_read_only": "on",
    "max_identifier_length": "63",
    "lc_collate": "C",
    "lc_ctype": "C",
}
#: What sessions may set to no effect, and are shown again.
_NOTED = {"search_path": "public", "application_name": "", "extra_float_digits": "1"}
#: What a session may set of its queries, and what holds otherwise: within the server's limits.
_OURS = {
    "statement_timeout": "0", "fff.partial": "off", "fff.max_requests": "", "fff.budget": "", "fff.prefer": "balanced", "fff.rows": "",
}  # fmt: skip
REPORTED = [
    "server_version", "server_encoding", "client_encoding", "DateStyle", "IntervalStyle", "TimeZone",
    "integer_datetimes", "standard_conforming_strings", "is_superuser", "session_authorization",
    "default_transaction_read_only",
]  # fmt: skip
_SET = lazy_pattern(
    r"\s*set\s+(?:session\s+|(?P<local>local)\s+)?(?P<name>time\s+zone|session\s+characteristics|transaction|[\w.\"]+)"
    r"(?:\s*(?:=|\bto\b)\s*|\s+)(?P<value>.*?)\s*",
    re.IGNORECASE | re.DOTALL,
)
_MILLISECONDS = {"us": 0.001, "ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_ON, _OFF = ("on", "true", "1", "yes"), ("off", "false", "0", "no")
_OPTION = lazy_pattern(r"(?:-c\s*|--)(?P<name>[\w.-]+)=(?P<value>(?:\\.|\S)*)")
_TABLES = ("tables", "columns", "databases", "schemas")  # SHOW of these is a statement of Spark's


class SessionSettings:
    """What one session has set."""

    def __init__(self) -> None:
        self._set: dict[str, str] = {}
        self._before: dict[str, str] | None = None  # of the transaction under way, if any
        self._local: set[str] = set()  # for the transaction under way alone

    @property
    def takes_parts(self) -> bool:
        """Whether rows that are not the whole answer are one, with a warning."""
        return self._set.get("fff.partial", "off").lower() in _ON

    def begun(self) -> None:
        """A transaction has begun."""
        self._before = dict(self._set)

    def ended(self, *, well: bool) -> None:
        """It has ended: what was set in it holds on, unless it was rolled back or for it alone."""
        if self._before is None:
            return
        for name in [*self._set, *self._before] if not well else self._local:
            if name in self._before:
                self._set[name] = self._before[name]
            else:
                self._set.pop(name, None)
        self._before = None
        self._local.clear()

    def reset(self, sql: str = "RESET ALL") -> None:
        """Forget one, or all."""
        name = _named(sql.strip(" ;\n\t").split(None, 1)[-1])
        if name == "all":
            self._set.clear()
        self._set.pop(name, None)

    def of_queries(self) -> dict[str, object]:
        """What it says of queries, as members of a request (`fff_cli.serve.queries.MEMBERS`)."""
        members: dict[str, object] = {
            name: self._set[f"fff.{name}"] for name in ("budget", "prefer") if f"fff.{name}" in self._set
        }
        for name in ("max_requests", "rows"):
            if f"fff.{name}" in self._set:
                members[name] = int(self._set[f"fff.{name}"])
        if milliseconds := _milliseconds(self._set.get("statement_timeout", "0")):
            members["deadline"] = milliseconds / 1000
        return members

    def change(self, sql: str, limits: ServeLimits) -> str | None:
        """Obey a SET; what to warn of, if anything. Most of what is PostgreSQL's is taken note of by nobody.

        Raises UsageError.
        """
        match = _SET.fullmatch(sql)
        if match is None:
            raise UsageError("this SET is not understood", hint="SET name = value")
        if match["local"] and self._before is None:
            return None  # to the end of this statement
        name = _named(match["name"])
        value = match["value"].strip().strip("'\"")
        self.put(name, value, limits)
        if match["local"]:
            self._local.add(name)
        else:
            self._local.discard(name)
        utc = value.lower() in ("utc", "etc/utc", "gmt", "z", "0", "default", "local")
        return None if name != "timezone" or utc else "days and moments are in UTC here, whatever is set"

    def put(self, name: str, value: str, limits: ServeLimits) -> None:
        """Set one. Raises UsageError."""
        if name in (*_OURS, *_NOTED) and value.lower() == "default":
            self._set.pop(name, None)
        elif name in _NOTED:
            self._set[name] = value
        elif name in _OURS:
            if not _fits(name, value, limits):
                raise UsageError(f"{value!r} will not do for {name}")
            self._set[name] = value
        elif name.startswith("fff."):
            raise UsageError(f"there is no setting {name!r}", hint=f"known are {', '.join(sorted(_OURS))}")
        elif name == "client_encoding" and value.lower().replace("-", "") not in (
            *("utf8", "unicode", "default"),
        ):
            raise UsageError("all text is UTF-8 here", hint="SET client_encoding = 'UTF8'")

    def shown(self, sql: str) -> Batch | None:
        """What SHOW of a setting says; None for other statements. Raises UsageError."""
        tokens = words(sql)
        if tokens[:1] != ["show"] or tokens[1:2] in ([one] for one in _TABLES):
            return None
        name = _named(sql.strip(" ;\n\t").split(None, 1)[-1])
        told = SETTINGS | _NOTED | _OURS | self._set
        if name == "all":
            columns = {"name": list(told), "setting": list(told.values()), "description": [""] * len(told)}
            return pa.record_batch({one: pa.array(texts, pa.string()) for one, texts in columns.items()})
        known = {one.lower(): text for one, text in told.items()}
        if name not in known:
            raise UsageError(f"there is no setting {name!r}")
        return pa.record_batch({name: pa.array([known[name]], pa.string())})


def _named(written: str) -> str:
    """A setting as it is called here."""
    name = " ".join(written.lower().replace('"', "").split())
    return {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}.get(name, name)


def started_with(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What a client sets as it connects: by name, or as `-c name=value` among its options. Raises UsageError."""
    for name, value in settings.items():
        if name == "options":
            for one in _OPTION.finditer(value):
                yield _named(one["name"].replace("-", "_")), one["value"].replace("\\ ", " ")
        elif name not in ("user", "database", "replication", "client_encoding"):  # which it is told of
            yield _named(name), value


def _milliseconds(text: str) -> float:
    """A length of time: a number of milliseconds, or one with its unit. Raises ValueError."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(number) :].strip() or "ms"
    if unit not in _MILLISECONDS:
        raise ValueError(text)
    return float(number) * _MILLISECONDS[unit]


def _fits(name: str, value: str, limits: ServeLimits) -> bool:
    """Whether a value will do for a setting of ours. Raises UsageError."""
    try:
        match name:
            case "statement_timeout":
                return 0 <= _milliseconds(value) < float("inf")
            case "fff.max_requests":
                return int(value) > 0
            case "fff.rows":
                return int(value) >= 0
            case "fff.partial":
                return value.lower() in (*_ON, *_OFF)
            case "fff.budget":
                return bool(Money.parse(value))
            case _:
                return bool(asked_query({"sql": "SELECT 1", "prefer": value}, limits))
    except ValueError:
        return False
