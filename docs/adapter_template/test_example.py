# ruff: noqa: D102, D103, INP001 - tests say by their names what they are about
"""The adapter over a shop of three things: what comes back, what was asked for it, and what is wrong is said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fff_example import ExampleSource

import fff
from fff.web.client import WebClient
from fff_sources.adapter import SourceContext
from fff_sources.document import parse_document

THINGS = [
    {"id": 1, "name": "cup", "price": 3.5},
    {"id": 2, "name": "pot", "price": None},
    {"id": 3, "name": "pan", "price": 12.25},
]


class Shop(BaseHTTPRequestHandler):
    """Two things a page; one thing by its id."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if path == "/things":
            page = int(query.removeprefix("page="))
            answer = {
                "things": THINGS[(page - 1) * 2 : page * 2],
                "total": 3,
                "next": 2 if page == 1 else None,
            }
        else:
            answer = next((thing for thing in THINGS if path == f"/things/{thing['id']}"), None)
        self.send_response(200 if answer else 404)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def shop() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def spec(shop: ThreadingHTTPServer, folder: Path) -> Path:
    file = folder / "shop.yaml"
    url = f"http://127.0.0.1:{shop.server_port}"
    file.write_text(f"version: 1\nsources:\n  shop: {{type: example, base_url: '{url}'}}\n")
    return file


def test_scan_and_lookup(shop: ThreadingHTTPServer, tmp_path: Path) -> None:
    with fff.connect(spec(shop, tmp_path)) as federation:
        result = federation.sql("SELECT id, price FROM shop.things")
        assert result.complete
        rows = sorted(result.to_arrow().to_pylist(), key=lambda row: row["id"])
        assert rows == [
            {"id": 1, "price": Decimal("3.50")},
            {"id": 2, "price": None},
            {"id": 3, "price": Decimal("12.25")},
        ]
        assert federation.sql("SELECT name FROM shop.things WHERE id = 2").to_arrow().to_pylist() == [
            {"name": "pot"}
        ]
        assert federation.sql("SELECT name FROM shop.things WHERE id = 9").to_arrow().to_pylist() == []
    assert shop.asked[:2] == ["/things?page=1", "/things?page=2"]  # type: ignore[attr-defined]


def test_what_is_wrong_with_a_spec() -> None:
    document = parse_document("version: 1\nsources:\n  shop: {type: example, colour: red}\n", "shop.yaml")
    context = SourceContext("shop", document, {}, Path(), WebClient())
    assert [str(error) for error in ExampleSource.lint(context)] == [
        "shop.yaml:3: sources.shop.colour: unknown key",
        "shop.yaml:3: sources.shop.base_url: is missing",
    ]
