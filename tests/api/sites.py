"""The sites that programs read here: one of two tables to join, one of a table in pages that readers share out."""

from __future__ import annotations

import asyncio
import collections
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.engine.site import Site, access

INTS = {"a": "int", "b": "int"}
ROWS = [(number, number * 3 % 7) for number in range(45)]


def site(rows: int = 45) -> Site:
    return Site({"r": (("a", "b"), ROWS[:rows]), "s": (("a", "b"), [(key, 10 * key) for key in range(7)])})


TABLES = {"r": access("r", INTS), "s": access("s", INTS, scan=False, lookups=["a"])}
JOIN = "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a"


@dataclass
class Pages(Site):
    """One table, `r`, in pages by number or offset, and what was asked for."""

    style: str = "number"  # number | offset
    cap: int | None = None  # the most records a page has, whatever is asked for
    ignores_page: bool = False
    short: int | None = None  # a page that has one record less than it should
    hidden: tuple[int, ...] = ()  # rows that are left out of pages once these are cut
    asked: collections.Counter[int] = field(default_factory=collections.Counter)
    in_flight: int = 0
    most: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0.001)
        _, rows = self.tables["r"]
        rows = [row for row in rows if row[0] >= int(request.query.get("least", 0))]
        size = min(int(request.query.get("limit", self.page)), self.cap or self.page)
        at = int(request.query["offset"] if self.style == "offset" else request.query["page"])
        self.asked[at] += 1
        start = at if self.style == "offset" else (at - 1) * size
        part = rows[0:size] if self.ignores_page else rows[start : start + size]
        if at == self.short:
            part = part[:-1]
        items = [{"a": a, "b": b} for a, b in part if a not in self.hidden]
        self.in_flight -= 1
        return web.json_response({"items": items, "total": len(rows), "pages": -(-len(rows) // size)})


PAGINATORS = {
    "total": {"type": "page_number", "page_param": "page", "base_page": 1, "total_rows_path": "total"},
    "pages": {"type": "page_number", "page_param": "page", "base_page": 1, "total_path": "pages"},
    "offset": {"type": "offset", "offset_param": "offset", "page_size": 10, "page_size_param": "limit", "total_path": "total"},
    "bare": {"type": "page_number", "page_param": "page", "base_page": 1},
}  # fmt: skip


def tables(paginator: str, **more: Any) -> dict[str, dict[str, Any]]:
    endpoint = {"path": "r", "data_selector": "items", "paginator": PAGINATORS[paginator] | more}
    return {"r": {"columns": {"a": "int", "b": "string"}, "scan": {"endpoint": endpoint}}}


def pages(rows: int, paginator: str, **more: Any) -> Pages:
    style = "offset" if paginator == "offset" else "number"
    return Pages({"r": (("a", "b"), [(n, f"x{n % 5}") for n in range(rows)])}, style=style, **more)
