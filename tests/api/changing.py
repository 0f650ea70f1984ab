"""A site of one table whose rows change: what streams read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.engine.site import Site

Row = dict[str, Any]


@dataclass
class Changing(Site):
    """Rows by id, each with the number of its last change, in pages of three; knows `since`."""

    tables: dict[str, Any] = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    broken: bool = False

    def put(self, key: int, at: int | None, state: str = "open") -> None:
        self.rows[key] = {"id": key, "state": state, "at": at}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        since = request.query.get("since")
        rows = [
            row
            for row in self.rows.values()
            if since is None or (row["at"] is not None and row["at"] >= int(since))
        ]
        page = int(request.query["page"])
        if self.broken and page > 1:
            return web.json_response({}, status=403)
        part = rows[3 * page - 3 : 3 * page]
        return web.json_response({"rows": part, "pages": max(1, -(-len(rows) // 3)), "total": len(rows)})


def changing(lookback: int = 0) -> dict[str, Any]:
    """Two tables of the site, `t` and one that does not tell changes."""
    paginator = {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": "pages"}
    told = {
        "columns": {"id": "int", "state": "string", "at": "bigint"},
        "primary_key": "id",
        "scan": {"endpoint": {"path": "t", "data_selector": "rows", "paginator": paginator}},
    }
    changes = {"column": "at", "param": "since", "lookback": lookback}
    return {"t": told | {"changes": changes}, "silent": told}
