"""Programs with configurations of dlt, hand-made: read and never run, asked over a real wire, without their secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import fff
from fff.errors import UsageError
from fff_sources.importing.counting import count_folder
from fff_sources.importing.translate import Imported, import_document
from tests.web.serving import Serve

SECRET = "s3cr3t-0123456789-abcdefghij"
PROGRAM = """
import os, sys, dlt
from dlt.sources.rest_api import rest_api_source
raise SystemExit("nobody runs this")
SIZE = 2
BASE = "URL"

@dlt.source(name="blog")
def blog_source(token=dlt.secrets.value, start=None):
    config: RESTAPIConfig = {
        "client": {
            "base_url": BASE,
            "auth": ({"type": "api_key", "name": "X-Key", "api_key": token} if token else None),
            "headers": {"X-Team": "red", "X-Api-Secret": "SECRET"},
        },
        "resource_defaults": {"primary_key": "id", "endpoint": {"params": {"size": SIZE}}},
        "resources": [
            {
                "name": "posts",
                "endpoint": {
                    "path": "posts",
                    "data_selector": "data",
                    "params": {"since": "{incremental.start_value}", "fresh": True},
                    "paginator": PageNumberPaginator(base_page=1, page_param="page", total_path="pages"),
                    "incremental": {"cursor_path": "at", "initial_value": start},
                },
            },
            {"name": "comments", "endpoint": {"path": "posts/{post}/comments", "params": {
                "post": {"type": "resolve", "resource": "posts", "field": "id"}}}},
            {"name": "authors", "endpoint": "posts/{resources.posts.id}/authors", "include_from_parent": ["id"]},
            {"name": "odd", "endpoint": {"path": "odd", "paginator": MyPaginator(), "params": {"day": today()}}},
            {"name": "put", "endpoint": {"path": "x", "method": "PUT"}},
            seeds(),
        ],
    }
    yield from rest_api_resources(config)
"""


class Blog:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        if request.headers.get("X-Key") != "key-of-ann" or request.headers.get("X-Team") != "red":
            return web.json_response({}, status=401)
        if request.path == "/posts":
            assert (request.query["size"], request.query["fresh"]) == ("2", "true")
            page = int(request.query["page"])
            posts = [{"id": one, "at": f"2024-01-0{one}"} for one in range(1, 6)]
            return web.json_response({"data": posts[2 * page - 2 : 2 * page], "pages": 3})
        post = request.path.split("/")[2]
        return web.json_response([{"id": f"{post}-{one}", "text": "x"} for one in range(2)])


def read(text: str, **more: Any) -> Imported:
    return import_document(text, "blog.py", shown="blog.py", **more)


async def test_a_program_is_read_and_answers(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blog = Blog()
    found = read(PROGRAM.replace("URL", (await serve(blog.answer)).url).replace("SECRET", SECRET))
    assert SECRET not in found.text + str(found.report.as_json())
    assert found.report.variables == ["BLOG_API_KEY", "BLOG_X_API_SECRET"]
    for name in found.report.variables:
        monkeypatch.setenv(name, "key-of-ann")
    (tmp_path / "fff.yaml").write_text(found.text)
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        posts = await federation.sql("SELECT id FROM posts")
        assert (sorted(row[0] for row in posts.rows()), posts.complete) == ([1, 2, 3, 4, 5], True)
        for table in ("comments", "authors"):
            of_two = await federation.sql(
                f"SELECT c.id FROM posts p JOIN {table} c ON c.posts_id = CAST(p.id AS STRING) WHERE p.id = 2"
            )
            assert sorted(of_two.rows()) == [("2-0",), ("2-1",)]
    told = {(one.table, one.field): (one.outcome, one.incomplete) for one in found.report.notes}
    assert told["posts", "params.since"] == ("approximated", False)
    assert told["odd", "paginator"] == ("approximated", True)
    assert told["odd", "params.day"] == ("dropped", True)
    assert found.report.left_out.keys() == {"put", "blog: resource 5"}
    assert "exhaustive: false" in found.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:", "not valid Python"),
        ("print('hello')", "no format that can be imported"),
        ("x = " + "(" * 5000 + ")" * 5000, r"not valid Python|nested too deeply|no format"),
        (
            "x = {'client': {'base_url': y}, 'resources': [f(r) for r in z]}",
            "nothing in it can be translated",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(text)


def test_a_folder_is_counted(tmp_path: Path) -> None:
    (tmp_path / "blog.py").write_text(PROGRAM.replace("URL", "https://blog.example"))
    (tmp_path / "other.py").write_text("import sys\n")
    lines = [" ".join(line.split()) for line in count_folder(tmp_path, None)]
    assert lines[:3] == ["dlt", "1 documents", "6 tables"]
    assert "4 tables translated and linted" in lines
