"""Tables that are read by the keys of a parent where a statement binds none, over a real wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import fff
from fff.errors import QueryError
from fff_sources.load import lint
from tests.sampling import every_row
from tests.web.serving import Serve

Row = dict[str, Any]
POSTS = [{"id": number, "title": f"t{number}", "site": number % 2} for number in range(1, 6)]
COMMENTS = [
    {"post_id": post, "n": 10 * post + n, "text": "x"} for post in (1, 2, 2, 4, 9) for n in range(post % 3)
]
SEEN = [row for row in COMMENTS if row["post_id"] != 9]  # nobody knows post 9


class Blog:
    """Posts in pages of two, comments by post or, for comparison, all at once; remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.posts: list[Row] = [*POSTS, {"id": None, "title": None, "site": 0}]
        self.lost = False

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        parts = request.path.strip("/").split("/")
        if request.path == "/comments":
            return web.json_response(COMMENTS)
        if len(parts) > 1:
            return web.json_response([row for row in COMMENTS if str(row["post_id"]) == parts[1]])
        if self.lost and "offset" in request.query and request.query["offset"] != "0":
            raise web.HTTPInternalServerError
        start = int(request.query.get("offset", 0))
        return web.json_response({"rows": self.posts[start : start + 2], "total": len(self.posts)})

    def counted(self) -> tuple[int, int]:
        """Requests for posts and for comments."""
        posts = sum(path == "/posts" for path in self.asked)
        found = posts, len(self.asked) - posts
        self.asked.clear()
        return found


def spec(url: str, *, posts: str = "primary_key: id,", comments: str = "", more: str = "") -> str:
    return f"""
version: 1
sources:
  blog:
    client: {{base_url: '{url}', retry: {{max_attempts: 1}}}}
    tables:
      posts: {{{posts} columns: {{id: int, title: string}}, scan: {{endpoint: {{path: posts, data_selector: rows, paginator: {{type: offset, page_size: 2, total_path: total}}}}}}}}
      comments:
        columns: {{post_id: int, n: int, text: string}}
        key_columns: [{{name: post_id, require: required, from: {{table: posts, column: id}}{comments}}}]
        lookups: [{{keys: [post_id], endpoint: "posts/{{post_id}}/comments"}}]
      plain: {{columns: {{post_id: int, n: int, text: string}}, scan: {{endpoint: comments}}}}
{more}"""


def bag(result: Any) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in result.to_arrow().to_pylist())


def rows(some: list[Row], *names: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row[name] for name in names) for row in some)


@pytest.mark.parametrize(
    ("where", "posts", "comments"),
    every_row(
        2,
        [
            ("", 3, 5),
            ("WHERE n > 20", 3, 5),
            ("WHERE post_id > 3", 3, 2),
            ("WHERE post_id % 2 = 0", 3, 2),
            ("WHERE post_id = 2", 0, 1),
            ("WHERE post_id IN (2, 9)", 0, 2),
            ("WHERE post_id IN (1, 2) AND n > 11", 0, 2),
        ],
    ),
)
async def test_the_table_is_read_through_its_parent(
    serve: Serve, tmp_path: Path, where: str, posts: int, comments: int
) -> None:
    blog = Blog()
    (tmp_path / "fff.yaml").write_text(spec((await serve(blog.answer)).url), encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        plain = await federation.sql(f"SELECT * FROM plain {where}")
        blog.counted()
        result = await federation.sql(f"SELECT * FROM comments {where}")
        assert blog.counted() == (posts, comments)
        assert result.complete
        unseen = {9} if posts else set()
        assert bag(result) == [row for row in bag(plain) if row[0] not in unseen]
        told = "blog.comments is read through blog.posts.id: rows with another post_id are not seen"
        assert (told in result.report["warnings"]) is bool(posts)
        assert not result.report["spark"]["used"]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT blog.comments.n FROM blog.comments", rows(SEEN, "n")),
        ("SELECT c.n FROM comments AS c LEFT JOIN plain p ON c.n = p.n AND p.n > 100", rows(SEEN, "n")),
        ("WITH c AS (SELECT n, text FROM comments) SELECT n FROM c WHERE n > 20", [(21,), (40,)][:0]),
        ("SELECT n FROM comments UNION ALL SELECT id FROM posts WHERE id = 3", [(3,), *rows(SEEN, "n")]),
        (
            "SELECT a.n, b.n FROM comments a JOIN comments b ON a.post_id = b.post_id",
            sorted((a["n"], b["n"]) for a in SEEN for b in SEEN if a["post_id"] == b["post_id"]),
        ),
    ],
)
async def test_wherever_it_stands(
    serve: Serve, tmp_path: Path, sql: str, wanted: list[tuple[object, ...]]
) -> None:
    blog = Blog()
    (tmp_path / "fff.yaml").write_text(spec((await serve(blog.answer)).url), encoding="utf-8")
    if not wanted:
        wanted = [row for row in rows(SEEN, "n") if row[0] > 20]
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        result = await federation.sql(sql)
        assert result.complete
        assert sorted(tuple(column) for column in zip(*(c.to_pylist() for c in result.to_arrow().columns), strict=True)) == wanted  # fmt: skip


