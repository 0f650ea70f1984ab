"""A Datasette of a few rows, and specs of it."""

from __future__ import annotations

import json
import sqlite3
from urllib.parse import unquote

from aiohttp import web

from tests.web.serving import Served

TABLES = """
CREATE TABLE r (id INTEGER PRIMARY KEY, x TEXT, v INTEGER, f FLOAT, made DATE, odd, price NUMERIC(8,2), raw BLOB);
CREATE TABLE "a table/" ("a b" TEXT NOT NULL, y INT NOT NULL, PRIMARY KEY ("a b", y));
CREATE TABLE loose (x TEXT PRIMARY KEY, X2 TEXT);
CREATE VIEW sums AS SELECT x, v + 1 AS w FROM r;
CREATE TABLE r_fts (x TEXT);
INSERT INTO "a table/" VALUES ('q''', 1), ('z, z', 2), ('[1]', 3), ('é&=', 4);
"""
COMPARED = {"exact": "=", "not": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "like": "LIKE"}
INFINITE = (float("inf"), float("-inf"))  # JSON has none: null, where nobody asks for Infinity
SPEC = """
version: 1
sources:
  ds:
    type: datasette
    client: {{base_url: "{url}", retry: {{max_attempts: 1}}}}
    {more}
"""


class FakeDatasette:
    """The pages of Datasette 0.65 over SQLite, as far as adapters ask for them; `later` speaks as 1.0 does."""

    page = 3  # rows at most

    def __init__(
        self, *, sql: bool = True, later: bool = False, databases: tuple[str, ...] = ("race",)
    ) -> None:
        self.sql, self.later, self.databases = sql, later, databases
        self.db = sqlite3.connect(":memory:")
        self.db.row_factory = sqlite3.Row
        self.db.executescript(TABLES)
        for number in range(8):
            values = (number, f"k{number % 4}", number, number / 2, "2024-01-01", "5", 1.5, None)
            self.db.execute("INSERT INTO r VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    async def __call__(self, request: web.Request) -> web.Response:
        path = unquote(request.path.replace("~2F", "%2F").replace("+", " "))
        if path == "/-/databases.json":
            listed = [{"name": name, "route": name} for name in (*self.databases, "_memory")]
            return web.json_response({"ok": True, "databases": listed} if self.later else listed)
        database, slash, table = path[1:].removesuffix(".json").partition("/")
        if database not in self.databases:
            return web.json_response({"ok": False, "error": "Database not found"}, status=404)
        if slash:
            return self._rows(table, request)
        return self._described(request) if "sql" in request.query else self._listed()

    def _listed(self) -> web.Response:
        names = "SELECT name FROM sqlite_master WHERE type = ?"
        tables = [{"name": name, "hidden": name == "r_fts"} for (name,) in self.db.execute(names, ("table",))]
        views = [{"name": name} for (name,) in self.db.execute(names, ("view",))]
        return web.json_response({"tables": tables, "views": views})

    def _described(self, request: web.Request) -> web.Response:
        if not self.sql:
            return web.json_response({"ok": False, "error": "Permission denied"}, status=403)
        found = self.db.execute(request.query["sql"], {"t": request.query["t"]})
        return web.json_response({"ok": True, "rows": list(map(dict, found)), "truncated": False})

    def _rows(self, table: str, request: web.Request) -> web.Response:
        query, values, where = request.query, list[object](), "1"
        for name, text in query.items():
            column, _, operator = name.partition("__")
            if operator in COMPARED:
                where += f' AND "{column}" {COMPARED[operator]} ?'
                values.append(text)
            elif operator == "in":
                many = json.loads(text) if text.startswith("[") else [one.strip() for one in text.split(",")]
                where += f' AND "{column}" IN ({",".join("?" * len(many))})'
                values += many
        picked = ", ".join(f'"{name}"' for name in query.getall("_col", [])) or "*"
        start = int(query.get("_next", 0))
        if (by := query.get("_sort") or query.get("_sort_desc")) is not None:
            where += f' ORDER BY "{by}" {"DESC" if "_sort_desc" in query else ""}, rowid'
        sql = f'SELECT {picked} FROM "{table}" WHERE {where} LIMIT {self.page + 1} OFFSET {start}'
        found = list(map(dict, self.db.execute(sql, values)))
        if query.get("_json_infinity") != "1":
            found = [
                {name: None if value in INFINITE else value for name, value in row.items()} for row in found
            ]
        following = str(start + self.page) if len(found) > self.page else None
        answer = {"rows": found[: self.page], "next": following, "truncated": False}
        return web.json_response(answer if self.later else {**answer, "filtered_table_rows_count": None})


def spec(served: Served, more: str = "") -> str:
    return SPEC.format(url=served.url, more=more)
