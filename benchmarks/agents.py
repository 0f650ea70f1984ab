"""Eighty questions of an agent: `python -m benchmarks.agents`. Is each answer right, or said to be incomplete
where the site does not answer all of it?

A scripted client of the protocol's own SDK talks to `fff mcp`, a process, over a site made here: tables in pages, tables
behind keys, a page that breaks, a total that is not reached, customers that are not answered. The truth is SQLite's over
the rows the site was made of. The replies' tokens are set beside those of the bodies that tools for one endpoint each would
have handed over: every page of the tables a question scans, every key it asks for.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml
from aiohttp import web

Verdict = Literal["right", "said to be incomplete", "wrong"]
Rows = list[tuple[Any, ...]]

PAGE = 50
ROW_CAP = 40
SILENT = {7, 13}  # customers that are not answered
BROKEN = ("reviews", 2)  # a page that is not answered
SHORT = "events"  # ends before its total
CITIES = ("Bern", "Lyon", "Oslo", "Pisa")
TABLES: dict[str, tuple[tuple[str, ...], Rows]] = {
    "orders": (
        ("id", "customer", "product", "amount", "year"),
        [(n, n * 7 % 40, n * 11 % 30, n * 13 % 97, 2020 + n % 4) for n in range(240)],
    ),
    "customers": (
        ("id", "name", "city"),
        [(n, f"customer {n}", CITIES[n % 4]) for n in range(40) if n % 10 != 9],
    ),
    "products": (("id", "name", "price"), [(n, f"product {n}", n * 17 % 90) for n in range(36)]),
    "reviews": (("id", "product", "stars"), [(n, n % 30, 1 + n * 3 % 8) for n in range(130)]),
    "events": (("id", "kind", "year"), [(n, n % 8, 2018 + n % 8) for n in range(90)]),
}
_TOKEN = re.compile(r"\w{1,4}|[^\w\s]")


@dataclass(frozen=True)
class Question:
    """What is asked, and which endpoints would have to be: all pages of `scans`, a customer for each row of `keys`."""

    words: str
    sql: str
    scans: tuple[str, ...] = ()
    keys: str | None = None


def questions() -> list[Question]:
    """Ten kinds of questions, each about eight things."""
    found = []
    for n in range(8):
        year, city = 2020 + n % 4, CITIES[n % 4]
        in_year = f"SELECT DISTINCT customer FROM orders WHERE year = {year} AND amount > {60 + n}"
        cheap = f"SELECT DISTINCT customer FROM orders WHERE product < {n + 2}"
        found += [
            Question("orders", f"SELECT id, amount FROM orders WHERE customer = {n}", ("orders",)),
            Question(
                "orders customers",
                f"SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer"
                f" WHERE o.year = {year} AND o.amount > {60 + n} AND c.city = '{city}'",
                ("orders",),
                in_year,
            ),
            Question("reviews", f"SELECT id, product FROM reviews WHERE stars = {n + 1}", ("reviews",)),
            Question("customers", f"SELECT name, city FROM customers WHERE id = {n * 2 + 3}", (), f"SELECT {n * 2 + 3}"),
            Question("products", f"SELECT name FROM products WHERE price < {n * 9 + 4}", ("products",)),
            Question("orders", f"SELECT id, customer, amount FROM orders WHERE year = {year} AND amount <> {n}", ("orders",)),
            Question(
                "orders products customers",
                "SELECT o.id, p.name, c.city FROM orders o JOIN products p ON p.id = o.product"
                f" JOIN customers c ON c.id = o.customer WHERE o.product < {n + 2}",
                ("orders", "products"),
                cheap,
            ),
            Question(
                "products orders",
                f"SELECT p.name FROM products p LEFT JOIN orders o ON o.product = p.id AND o.year = {year}"
                f" WHERE o.id IS NULL AND p.price > {n}",
                ("products", "orders"),
            ),
            Question(
                "orders sums",
                f"SELECT product, count(*) AS n, sum(amount) AS s FROM orders WHERE year = {year} AND amount > {n} GROUP BY product",
                ("orders",),
            ),
            Question("events", f"SELECT id FROM events WHERE kind = {n}", ("events",)),
        ]  # fmt: skip
    return found


def body(table: str, page: int) -> dict[str, Any] | None:
    """What the site answers for a page, counted from 0; None: nothing."""
    names, rows = TABLES[table]
    if (table, page) == BROKEN:
        return None
    shown = rows[:-15] if table == SHORT else rows
    part = shown[page * PAGE : (page + 1) * PAGE]
    return {"items": [dict(zip(names, row, strict=True)) for row in part], "total": len(rows)}


def customer(key: int) -> dict[str, Any] | None:
    """What the site answers for a customer; None: there is none."""
    names, rows = TABLES["customers"]
    return next((dict(zip(names, row, strict=True)) for row in rows if row[0] == key), None)


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    """The site."""
    table, *key = request.path.strip("/").split("/")
    if not key:
        found = body(table, int(request.query.get("page", 0)))
        return web.json_response(found or {"error": "down"}, status=200 if found else 500)
    if int(key[0]) in SILENT:
        return web.json_response({"error": "down"}, status=500)
    one = customer(int(key[0]))
    return web.json_response(one or {"error": "none"}, status=200 if one else 404)


def spec(url: str) -> dict[str, Any]:
    """The site as a source."""
    pages = {"type": "page_number", "base_page": 0, "page_param": "page", "total_rows_path": "total"}
    tables: dict[str, Any] = {
        name: {
            "columns": {column: "string" if isinstance(value, str) else "int" for column, value in zip(names, rows[0], strict=True)},
            "scan": {"endpoint": {"path": name, "data_selector": "items", "paginator": pages}},
        }
        for name, (names, rows) in TABLES.items()
    }  # fmt: skip
    del tables["customers"]["scan"]
    tables["customers"] |= {
        "key_columns": [{"name": "id", "require": "required", "operators": ["="]}],
        "lookups": [{"keys": ["id"], "endpoint": {"path": "customers/{id}", "data_selector": "$"}}],
        "on_status": [{"status_code": 404, "action": "empty"}],
    }
    client = {"base_url": url, "retry": {"max_attempts": 2, "max_delay": 0.01}}
    return {"version": 1, "sources": {"shop": {"client": client, "tables": tables}}}


@dataclass
class Tally:
    """What became of the questions."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    cut: int = 0  # answers that did not fit one reply
    tokens: int = 0
    beside: int = 0  # with a tool for each endpoint, each question by itself
    once: int = 0  # the same where no body comes twice in a session

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items())
        return (
            f"{self.verdicts.total()} questions: {counts}; {self.cut} answers in several replies\n"
            f"tokens of replies: {self.tokens}; of the bodies of a tool for each endpoint: {self.beside}"
            f" ({self.beside / self.tokens:.1f} times), {self.once} ({self.once / self.tokens:.1f}) where none comes twice"
        )


