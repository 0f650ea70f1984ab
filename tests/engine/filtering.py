"""A web site that filters: it compares what it stores, which is more than the declared types of its columns hold."""

from __future__ import annotations

import asyncio
import datetime as dt
import operator
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from aiohttp import web

FILTERS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EPOCH = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)

#: Declared type of each column, and the operators that the site has a parameter for.
COLUMNS = {
    "id": "int",
    "n": "int",
    "k": "bigint",
    "m": "decimal(8,1)",
    "x": "double",
    "d": "date",
    "ts": "timestamp",
    "tn": "timestamp_ntz",
    "s": "string",
}


def key_columns(rng: random.Random) -> list[dict[str, Any]]:
    """Some of the operators of each column, each said by a parameter of its own."""
    declared = []
    for name in COLUMNS:
        known = [one for one in FILTERS if one != "=" or name in "nks"]  # what is rounded equals nothing
        operators = [one for one in known if rng.random() < 0.5]
        if name != "id" and operators:
            params = {one: f"{name}.{list(FILTERS).index(one)}" for one in operators}
            declared.append({"name": name, "operators": operators, "param": params})
    return declared


def stored(rng: random.Random, number: int) -> dict[str, Any]:
    """A record as the site keeps it; any value may be NULL."""
    moment = _EPOCH + dt.timedelta(seconds=rng.randrange(0, 40 * 3600), milliseconds=rng.randrange(1000))
    zone = dt.timezone(dt.timedelta(hours=rng.randrange(-11, 13)))
    record: dict[str, Any] = {
        "n": rng.randrange(-3, 8),
        "k": rng.choice([rng.randrange(-3, 8), 2**40 + rng.randrange(3)]),
        "m": Decimal(rng.randrange(-300, 300)).scaleb(-2),  # read with one digit
        "x": Decimal(rng.randrange(-40, 40)) / 8 + Decimal(rng.choice([0, 0, 1, -1])).scaleb(-25),
        "d": moment.astimezone(zone),
        "ts": moment.astimezone(zone),
        "tn": moment.astimezone(zone),
        "s": rng.choice(["a", "B", "b", "ba", "Á", ""]),
    }
    return {"id": number} | {name: None if rng.random() < 0.08 else value for name, value in record.items()}


def _written(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.datetime) else value


@dataclass
class FilteringSite:
    """Rows under `/scan` in pages, and by n under `/get/{n}`; `honours`: the parameters have an effect."""

    rows: list[dict[str, Any]]
    honours: bool = True
    page: int = 7
    sent: int = 0  # rows that went out
    requests: list[dict[str, str]] = field(default_factory=list)  # the filters of each
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        rows = self.rows
        if request.path.startswith("/get/"):
            rows = [row for row in rows if str(row["n"]) == request.path.rpartition("/")[2]]
        self.requests.append({name: text for name, text in sorted(request.query.items()) if "." in name})
        for name, text in self.requests[-1].items():
            rows = [row for row in rows if not self.honours or self._passes(row, name, text)]
        if request.path == "/scan":
            start = int(request.query["offset"])
            body: dict[str, Any] = {"total": len(rows)}
            rows = rows[start : start + self.page]
        else:
            body = {}
        self.sent += len(rows)
        items = ",".join(_json(row) for row in rows)
        return web.Response(
            text=f'{{"total": {body.get("total", 0)}, "items": [{items}]}}', content_type="application/json"
        )

    def _passes(self, row: dict[str, Any], name: str, text: str) -> bool:
        column, _, number = name.partition(".")
        value = row[column]
        if value is None:
            return False
        if number == "like":  # whatever the case
            parts = (re.escape(part) for part in text.split("%"))
            return re.fullmatch(".*".join(parts), value, re.IGNORECASE | re.DOTALL) is not None
        compare = list(FILTERS.values())[int(number)]
        if isinstance(value, str):  # in an order of its own: case does not matter
            return compare(value.lower(), text.lower())
        if isinstance(value, dt.datetime):  # a time without a zone is one here, at UTC
            said = dt.datetime.fromisoformat(text)
            return compare(value, said if said.tzinfo is not None else said.replace(tzinfo=dt.UTC))
        assert re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text), f"{name}={text} is no number"
        return compare(Decimal(value), Decimal(text))


def _json(row: dict[str, Any]) -> str:
    """Numbers with all their digits."""
    parts = []
    for name, value in row.items():
        written = _written(value)
        text = (
            "null"
            if written is None
            else f'"{written}"'
            if isinstance(written, str)
            else f"{written:f}"
            if isinstance(written, Decimal)
            else str(written)
        )
        parts.append(f'"{name}": {text}')
    return "{" + ", ".join(parts) + "}"


def predicate(rng: random.Random, alias: str) -> str:
    """A condition on one or two columns; most can be said to the site."""
    kind = rng.random()
    if kind < 0.12:
        return f"({predicate(rng, alias)} OR {predicate(rng, alias)})"
    name = rng.choice([one for one in COLUMNS if one != "id"])
    column, low, high = f"{alias}.{name}", constant(rng, name), constant(rng, name)
    if kind < 0.3:
        return f"{column} BETWEEN {low} AND {high}"
    if kind < 0.4:
        return f"{column} IN ({low}, {high})"
    if kind < 0.45:
        return f"{column} IS NOT NULL"
    return f"{column} {rng.choice(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {low}"


def constant(rng: random.Random, name: str) -> str:
    """A constant of the column's type, near values that the site has."""
    moment = _EPOCH + dt.timedelta(hours=rng.randrange(-2, 44), milliseconds=rng.choice([0, 0, 500]))
    match name:
        case "n" | "k":
            return str(rng.randrange(-3, 8))
        case "m":
            return str(Decimal(rng.randrange(-30, 30)).scaleb(-1))
        case "x":
            return str(Decimal(rng.randrange(-40, 40)) / 8)
        case "d":
            return f"DATE '{moment.date()}'"
        case "ts":
            return f"'{moment:%Y-%m-%dT%H:%M:%S.%f}Z'"
        case "tn":
            return f"TIMESTAMP_NTZ '{moment:%Y-%m-%d %H:%M:%S.%f}'"
        case _:
            return f"'{rng.choice(['a', 'b', 'B', 'ba', ''])}'"


def statement(rng: random.Random) -> str:
    """A query over one or two aliases of the table, answered without Spark."""
    wanted = " AND ".join(predicate(rng, "t") for _ in range(rng.randrange(1, 4)))
    if rng.random() < 0.5:
        return f"SELECT t.id, t.s FROM t WHERE {wanted}"
    other = " AND ".join(predicate(rng, "u") for _ in range(rng.randrange(0, 3)))
    return f"SELECT t.id, u.id FROM t JOIN t AS u ON t.n = u.n WHERE {wanted}" + (
        f" AND {other}" if other else ""
    )
