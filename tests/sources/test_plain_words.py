"""What people meet most often when a source or a spec is wrong is told in their words, with what to do next."""

from __future__ import annotations

import gzip
import json

import pytest

from fff.errors import SpecError
from fff.schema import arrow_type
from fff.web.client import WebClient
from fff_sources.document import parse_document
from fff_sources.http.diagnosis import diagnosis, members_told
from fff_sources.http.response.json import MalformedJSON, decode
from fff_sources.load import lint, load_catalog

GOOD = "version: 1\nsources:\n  s:\n    client: {base_url: 'http://localhost/x'}\n"
PAGE = b"<!-- x -->\n<!DOCTYPE html><html><head><title>\n Log  in &amp; go\x1b</title></head></html>"


@pytest.mark.parametrize("form", ["json", "ndjson", "csv"])
def test_a_page_of_html_is_told_by_its_title(form):
    problem, hint = diagnosis(PAGE, form, None, "")
    assert problem == "it is a page of HTML, titled 'Log in & go '"
    assert "look at the address in a browser" in hint
    assert diagnosis(b"<html><body>no title", form, None, "")[0] == "it is a page of HTML"
    prologue = b'<?xml version="1.0"?>\n<html xmlns="x"><title>Busy</title></html>'
    assert diagnosis(prologue, form, None, "")[0] == "it is a page of HTML, titled 'Busy'"


def test_other_answers_are_left_to_their_readers():
    assert diagnosis(b'{"a": <html>}', "json", None, "") == (None, None)
    assert diagnosis(PAGE, "html_table", None, "") == (None, None)
    assert diagnosis(b"\xff\x00", "parquet", None, "") == (None, None)
    assert diagnosis("\ufeffa,b\n".encode(), "csv", None, "") == (None, None)


def test_another_encoding_is_told_with_the_setting_for_it():
    body = json.dumps([{"name": "Zürich"}], ensure_ascii=False).encode("latin-1")
    for form in ("json", "csv"):
        problem, hint = diagnosis(body, form, None, "")
        assert problem == "it is not in UTF-8"
        assert "encoding: latin-1" in hint
    assert diagnosis(body, "json", "utf-16", "") == (None, None)  # somebody has said it already


def test_xml_in_the_place_of_json_is_told_with_the_setting_for_it():
    assert diagnosis(b"\n<rss><a/></rss>", "json", None, "")[0] == "it is XML"
    assert "format: xml" in diagnosis(b"<rss/>", "json", None, "")[1]
    assert diagnosis(b"<rss/>", "xml", None, "") == (None, None)


def test_a_packed_answer_is_told_as_that():
    problem, hint = diagnosis(gzip.compress(b"[]"), "json", None, "")
    assert problem == "it is compressed, and does not say so"
    assert "decode: gzip" in hint


def test_half_an_answer_is_told_as_that():
    problem, hint = diagnosis(b'{"a": [1', "json", None, "Input data was truncated")
    assert problem == "it ends in the middle, after 8 bytes"
    assert "try again" in hint


def test_what_an_answer_has_is_told():
    assert members_told(b'{"count": 2, "rows": [{"a": 1}]}') == "has 'count', 'rows' (an array: 'rows') and "
    assert members_told(b'{"a": [], "b": []}') == "has 'a', 'b' and "
    assert "'m11', … (no array" in members_told(json.dumps({f"m{n}": 1 for n in range(20)}).encode())
    deep = b'{"meta": {"count": 2}, "data": {"items": [{"a": 1}]}}'
    assert members_told(deep) == "has 'meta', 'data' (an array: 'data.items') and "
    assert members_told(b'{"a": 1}') == "has 'a' (no array: data_selector: $ takes it for one record) and "
    assert members_told(b'[{"a": 1}]') == "is an array itself (data_selector: $) and "
    assert members_told(b"{}") == members_told(b"{") == members_told(b"1") == ""


@pytest.mark.parametrize(
    ("text", "line", "told", "hint"),
    [
        (
            "a:\n  b: 1\n    c: 2\n",
            3,
            "this line is indented deeper than the key above it",
            "begin in one column",
        ),
        ("a: http: x\n", 1, "mapping values are not allowed here", "put text with a colon in it in quotes"),
        ("a:\n\tb: 1\n", 2, "a tab, where YAML takes spaces alone", "indent with spaces"),
        ("a:\n  b: 1\n c: 2\n", 3, "this line is indented like none", "count the spaces"),
        (
            "a:\n  b: 1\n\u00a0   c: 2\n",
            3,
            "U+00A0 (no-break space), where YAML takes spaces",
            "plain spaces",
        ),
        ("a:\n\u00a0     b: {c: 1}\n", 2, "U+00A0 (no-break space)", "or the name in quotes"),
        ("a:\n  b:\u00a01\n  c: 2\n", 2, "U+00A0 (no-break space)", "plain spaces"),
        ("a:\u2003b\nc: 2\n", 1, "U+2003 (em space)", "plain spaces"),
        ("a: b: c\n", 1, "mapping values are not allowed", "in quotes"),
        ('a: "b\nc: d\n', 3, "a quote is opened and not closed", "close it"),
        ("a: {b: c\nd: e\n", 2, "a bracket or brace is opened and not closed", "close it"),
    ],
)
def test_yaml_that_is_indented_wrongly(text, line, told, hint):
    with pytest.raises(SpecError) as caught:
        parse_document(text, "f.yaml")
    assert str(caught.value).startswith(f"f.yaml:{line}: not valid YAML: {told}")
    assert hint in caught.value.hint