def judged(
    told: Rows, truth: Rows, *, complete: bool, missing: Sequence[object], hurt: bool = True
) -> Verdict:
    """Whether a reply is right; one that says it is incomplete is no wrong one where the question is hurt, whatever it holds."""
    if hurt and not complete and missing:
        return "said to be incomplete"
    return "right" if complete and not missing and Counter(told) == Counter(truth) else "wrong"


def tokens_of(text: str) -> int:
    """About how many tokens a text has: pieces of words of at most four letters, and signs."""
    return len(_TOKEN.findall(text))


class _NoAnswer(Exception):  # noqa: N818 - what a tool says, no fault of ours
    """A tool says that it has no answer."""


class ScriptedAgent:
    """A client that looks for tables, reads what they are like, asks, and fetches the rest of what was cut."""

    def __init__(self, session: Any, tally: Tally) -> None:
        self._session = session
        self._tally = tally
        self._known: set[str] = set()

    async def ask(self, question: Question) -> tuple[Rows, dict[str, Any]]:
        """The rows of the answer, and its first reply."""
        for word in question.words.split():
            if word in TABLES and word not in self._known:
                self._known.add(word)
                found = await self._call("search_tables", words=word)
                table = next(one["table"] for one in found["tables"] if one["table"].endswith(f".{word}"))
                await self._call("describe_table", table=table)
        try:
            first = reply = await self._call("query", sql=question.sql, max_rows=ROW_CAP)
        except _NoAnswer as told:  # the only source of the answer failed
            return [], {"complete": False, "missing": [str(told)]}
        rows = [tuple(row) for row in reply["rows"]]
        self._tally.cut += reply["cut"]
        while reply["next_row"] is not None:
            reply = await self._call(
                "fetch_rows", handle=first["handle"], first_row=reply["next_row"], max_rows=ROW_CAP
            )
            rows += [tuple(row) for row in reply["rows"]]
        return rows, first

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self._session.call_tool(tool, arguments)
        text = "".join(part.text for part in result.content)
        self._tally.tokens += tokens_of(text)
        if result.is_error:
            raise _NoAnswer(f"{tool} {arguments}: {text}")
        return dict(result.structured_content)


