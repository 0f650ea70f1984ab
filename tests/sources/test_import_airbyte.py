"""Airbyte's declarative manifests, hand-made: imported, linted, and asked over a real wire for every page."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from aiohttp import web

import fff
from fff.errors import UsageError
from fff_sources.importing.airbyte.drafts import plain_streams
from fff_sources.importing.airbyte.expressions import UntranslatableError, filled, reference_of
from fff_sources.importing.translate import Imported, import_document
from tests.web.serving import Serve

SCHEMA = (
    "{type: InlineSchemaLoader, schema: {properties: {id: {type: [integer, 'null']}, name: {type: string}}}}"
)


def manifest(url: str, *streams: str, definitions: str = "") -> str:
    """A manifest with these streams, at a server."""
    return dedent(
        f"""
        version: 4.3.0
        type: DeclarativeSource
        check: {{type: CheckStream, stream_names: [things]}}
        definitions:
          requester:
            type: HttpRequester
            url_base: {url}
            authenticator: {{type: BearerAuthenticator, api_token: "{{{{ config['token'] }}}}"}}
          selector: {{type: RecordSelector, extractor: {{type: DpathExtractor, field_path: [data, rows]}}}}
        """
    ) + (
        indent(dedent(definitions), "  ")
        + "streams:\n"
        + "".join(indent(dedent(one), "  ") for one in streams)
    )


def stream(name: str, paginator: str = "{type: NoPagination}", more: str = "", path: str = "") -> str:
    """A stream of SCHEMA with that paginator; `more` stands in its retriever."""
    return f"""
        - type: DeclarativeStream
          name: {name}
          primary_key: [id]
          schema_loader: {SCHEMA}
          retriever:
            type: SimpleRetriever
            requester: {{$ref: "#/definitions/requester", path: "{path or name}"}}
            record_selector: {{$ref: "#/definitions/selector"}}
            paginator: {paginator}
            {more}
        """


def option(name: str, into: str = "request_parameter") -> str:
    return f"{{type: RequestOption, inject_into: {into}, field_name: {name}}}"


def pages(strategy: str, token: str, size: str = "") -> str:
    asked = f", page_size_option: {size}" if size else ""
    return f"{{type: DefaultPaginator, pagination_strategy: {strategy}, page_token_option: {token}{asked}}}"


def imported(text: str) -> Imported:
    return import_document(text, "source-shop.yaml", shown="source-shop.yaml")


async def rows_of(
    found: Imported, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[dict[str, Any]], bool]:
    """The answer over the imported spec, and whether it is complete."""
    monkeypatch.setenv("SHOP_TOKEN", "hush-hush")
    (tmp_path / "fff.yaml").write_text(found.text)
    async with fff.connect_async(tmp_path / "fff.yaml") as federation:
        result = await federation.sql(sql, on_source_error="partial")
        rows: list[dict[str, Any]] = result.to_arrow().to_pylist()
        return sorted(rows, key=lambda row: str(sorted(row.items()))), result.complete


class Things:
    """Seven things in pages of three, however pages are asked for; only for those who are logged in."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        if request.headers.get("Authorization") != "Bearer hush-hush":
            return web.json_response({}, status=401)
        query, size = request.query, 3
        start = int(query.get("skip", 0)) or int(query.get("page", 0)) * size or int(query.get("after", 0))
        here = [{"id": one, "name": f"n{one}"} for one in range(start + 1, min(start + size, 7) + 1)]
        last = start + size >= 7
        following = None if last else f"{request.url.origin()}{request.path}?after={start + size}"
        about = {"cursor": None if last else start + size, "more": not last, "next": following}
        return web.json_response({"data": {"rows": here}, **about})


CURSOR = "{type: CursorPagination, cursor_value: \"{{ response.get('cursor', {}) }}\", stop_condition: \"{{ not response.get('cursor', {}) }}\"}"
MORE = '{type: CursorPagination, cursor_value: "{{ last_record[\'id\'] }}", stop_condition: "{{ response.more is false }}"}'
LINK = '{type: CursorPagination, cursor_value: "{{ response.next }}", stop_condition: "{{ \'next\' not in response }}"}'


