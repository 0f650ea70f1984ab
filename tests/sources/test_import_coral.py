"""Coral's manifests, hand-made: imported, asked over a real wire; what cannot be said is told, and no secret is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

import fff
from fff.errors import UsageError
from fff_sources.importing.translate import Imported, import_document
from tests.web.serving import Serve

TOKEN = "s3cr3t-0123456789-abcdefghij"


class Shop:
    """Groups of five members, in pages of two."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        if (
            request.headers.get("Authorization") != f"Bearer {TOKEN}"
            or request.headers.get("X-Version") != "2"
        ):
            return web.json_response({}, status=401)
        if request.method == "POST":
            asked = await request.json()
            start = int(asked["variables"].get("after") or 0)
            nodes = [{"id": one, "tags": ["a", "b"]} for one in range(start, min(start + 2, 5))]
            end = {"after": str(start + 2) if start < 4 else None}
            return web.json_response({"data": {"nodes": nodes, "page": end}})
        if request.path == "/groups/404/members":
            return web.json_response({}, status=404)
        state = request.query.get("state")
        members = [
            {"id": one, "user": {"name": f"u{one}"}, "state": "on" if one % 2 else "off"}
            for one in range(1, 6)
        ]
        members = [one for one in members if state in (None, one["state"])]
        size, page = int(request.query["per_page"]), int(request.query["page"])
        return web.json_response({"members": members[size * page - size : size * page]})


def column(name: str, kind: str = "Utf8", *path: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "expr": {"kind": "path", "path": list(path or (name,))}, **more}


MEMBERS = [column("id", "Int64"), column("name", "Utf8", "user", "name"), column("state")]
PAGES = {
    "mode": "page",
    "page_param": "page",
    "page_start": 1,
    "page_size": {"default": 2, "max": 100, "query_param": "per_page"},
}
QUERY = [
    {"name": "state", "from": "filter", "key": "state"},
    {"name": "q", "from": "filter", "key": "term"},
]


def manifest(url: str, *tables: dict[str, Any], **more: Any) -> str:
    headers = [
        {"name": "Authorization", "from": "template", "template": "Bearer {{secret.SHOP_TOKEN}}"},
        {"name": "X-Version", "from": "literal", "value": "2"},
    ]
    about = {
        "name": "shop",
        "version": "1",
        "dsl_version": 3,
        "backend": "http",
        "auth": {"headers": headers},
    }
    return yaml.safe_dump({**about, "base_url": url, "tables": list(tables), **more})


def table(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": name,
        "columns": MEMBERS,
        "pagination": PAGES,
        "response": {},
        **more,
    }


MEMBERS_OF = table(
    "members",
    filters=[{"name": "id", "required": True}, {"name": "state"}, {"name": "term"}],
    request={"method": "GET", "path": "/groups/{{filter.id}}/members", "query": QUERY},
    response={"rows_path": ["members"], "allow_404_empty": True},
    columns=[
        *MEMBERS,
        {"name": "term", "type": "Utf8", "virtual": True, "expr": {"kind": "from_filter", "key": "term"}},
    ],
)
USERS = table(
    "users",
    filters=[{"name": "state"}, {"name": "term"}],
    request={"method": "GET", "path": "/users", "query": QUERY},
    response={"rows_path": ["members"]},
)
TAGS = table(
    "tags",
    request={
        "method": "POST",
        "path": "/graphql",
        "body": [
            {"path": ["query"], "from": "literal", "value": "query($after: String) { nodes { id } }"},
            {"path": ["variables", "first"], "from": "literal", "value": 2},
        ],
    },
    response={"rows_path": ["data", "nodes"]},
    pagination={
        "mode": "cursor_body",
        "cursor_body_path": ["variables", "after"],
        "response_cursor_path": ["data", "page", "after"],
        "page_size": {"default": 2, "max": 2, "body_path": ["variables", "first"]},
    },
    columns=[
        column("id", "Int64"),
        {"name": "tags", "type": "Utf8", "expr": {"kind": "join_array", "path": ["tags"]}},
    ],
)


def read(text: str, **more: Any) -> Imported:
    return import_document(text, "manifest.yaml", shown="manifest.yaml", **more)


async def asked(found: Imported, sql: str, tmp_path: Path) -> list[tuple[Any, ...]]:
    (tmp_path / "fff.yaml").write_text(found.text)
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        result = await federation.sql(sql)
        assert result.complete
        return sorted(tuple(row.values()) for row in result.to_arrow().to_pylist())


async def test_tables_answer_as_theirs_do(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    shop = Shop()
    found = read(manifest((await serve(shop.answer)).url, MEMBERS_OF, USERS, TAGS))
    assert found.report.variables == ["SHOP_TOKEN"]
    assert set(found.report.written.values()) == {"shop.members", "shop.users", "shop.tags"}
    five = [(one, f"u{one}") for one in range(1, 6)]
    # The id of a group is not that of its members.
    assert await asked(found, "SELECT id, name FROM members WHERE group_id = '7'", tmp_path) == five
    assert {path.partition("?")[0] for path in shop.asked} == {"/groups/7/members"}
    assert await asked(found, "SELECT id FROM members WHERE group_id = '404'", tmp_path) == []
    shop.asked.clear()
    assert await asked(found, "SELECT id, name FROM users WHERE state = 'off'", tmp_path) == [
        five[1],
        five[3],
    ]
    assert all("state=off" in path for path in shop.asked), "what records say is sent along"
    assert await asked(found, "SELECT id, tags FROM tags", tmp_path) == [
        (one, '["a", "b"]') for one in range(5)
    ]


def test_the_report_says_what_is_different() -> None:
    hard = table(
        "hard",
        request={
            "method": "GET",
            "path": "/hard",
            "query": [
                {"name": "from", "from": "now_epoch_minus_seconds", "seconds": 60},
                {"name": "kind", "from": "filter", "key": "kind", "default": "big"},
                {"name": "api_key", "from": "literal", "value": TOKEN},
            ],
        },
        filters=[{"name": "kind"}],
        columns=[column("id"), {"name": "x", "type": "Utf8", "expr": {"kind": "null"}}],
        pagination={"mode": "surprise"},
    )
    bad = [
        table(
            "lists", request={"method": "GET", "path": "/x"}, response={"row_strategy": "series_point_list"}
        ),
        table("put", request={"method": "PUT", "path": "/x"}),
        table("computed", request={"method": "GET", "path": "/x/{{ 1 + 1 }}"}),
        table("unsaid", request={"method": "GET", "path": "/x/{{filter.y}}"}, filters=[{"name": "y"}]),
    ]
    found = read(manifest("{{variable.SHOP_URL|https://shop.example}}", hard, *bad))
    assert 'base_url: "https://shop.example"' in found.text
    assert TOKEN not in found.text + str(found.report.as_json())
    assert "exhaustive: false" in found.text
    told = {
        note.field: (note.outcome, note.incomplete) for note in found.report.notes if note.table == "hard"
    }
    assert told["request.from"] == ("dropped", True)
    assert told["request.kind"] == ("approximated", True)
    assert told["pagination"] == ("approximated", True)
    assert told["column x"] == ("dropped", False)
    assert found.report.left_out.keys() == {"lists", "put", "computed", "unsaid"}
    with pytest.raises(UsageError, match="files \\(parquet\\)"):
        read(manifest("x", table("files"), backend="parquet"))