async def run(asked: Sequence[Question]) -> Tally:
    """Ask all questions in one session."""
    tally, truth, seen = Tally(), _truth(), set[str]()
    async with _session() as session:
        agent = ScriptedAgent(session, tally)
        for question in asked:
            rows, reply = await agent.ask(question)
            verdict = judged(
                rows,
                truth.execute(question.sql).fetchall(),
                complete=reply["complete"],
                missing=reply["missing"],
                hurt=_hurt(question, truth),
            )
            tally.verdicts[verdict] += 1
            if verdict == "wrong":
                tally.wrong.append(f"{question.sql}: {rows} {reply}")
            for text in _bodies(question, truth):
                tally.beside += tokens_of(text)
                tally.once += 0 if text in seen else tokens_of(text)
                seen.add(text)
    truth.close()
    return tally


def _truth() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    for name, (columns, rows) in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)
    return database


def _hurt(question: Question, truth: sqlite3.Connection) -> bool:
    """Whether the site does not answer all that the question needs."""
    keys = {key for (key,) in truth.execute(question.keys).fetchall()} if question.keys else set()
    return bool(keys & SILENT or {BROKEN[0], SHORT} & set(question.scans))


def _bodies(question: Question, truth: sqlite3.Connection) -> Iterator[str]:
    """What tools for one endpoint each would hand over."""
    for table in question.scans:
        for page in range(-(-len(TABLES[table][1]) // PAGE)):
            yield json.dumps(body(table, page) or {"error": "down"})
    for (key,) in truth.execute(question.keys).fetchall() if question.keys else []:
        yield json.dumps(customer(key) or {"error": "none"})


@asynccontextmanager
async def _session() -> AsyncIterator[Any]:
    import mcp  # noqa: PLC0415 - takes a second, which whoever only judges replies need not wait

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fff.yaml"
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            path.write_text(yaml.safe_dump(spec(url), sort_keys=False), encoding="utf-8")
            command = [sys.executable, "-m", "fff_cli", "mcp", "-s", str(path), "--only", "shop"]
            server = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
            async with mcp.Client(server, read_timeout_seconds=300) as session:
                yield session
    finally:
        await runner.cleanup()


def main() -> int:
    """Print the tally; fails where an answer is wrong and does not say so."""
    tally = asyncio.run(run(questions()))
    print(tally)
    print(*tally.wrong, sep="\n", file=sys.stderr)
    return int(bool(tally.wrong))


if __name__ == "__main__":
    sys.exit(main())