async def test_who_has_not_all_parents_has_not_all_rows(serve: Serve, tmp_path: Path) -> None:
    blog = Blog()
    blog.lost = True
    (tmp_path / "fff.yaml").write_text(spec((await serve(blog.answer)).url), encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml", on_source_error="partial") as federation:
        result = await federation.sql("SELECT * FROM comments")
        assert not result.complete
        assert [one["table"] for one in result.report["missing"]] == ["blog.posts"]
        assert set(bag(result)) <= set(rows(SEEN, "post_id", "n", "text"))


@pytest.mark.slow
@pytest.mark.spark
async def test_a_parent_with_equal_keys_brings_no_row_twice(serve: Serve, tmp_path: Path) -> None:
    blog = Blog()
    blog.posts += [{**one, "title": "again"} for one in POSTS[:3]]
    (tmp_path / "fff.yaml").write_text(spec((await serve(blog.answer)).url, posts=""), encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        result = await federation.sql("SELECT * FROM comments")
        assert result.complete
        assert bag(result) == rows(SEEN, "post_id", "n", "text")
        assert blog.counted() == (5, 5)


async def test_a_parent_that_has_a_parent(serve: Serve, tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        parts = request.path.strip("/").split("/")
        site, post = request.query.get("site"), parts[1] if len(parts) > 1 else None
        if parts[0] == "sites":
            return web.json_response([{"id": 0}, {"id": 1}])
        found = [one for one in POSTS if str(one["site"]) == site]
        if post is None:
            return web.json_response(found)
        return web.json_response([row for row in COMMENTS if str(row["post_id"]) == post])

    served = await serve(answer)
    text = f"""
version: 1
sources:
  other: {{client: {{base_url: '{served.url}'}}, tables: {{sites: {{primary_key: id, columns: {{id: int}}, scan: {{endpoint: sites}}}}}}}}
  blog:
    client: {{base_url: '{served.url}'}}
    tables:
      posts:
        primary_key: id
        columns: {{site: int, id: int}}
        key_columns: [{{name: site, require: required, from: {{table: other.sites, column: id}}}}]
        scan: {{endpoint: posts}}
      comments:
        columns: {{post_id: int, n: int}}
        key_columns: [{{name: post_id, from: {{table: posts, column: id}}}}]
        lookups: [{{keys: [post_id], endpoint: "posts/{{post_id}}"}}]
"""
    file = tmp_path / "fff.yaml"
    file.write_text(text, encoding="utf-8")
    assert lint(file) == []
    async with fff.connect_async(file) as federation:
        result = await federation.sql("SELECT post_id, n FROM comments")
        assert result.complete
        assert bag(result) == rows(SEEN, "post_id", "n")
        assert len(served.asked) == 1 + 2 + 5


async def test_explain_tells_and_prices_both(serve: Serve, tmp_path: Path) -> None:
    blog = Blog()
    (tmp_path / "fff.yaml").write_text(spec((await serve(blog.answer)).url), encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        await federation.sql("SELECT * FROM comments")
        blog.counted()
        text = await federation.explain("SELECT * FROM comments")
        twice = await federation.explain("SELECT a.n FROM comments a JOIN comments b ON a.n = b.n")
        assert blog.counted() == (0, 0)
    assert "blog.comments is read through blog.posts.id" in text
    forecast = text[text.index("Forecast") :]
    assert "blog.posts.scan: 2 to 4 requests" in forecast
    assert twice.count("is read through") == 1, "each is told once"
    assert "blog.comments.lookup[post_id]: 0 to 7 requests" in forecast


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{table: post, column: id}", "'post' is not a table\n  did you mean 'posts'?"),
        ("{table: posts, column: ids}", "'ids' is not a column of posts\n  did you mean 'id'?"),
        ("{table: posts, column: title}", "is of type string, and post_id of type int"),
        ("{table: blog.notes, column: post_id}", "is a circle: comments comes from notes comes from comments"),
        ("{table: elsewhere.posts, column: id}", None),
        ("{table: posts, colum: id}", "unknown key"),
        ("posts.id", "must be a mapping"),
    ],
)  # fmt: skip
def test_lint_finds_what_is_wrong(tmp_path: Path, said: str, message: str | None) -> None:
    more = """
      notes:
        columns: {post_id: int}
        key_columns: [{name: post_id, require: required, from: {table: comments, column: post_id}}]
        scan: {endpoint: notes}
"""
    text = spec("http://127.0.0.1:9", more=more).replace("{table: posts, column: id}", said)
    (tmp_path / "fff.yaml").write_text(text, encoding="utf-8")
    problems = [str(one) for one in lint(tmp_path / "fff.yaml")]
    if message is None:
        assert problems == []
    else:
        assert any(message in one for one in problems), problems
        assert all("key_columns[0].from" in one for one in problems)


def test_what_is_never_used_is_a_mistake(tmp_path: Path) -> None:
    text = spec("http://127.0.0.1:9").replace("lookups:", "scan: {endpoint: comments}\n        lookups:")
    (tmp_path / "fff.yaml").write_text(text.replace("require: required, ", ""), encoding="utf-8")
    assert ["is never used: the table has a scan" in str(one) for one in lint(tmp_path / "fff.yaml")] == [
        True
    ]


async def test_a_parent_in_a_source_that_is_not_there(tmp_path: Path) -> None:
    text = spec("http://127.0.0.1:9").replace("{table: posts", "{table: elsewhere.posts")
    (tmp_path / "fff.yaml").write_text(text, encoding="utf-8")
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        with pytest.raises(QueryError, match=r"there is no table elsewhere\.posts") as error:
            await federation.sql("SELECT count(*) FROM comments")
    assert error.value.hint is not None


async def test_the_example_of_the_reference_runs(serve: Serve, tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response(
            [{"id": 7}, {"id": 8}] if request.path == "/posts" else [{"id": 1, "text": request.path}]
        )

    text = (Path(__file__).parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
    (example,) = (one for one in text.split("```yaml\n") if "from: {table: posts" in one.split("```")[0])
    url = (await serve(answer)).url
    file = tmp_path / "fff.yaml"
    file.write_text(example.split("```")[0].replace("https://api.example.org", url), encoding="utf-8")
    async with fff.connect_async(file) as federation:
        result = await federation.sql("SELECT * FROM comments")
        assert bag(result) == [(7, 1, "/posts/7/comments"), (8, 1, "/posts/8/comments")]