@pytest.mark.parametrize(
    ("paginator", "requests"),
    [
        (pages("{type: PageIncrement, page_size: 3}", option("page"), option("size")), 3),
        (pages("{type: OffsetIncrement, page_size: 3}", option("skip"), option("size")), 3),
        (pages(CURSOR, option("after")), 3),
        (pages(MORE, option("after")), 3),
        (pages(LINK, "{type: RequestPath}"), 3),
    ],
)
async def test_every_page_comes(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paginator: str, requests: int
) -> None:
    things = Things()
    found = imported(manifest((await serve(things.answer)).url, stream("things", paginator)))
    rows, complete = await rows_of(found, "SELECT id, name FROM shop.things", tmp_path, monkeypatch)
    assert rows == [{"id": one, "name": f"n{one}"} for one in range(1, 8)]
    assert complete
    assert len(things.asked) <= requests + 1, things.asked
    assert found.report.may_miss_rows("things") == []


async def test_a_cursor_that_is_computed_makes_the_table_say_that_it_may_miss_rows(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = "{type: CursorPagination, cursor_value: \"{{ response.cursor ~ 'x' if 1 else 2 }}\"}"
    found = imported(
        manifest((await serve(Things().answer)).url, stream("things", pages(strategy, option("after"))))
    )
    assert "exhaustive: false" in found.text
    [note] = found.report.may_miss_rows("things")
    assert "cursor_value computes" in note.note
    rows, complete = await rows_of(found, "SELECT id FROM shop.things", tmp_path, monkeypatch)
    assert rows
    assert not complete


async def test_a_substream_is_asked_by_its_parent_and_values_are_asked_for_each(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path_qs)
        if request.path == "/things":
            return web.json_response({"data": {"rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]}})
        if request.path == "/stock":
            name = request.query["place"]
            return web.json_response({"data": {"rows": [{"id": 9, "name": name}]}})
        parent = int(request.path.split("/")[2])
        return web.json_response({"data": {"rows": [{"id": 10 * parent, "name": f"p{parent}"}]}})

    parents = """partition_router:
              type: SubstreamPartitionRouter
              parent_stream_configs:
                - {type: ParentStreamConfig, parent_key: id, partition_field: thing_id, stream: {$ref: "#/streams/0"}}"""
    values = f"""partition_router: {{type: ListPartitionRouter, values: [eu, us], cursor_field: place, request_option: {option("place")}}}"""
    text = manifest(
        (await serve(answer)).url,
        stream("things"),
        stream("parts", more=parents, path="things/{{ stream_partition.thing_id }}/parts"),
        stream("stock", more=values),
    )
    found = imported(text)
    assert found.report.left_out == {}
    sql = "SELECT t.name, p.id FROM shop.things t JOIN shop.parts p ON p.thing_id = t.id"
    rows, complete = await rows_of(found, sql, tmp_path, monkeypatch)
    assert rows == [{"name": "a", "id": 10}, {"name": "b", "id": 20}]
    assert complete
    rows, complete = await rows_of(found, "SELECT place, name FROM shop.stock", tmp_path, monkeypatch)
    assert rows == [{"place": "eu", "name": "eu"}, {"place": "us", "name": "us"}]
    assert complete


def test_times_of_a_sync_are_told_and_make_answers_incomplete() -> None:
    text = manifest("https://shop.example.org", stream("things")) + dedent(
        """
            incremental_sync:
              type: DatetimeBasedCursor
              cursor_field: changed
              datetime_format: "%Y-%m-%d"
              start_datetime: "{{ config['start_date'] }}"
              start_time_option: {type: RequestOption, inject_into: request_parameter, field_name: since}
        """
    ).replace("\n", "\n    ")
    found = imported(text)
    assert 'since: "${env:SHOP_START_DATE?}"' in found.text
    assert "exhaustive: false" in found.text
    assert "since told from when to when" in found.report.may_miss_rows("things")[0].note


@pytest.mark.parametrize(
    ("authenticator", "auth"),
    [
        ("{type: BearerAuthenticator, api_token: s3cr3t-in-plain}", 'token: "${env:SHOP_TOKEN}"'),
        (
            f"{{type: ApiKeyAuthenticator, api_token: \"Token {{{{ config['key'] }}}}\", inject_into: {option('X-Key', 'header')}}}",
            '{type: api_key, name: X-Key, api_key: "Token ${env:SHOP_KEY}", location: header}',
        ),
        (
            "{type: BasicHttpAuthenticator, username: \"{{ config['key'] }}\", password: x}",
            '{type: http_basic, username: "${env:SHOP_KEY}", password: x}',
        ),
        (
            "{type: BasicHttpAuthenticator, username: ann, password: s3cr3t-in-plain}",
            'password: "${env:SHOP_PASSWORD}"',
        ),
        (
            (
                "{type: OAuthAuthenticator, token_refresh_endpoint: 'https://l.example.org/t', client_id: \"{{ config['credentials']['id'] }}\","
                " client_secret: s3cr3t-in-plain, refresh_token: \"{{ config['refresh'] }}\"}"
            ),
            'client_id: "${env:SHOP_ID}", client_secret: "${env:SHOP_CLIENT_SECRET}", refresh_token: "${env:SHOP_REFRESH}"',
        ),
        (
            (
                "{type: SessionTokenAuthenticator, expiration_duration: PT1H, session_token_path: [token], request_authentication: {type: Bearer},"
                " login_requester: {type: HttpRequester, url_base: 'https://shop.example.org', path: login, http_method: POST,"
                " request_body_json: {user: \"{{ config['user'] }}\", password: s3cr3t-in-plain}}}"
            ),
            'login: {path: login, method: POST, body: {user: "${env:SHOP_USER}", password: "${env:SHOP_PASSWORD}"}}, token_path: token, expires_in: 3600',
        ),
    ],
)
def test_logins_hold_references_and_no_secret(authenticator: str, auth: str) -> None:
    text = manifest("https://shop.example.org", stream("things"))
    own = text.replace("{type: BearerAuthenticator, api_token: \"{{ config['token'] }}\"}", authenticator)
    assert own != text
    found = imported(own)
    assert auth in found.text
    assert "s3cr3t" not in found.text + str(found.report.as_json()) + "".join(found.report.lines())


def test_what_is_code_is_left_out_and_said() -> None:
    custom = stream("odd").replace("type: SimpleRetriever", "type: CustomRetriever")
    text = manifest("https://shop.example.org", stream("things"), custom)
    found = imported(text)
    assert found.report.left_out == {"odd": "CustomRetriever is no retriever that FFF knows"}
    assert list(found.report.written) == ["things"]
    assert plain_streams({"streams": [{"name": "a", "retriever": {"type": "SimpleRetriever"}}]}) == {
        "a": True
    }
    assert plain_streams({"streams": [{"name": "a", "retriever": {"type": "CustomRetriever"}}]}) == {
        "a": False
    }


def test_what_nobody_looked_at_is_dropped_and_may_miss_rows() -> None:
    found = imported(manifest("https://shop.example.org", stream("things", more="brand_new_option: 7")))
    [note] = found.report.may_miss_rows("things")
    assert (note.field, note.outcome) == ("retriever.brand_new_option", "dropped")
    assert "exhaustive: false" in found.text


def test_a_size_in_a_parameter_without_a_paginator_may_miss_rows() -> None:
    text = manifest("https://shop.example.org", stream("things", path="things?pageSize=100"))
    found = imported(text)
    assert "exhaustive: false" in found.text
    assert "pageSize says how many come" in found.report.may_miss_rows("things")[0].note


def test_options_with_defaults_are_written_and_secrets_of_the_specification_are_not() -> None:
    spec = """
        spec:
          connection_specification:
            required: [token, shop]
            properties:
              region: {type: string, default: eu}
              token: {type: string, default: s3cr3t-in-plain}
        """
    text = manifest("https://{{ config['region'] }}.example.org/{{ config['shop'] }}", stream("things"))
    found = imported(dedent(spec) + text)
    assert 'base_url: "https://eu.example.org/${env:SHOP_SHOP}"' in found.text
    assert "s3cr3t" not in found.text + str(found.report.as_json())
    assert sorted(found.report.variables) == ["SHOP_SHOP", "SHOP_TOKEN"]


def test_templates_are_read_and_never_run() -> None:
    reference = reference_of("response.get('a', {})['b'].c[-1]")
    assert reference is not None
    assert (reference.root, reference.path) == ("response", ("a", "b", "c", -1))
    for text in (
        "config['a'].split('x')",
        "config['a'] + 'b'",
        "().__class__",
        "config['a']('x')",
        "a if b else c",
    ):
        assert reference_of(text) is None
    for text in (
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{% for x in y %}",
        "{{ now_utc() }}",
    ):
        with pytest.raises(UntranslatableError):
            filled(text, lambda one: one.root, str, print)


@pytest.mark.parametrize(
    "text", ["streams: [1, x, {}]\ncheck: {}", "type: DeclarativeSource", "streams: {a: 1}\ncheck: 1"]
)
def test_a_manifest_of_nothing_is_one_clear_error(text: str) -> None:
    with pytest.raises(UsageError, match="nothing in it can be translated"):
        imported(text)