def test_odd_blanks_within_texts_and_quoted_names_are_meant():
    text = "a: 10\u00a0km\n'\u00a0b ': 'x:\u00a0y'\nc\u00a0d: \u3000\n"
    assert parse_document(text, "f.yaml").data == {
        "a": "10\u00a0km",
        "\u00a0b ": "x:\u00a0y",
        "c\u00a0d": "\u3000",
    }
    assert parse_document("\u00a0b: 1\n", "f.yaml", as_written=False).data == {"\u00a0b": 1}


def test_a_spec_that_is_not_utf_8_is_told_with_the_line_and_what_to_do(tmp_path):
    file = tmp_path / "sources" / "f.yaml"
    file.parent.mkdir()
    for data, line, told in (
        (GOOD.replace("x", "\u00fc").encode("latin-1"), 4, "byte 67 is not UTF-8 text"),
        (GOOD.encode("utf-16"), 1, "it is in UTF-16"),
    ):
        file.write_bytes(data)
        [problem] = lint(file)
        assert str(problem).startswith(f"{file}:{line}: cannot be read: {told}\n")
        assert problem.hint == "save it as UTF-8"
        with pytest.raises(SpecError, match=told):  # met by chance, and meant to be a spec
            load_catalog([], environ={}, cwd=tmp_path, client=WebClient())


def test_a_misspelt_type_is_told_with_the_one_that_was_meant():
    with pytest.raises(ValueError, match=r"unknown type 'intt'; did you mean 'int'\?"):
        arrow_type("intt")
    with pytest.raises(ValueError, match=r"unknown type 'varchar'; did you mean 'string'\?"):
        arrow_type("varchar")
    with pytest.raises(ValueError, match=r"unknown type 'zzzzzz'; types are those of Spark SQL"):
        arrow_type("zzzzzz")


def test_a_column_that_is_neither_a_type_nor_a_mapping(tmp_path):
    file = tmp_path / "f.yaml"
    file.write_text(
        "version: 1\nsources:\n  s:\n    client: {base_url: 'http://localhost'}\n"
        "    tables: {t: {columns: {a: 3}, scan: {endpoint: t}}}\n"
    )
    [problem] = lint(file)
    assert "columns.a: must be a mapping" in str(problem)
    assert "name of its type" in problem.hint


def test_half_a_character_is_no_end_in_the_middle():
    for body in (b'[{"id": 1, "name": "\\ud800"}]', b'[{"name": "a\\uDBFF b"}]', b'[{"name": "\\udc00"}]'):
        with pytest.raises(MalformedJSON) as error:
            decode(body)
        for form in ("json", "ndjson"):
            problem, hint = diagnosis(body, form, None, str(error.value))
            assert problem is not None
            assert "half a surrogate pair" in problem
            assert hint is not None
    cut = b'[{"id": 1, "name": "\\ud83d\\ude00'
    assert "it ends in the middle" in str(diagnosis(cut, "json", None, "Input data was truncated"))


def of_credential(part):
    return (
        f"version: 1\nsources:\n  s:\n    client: {{base_url: 'http://localhost', {part}}}\n"
        "    tables: {t: {columns: {a: int}, scan: {endpoint: t}}}\n"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${NOPE_TOKEN}", "${env:NOPE_TOKEN}"),
        ("${ENV:NOPE_TOKEN}", "${env:NOPE_TOKEN}"),
        ("${env.NOPE_TOKEN}", "${env:NOPE_TOKEN}"),
        ("${NOPE_TOKEN:-x}", "${env:NOPE_TOKEN}"),
        ("${{ secrets.NOPE_TOKEN }}", "${env:NOPE_TOKEN}"),
        ("$NOPE_TOKEN", "${env:NOPE_TOKEN}"),
        ("$env:NOPE_TOKEN", "${env:NOPE_TOKEN}"),
        ("{{ NOPE_TOKEN }}", "${env:NOPE_TOKEN}"),
        ("%NOPE_TOKEN%", "${env:NOPE_TOKEN}"),
        ("{env:NOPE_TOKEN}", "${env:NOPE_TOKEN}"),
        ("${Keyring:shop/me}", "${keyring:shop/me}"),
    ],
)
def test_a_misspelt_reference_to_a_secret_is_a_mistake_in_the_place_of_a_credential(tmp_path, written, meant):
    file = tmp_path / "f.yaml"
    for part, place in (
        (f"auth: {{type: bearer, token: '{written}'}}", "auth.token"),
        (f"headers: {{Authorization: 'Bearer {written}'}}", "headers.Authorization"),
        (f"params: {{api_key: '{written}'}}", "params.api_key"),
        (
            f"auth: {{type: session, cookie: c, login: {{path: in, body: {{word: '{written}'}}}}}}",
            "auth.login.body.word",
        ),
    ):
        file.write_text(of_credential(part))
        [problem] = lint(file, environ={"NOPE_TOKEN": "x"})
        assert f"client.{place}: " in str(problem)
        assert "is no reference to a secret" in str(problem)
        assert f"write {meant}" in problem.hint
        with pytest.raises(SpecError, match="is no reference to a secret"):
            load_catalog([file], environ={}, cwd=tmp_path, client=WebClient())


@pytest.mark.parametrize("secret", ["ab${x}cd", "$ECRET_P1", "a=1; b=${not}", "${env:OTHER}"])
def test_a_secret_that_reads_like_a_reference_is_sent_from_where_the_hint_says(tmp_path, secret):
    file = tmp_path / "f.yaml"
    file.write_text(of_credential("headers: {Cookie: '${ENV:WORD}'}"))
    [problem] = lint(file, environ={"WORD": secret})
    assert problem.hint == "write ${env:WORD}; a secret that reads so itself goes there, too"
    file.write_text(of_credential("headers: {Cookie: '${env:WORD}'}"))
    assert lint(file, environ={"WORD": secret}) == []


def test_a_misspelt_reference_in_the_address_of_a_database_is_a_mistake(tmp_path):
    file = tmp_path / "f.yaml"
    file.write_text("version: 1\nsources: {d: {type: adbc, driver: sqlite, uri: '${CRM_URI}'}}\n")
    problems = lint(file, environ={})
    assert ["write ${env:CRM_URI} for" in (one.hint or "") for one in problems].count(True) == 1


@pytest.mark.parametrize(
    "part",
    [
        "auth: {type: bearer, token: '$ecret'}",
        "auth: {type: bearer, token: '$ECRET'}",
        "auth: {type: bearer, token: 'pa$$s{w}o}rd'}",
        "auth: {type: bearer, token: 'a${%f9#}'}",
        "auth: {type: bearer, token: '${env:GOOD}'}",
        "auth: {type: http_basic, username: u, password: '100%_SURE%'}",
        "headers: {X-Price: '${AMOUNT}', X-Format: '{{x}}'}",
        "params: {$where: '$PRICE_NET', q: '${A_B}'}",
        "auth: {type: session, token_path: t, value: '${token}', login: {path: in}}",
        "auth: {type: oauth2, access_token_url: 'https://a.example/t', client_id: a, refresh_token: b, scopes: ['env:read']}",
    ],
)
def test_dollar_signs_and_braces_that_are_meant_are_no_mistake(tmp_path, part):
    file = tmp_path / "f.yaml"
    file.write_text(of_credential(part))
    assert lint(file, environ={"GOOD": "x"}) == []


def test_a_misspelt_reference_of_one_account_is_a_mistake(tmp_path):
    file = tmp_path / "f.yaml"
    accounts = "accounts: {column: who, each: {a: {auth: {type: bearer, token: '${A_KEY}'}}, b: {}}}"
    file.write_text(of_credential("allowed_hosts: []").replace("    tables:", f"    {accounts}\n    tables:"))
    [problem] = lint(file, environ={})
    assert problem.path == "sources.s.accounts.each.a.auth.token"


@pytest.mark.parametrize(
    ("part", "place", "name"),
    [
        ("headers: {X-Filter: 'a{b}c'}", "client.headers.X-Filter", "b"),
        ("""params: {q: '{"a": 1}'}""", "client.params.q", '"a": 1'),
        ("params: {q: ['{id}', x]}", "client.params.q[0]", "id"),  # which the scan does not know
    ],
)
def test_braces_that_nothing_fills_in_what_goes_with_every_request_are_a_mistake(tmp_path, part, place, name):
    file = tmp_path / "f.yaml"
    file.write_text(of_credential(part))
    [problem] = lint(file, environ={})
    assert (problem.path, problem.hint) == (f"sources.s.{place}", "plain braces are {{ and }}")
    assert f"nothing fills {{{name}}}" in str(problem)
    with pytest.raises(SpecError, match="nothing fills"):
        load_catalog([file], environ={}, cwd=tmp_path, client=WebClient())


def test_a_base_url_that_is_completed_by_the_environment_may_have_braces(tmp_path):
    file = tmp_path / "f.yaml"
    file.write_text(of_credential("params: {}").replace("//", "//{region}."))
    assert len(lint(file, environ={})) == 1
    assert lint(file, environ={"FFF_S_BASE_URL": "http://eu.localhost"}) == []


def test_what_every_request_has_a_value_for_may_stand_in_what_goes_with_all_of_them(tmp_path):
    file = tmp_path / "f.yaml"
    table = "{columns: {id: int}, lookups: [{keys: [id], endpoint: x}, {keys: [id], endpoint: y}]}"
    file.write_text(GOOD.replace("x'}", "x', headers: {X-Id: 'n{id}'}}") + f"    tables: {{t: {table}}}\n")
    assert lint(file, environ={}) == []
