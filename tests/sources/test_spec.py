"""Specs: what is wrong with them is said once, all at once, with the key, the line and what was probably meant."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
from pathlib import Path
from textwrap import dedent

import pytest

from fff.catalog import Cacheable, Discovering, Divisible, Table
from fff.errors import SpecError, UsageError
from fff.web.client import WebClient
from fff_sources import document
from fff_sources.document import read_document
from fff_sources.http.source import HttpSource
from fff_sources.http.spec import spec
from fff_sources.http.spec.check import read_as
from fff_sources.load import known_types, lint, load_catalog

GOOD = """\
    version: 1
    sources:
      gov:
        client: {base_url: "https://api.example.gov/v1"}
        tables:
          crime:
            columns: {zip: string, rating: {type: string, path: rating.value}, year: int}
    """


def written(folder: Path, text: str, name: str = "fff.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text), encoding="utf-8")
    return file


def problems(folder: Path, text: str, **environ: str) -> list[tuple[str | None, int | None, str, str | None]]:
    file = written(folder, text)
    return [
        (
            error.path,
            error.line,
            error.message.removeprefix(f"{file}:{error.line}: {error.path}: "),
            error.hint,
        )
        for error in lint(file, environ=environ)
    ]


def table(folder: Path, rest: str) -> Table:
    indent = " " * 12
    text = dedent(GOOD) + "".join(f"{indent[4:]}{line}\n" for line in dedent(rest).strip().splitlines())
    catalog = load_catalog([written(folder, text)], environ={}, cwd=folder, client=WebClient())
    (found,) = catalog.find(["gov", "crime"])
    return found


def methods(found: Table) -> tuple[list[str], list[str]]:
    return [scan.name for scan in found.scans], [lookup.name for lookup in found.lookups]


def test_every_problem_is_reported_at_once_with_its_key_line_and_remedy(tmp_path: Path) -> None:
    text = """\
        version: 1
        sources:
          gov:
            client:
              base_url: https://api.example.gov
              auth: {type: bearer, tokn: x}
              retry: {max_attempts: 0}
            table_defaults: {endpoint: {parms: {per_page: 100}}}
            tables:
              crime:
                columns: {zip: strin, year: {type: int, pth: y}}
                on_bad_record: ignore
                scan:
                  endpoint:
                    path: crime
                    paginator: {type: page_number, typ: 5}
                lookups:
                  - {keys: [zip], endpoint: {path: "c/{zip}", data_selector: "a["}}
              other: {columns: {a: int}, scan: [{endpoint: {path: a, methd: GET}}]}
        """
    base = "sources.gov"
    assert problems(tmp_path, text) == [
        (f"{base}.client.auth.token", 6, "is missing", None),
        (f"{base}.client.auth.tokn", 6, "unknown key", "did you mean 'token'?"),
        (f"{base}.client.retry.max_attempts", 7, "must be at least 1", None),
        (f"{base}.table_defaults.endpoint.parms", 8, "unknown key", "did you mean 'params'?"),
        (f"{base}.tables.crime.columns.zip", 11, "unknown type 'strin'; did you mean 'string'?", None),
        (f"{base}.tables.crime.columns.year.pth", 11, "unknown key", "did you mean 'path'?"),
        (f"{base}.tables.crime.on_bad_record", 12, "there is no 'ignore'", "one of fail, null, skip"),
        (f"{base}.tables.crime.scan.endpoint.paginator.typ", 16, "unknown key", "did you mean 'type'?"),
        (
            f"{base}.tables.crime.lookups[0].endpoint.data_selector",
            18,
            "'a[' cannot be read as a path from '[' on",
            None,
        ),
        (f"{base}.tables.other.scan[0].endpoint.methd", 19, "unknown key", "did you mean 'method'?"),
    ]


@pytest.mark.parametrize(
    ("auth", "key", "what"),
    [
        ("type: api_key, name: k, in: query, api_key: x", "in", "unknown key"),
        ("type: api_key, name: [k], api_key: x", "name", "must be text, not a list"),
        ("type: api_key, name: k", "api_key", "is missing"),
        ("type: api_key, name: k, api_key: [x]", "api_key", "must be text, not a list"),
    ],
)
def test_a_type_that_is_called_as_one_of_its_keys_is_not_taken_for_that(
    tmp_path: Path, auth: str, key: str, what: str
) -> None:
    text = f"""\
        version: 1
        sources:
          s:
            client: {{base_url: "http://e.org", auth: {{{auth}}}}}
            tables: {{t: {{columns: {{a: int}}, scan: {{endpoint: t}}}}}}
        """
    place, _, said, hint = problems(tmp_path, text)[0]
    assert (place, said) == (f"sources.s.client.auth.{key}", what)
    assert what != "unknown key" or (hint or "").startswith("known here: api_key, location, name")


def test_one_round_finds_what_is_wrong_behind_what_is_wrong(tmp_path: Path) -> None:
    """Names that do not fit are found though others are misspelt, and nothing is told that only a mistake makes wrong."""
    text = """\
        version: 1
        sources:
          s:
            client: {base_url: "http://e.org", rate_limit: {max_concurency: two}}
            tables:
              a:
                primary_kye: [idd]
                columns: {id: intt}
                on_bad_record: 12
                scan: {endpoint: {path: a, paginator: {type: page_numbr, page_param: page}}}
              b:
                columns: {id: int}
                lookups: [{keys: [idd], endpoint: {path: "b/{id}"}}]
                timeout: soon
              c: {columns: [id], primary_key: [id], scan: c}
              d: {scan: {endpoint: {path: "d/{id}", params: [id]}}, lookups: {}}
              e: {columns: {id: int}, order: [x], scan: {endpoint: {format: 3}}}
        """
    found = [(key.removeprefix("sources.s."), what) for key, _, what, _ in problems(tmp_path, text)]
    assert found == [
        ("client.rate_limit.max_concurency", "unknown key"),
        ("client.rate_limit.max_concurrency", "must be a whole number, not text"),
        ("tables.a.primary_key", "'idd' is not a column"),
        ("tables.a.primary_kye", "unknown key"),
        ("tables.a.columns.id", "unknown type 'intt'; did you mean 'int'?"),
        ("tables.a.on_bad_record", "there is no 12"),
        ("tables.a.scan.endpoint.paginator.type", "there is no 'page_numbr'"),
        ("tables.b.lookups[0].keys", "'idd' is not a column"),
        ("tables.b.lookups[0].endpoint", "nothing fills {id}"),
        ("tables.b.timeout", "unknown key"),
        ("tables.c.columns", "must be a mapping (name: value), not a list"),
        ("tables.c.scan", "must be a mapping (name: value), not text"),
        ("tables.d.scan.endpoint.params", "must be a mapping (name: value), not a list"),
        ("tables.d.lookups", "must be a list, not a mapping"),
        ("tables.e.scan.endpoint.format", "there is no 3"),
        ("tables.e.order", "'x' is not a column"),
        ("tables.e.scan[0].endpoint.path", "is missing"),
    ]


def test_a_misspelt_type_of_a_paginator_or_of_auth_is_an_unknown_key_and_what_is_in_the_part_is_checked(
    tmp_path,
):
    text = """
        version: 1
        sources:
          s:
            client: {base_url: "https://example.org", auth: {typ: bearer, tokn: x}}
            tables:
              a: {columns: {id: int}, scan: {endpoint: {path: a, paginator: {Type: page_number, seite: page}}}}
              b: &shared {columns: {id: int}}
              c: *shared
            table_defaults: {endpoint: {path: b, paginator: {typ: page_number, seit: page}}}
        """
    unknown = [(key, hint) for key, _, what, hint in problems(tmp_path, text) if what == "unknown key"]
    assert [key.removeprefix("sources.s.") for key, hint in unknown if hint == "did you mean 'type'?"] == [
        "client.auth.typ",
        "tables.a.scan.endpoint.paginator.Type",
        "table_defaults.endpoint.paginator.typ",
    ]
    assert {key.rpartition(".")[2] for key, _ in unknown} == {"typ", "Type", "tokn", "seite", "seit"}


INSTEAD = "leave it out; on_response tells by what the answer says, as {path: error, action: empty}"


@pytest.mark.parametrize(
    ("endpoint", "base_url", "key", "what"),
    [
        ("{path: a, paginator: page_numbr}", "http://e.org", "tables.a.scan.endpoint.paginator.type", "there is no 'page_numbr'"),
        ("{path: a, data_selector: 5}", "http://e.org", "tables.a.scan.endpoint.data_selector", "must be text, not 5"),
        ("{path: a}", "e.org", "client.base_url", "the base URL of s is not an http or https URL: e.org"),
    ],
)  # fmt: skip
def test_short_forms_and_addresses_that_are_wrong_are_told_as_any_other_mistake(
    endpoint, base_url, key, what, tmp_path
):
    text = f"""
        version: 1
        sources:
          s:
            client: {{base_url: "{base_url}"}}
            tables:
              a: {{columns: {{id: int}}, scan: {{endpoint: {endpoint}}}}}
        """
    found = [(key.removeprefix("sources.s."), what) for key, _, what, _ in problems(tmp_path, text)]
    assert found == [(key, what)]


def test_an_error_names_file_line_and_key(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace("columns:", "colums:") + "        scan: {endpoint: crime}\n")
    with pytest.raises(SpecError) as error:
        load_catalog([file], environ={}, cwd=tmp_path, client=WebClient())
    assert str(error.value).startswith(
        f"{file}:7: sources.gov.tables.crime.colums: unknown key\n  did you mean 'columns'?"
    )
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("rest", "path", "message"),
    [
        ("", "tables.crime", "has neither scan nor lookups"),
        ("scan: {endpoint: {params: {a: b}}}", "tables.crime.scan[0].endpoint.path", "is missing"),
        ("scan: {endpoint: 'c/{zip}'}", "tables.crime.scan[0].endpoint", "nothing fills {zip}"),
        (
            "lookups: [{keys: [zp], endpoint: 'c/{zp}'}]",
            "tables.crime.lookups[0].keys",
            "'zp' is not a column",
        ),
        (
            "lookups: [{keys: [zip], endpoint: 'c/{year}'}]",
            "tables.crime.lookups[0].endpoint",
            "nothing fills {year}",
        ),
        (
            (
                "scan: {endpoint: 'c/{zip}/{year}'}\n"
                "        key_columns: [{name: zip, require: any_of}, {name: year, require: any_of}]"
            ),
            "tables.crime.scan[0].endpoint",
            "names year and zip, of which one may be known without the other",
        ),
        (
            "lookups: [{keys: [zip], batch: {size: 5, each: {a: '{zip}', b: '{year}'}}, endpoint: {path: c, json: ['{zip}']}}]",
            "tables.crime.lookups[0].batch.each",
            "nothing fills {year}",
        ),
        ("{scan: {endpoint: c}, primary_key: [id]}", "tables.crime.primary_key", "'id' is not a column"),
        (
            "{scan: {endpoint: c}, key_columns: [{name: ZIP}]}",
            "tables.crime.key_columns",
            "'ZIP' is not a column",
        ),
        (
            "lookups: [{keys: [zip, year], batch: {size: 5, answers: by_position}, endpoint: c}]",
            "tables.crime.lookups[0]",
            "a list of keys in a body takes one key column",
        ),
        (
            "scan: {endpoint: 'c#sharp/items'}",
            "tables.crime.scan.endpoint",
            "what stands behind # is not sent: write %23 for one, or leave it out",
        ),
        (
            "scan: {endpoint: {path: c, format: csv}}",
            "tables.crime.columns.rating",
            "a path into csv must be the name of a column",
        ),
        (
            "scan: {endpoint: {path: c, format: ndjson, paginator: {type: cursor, cursor_path: a}}}",
            "tables.crime.scan[0].endpoint.paginator",
            "cursor reads the answer's JSON, but format is ndjson",
        ),
        *(
            (
                f"lookups: [{{keys: [zip], batch: {{size: 5}}, endpoint: {{{endpoint}}}}}]",
                "tables.crime.lookups[0].batch",
                "needs a separator: {zip} stands in the path, in a header or amid other text",
            )
            for endpoint in (
                "path: 'c/{zip}'",
                "path: c, params: {f: 'zip={zip}'}",
                "path: c, headers: {X: '{zip}'}",
                "path: c, method: POST, json: {q: ['in {zip}']}",
            )
        ),
        *(
            (
                f"{{scan: {{endpoint: c}}, on_status: [{{status_code: {code}, action: empty}}]}}",
                "tables.crime.on_status[0].status_code",
                f"HTTP {code} never means that there are no rows: {INSTEAD}",
            )
            for code in (100, 200, 206, 401, 429, 503)
        ),
    ],
)
def test_well_formed_but_wrong(tmp_path: Path, rest: str, path: str, message: str) -> None:
    lines = rest.strip("{}").replace("}, ", "}\n").splitlines() if rest.startswith("{") else [rest]
    text = dedent(GOOD) + "".join(f"        {line}\n" for line in lines)
    found = [(where, what) for where, _, what, _ in problems(tmp_path, text)]
    assert (f"sources.gov.{path}", message) in found


def test_no_lookup_is_by_a_key_that_leaves_a_place_of_the_endpoint_open(tmp_path: Path) -> None:
    scan = "        scan: {endpoint: 'c/{zip}'}\n"
    keys = "        key_columns: [{name: zip, require: any_of}, {name: year, require: any_of}]\n"
    file = written(tmp_path, dedent(GOOD) + scan + keys)
    (table,) = load_catalog([file], environ={}, cwd=tmp_path, client=WebClient()).find(["crime"])
    assert [one.keys for one in table.lookups] == [("zip",)]


@pytest.mark.parametrize(
    ("table", "part", "message"),
    [
        (
            {"primary_key": []},
            "",
            "needs a primary_key: a row that has changed takes the place of the one with its key",
        ),
        ({"changes": {"column": "yaer", "param": "since"}}, ".column", "'yaer' is not a column"),
        (
            {"changes": {"column": "ok", "param": "since"}},
            ".column",
            "ok is of type boolean, which does not tell what is newer",
        ),
        (
            {"changes": {"column": "zip", "param": "since", "lookback": 5}},
            ".lookback",
            "nothing can be taken from text: zip is a string",
        ),
        ({"scan": ["a", "b"]}, "", "is of a table with one scan that needs no key"),
        (
            {"key_columns": [{"name": "zip", "require": "required"}]},
            "",
            "is of a table with one scan that needs no key",
        ),
        ({"exhaustive": False}, "", "says nothing of a table that is never complete (exhaustive: false)"),
        ({"columns": None}, "", "needs declared columns"),
    ],
)
def test_changes_that_cannot_be_told(
    tmp_path: Path, table: dict[str, object], part: str, message: str
) -> None:
    declared = {
        "columns": {"zip": "string", "year": "int", "ok": "boolean"},
        "primary_key": ["zip"],
        "scan": ["c"],
        "changes": {"column": "year", "param": "since"},
    } | table
    declared["scan"] = [{"endpoint": path} for path in declared["scan"]]  # type: ignore[union-attr]
    tables = {"crime": {name: said for name, said in declared.items() if said is not None}}
    spec = {
        "version": 1,
        "sources": {"gov": {"client": {"base_url": "https://api.example.gov"}, "tables": tables}},
    }
    found = [(where, what) for where, _, what, _ in problems(tmp_path, json.dumps(spec))]
    assert found == [(f"sources.gov.tables.crime.changes{part}", message)]


@pytest.mark.parametrize(
    ("text", "path", "line", "message"),
    [
        ("a: [1", None, 1, "not valid YAML"),
        ("- 1", "", None, "is not a spec"),
        ("", "", None, "is not a spec"),
        ("version: 2\nsources: {a: {}}", "version", 1, "must be 1, not 2"),
        ("sources: {}", "version", None, "is missing"),
        ("version: 1", "sources", None, "must name at least one source"),
        ("version: 1\nsourcs: {}\nsources: {a: {type: datasett}}", "sourcs", 2, "unknown key"),
        ("version: 1\nsources:\n  a: {type: odatta}", "sources.a.type", 3, "'odatta' is no known type"),
        ("version: 1\nsources:\n  a: {type: [rest]}", "sources.a.type", 3, "['rest'] is no known type"),
        ("version: 1\nsources:\n  a: 5", "sources.a", 3, "must be a mapping"),
        ("version: 1\nsources:\n  a.b: {}", "sources.a.b", 3, "a source's name is"),
        (
            "version: 1\nsources:\n  a: {client: {base_url: x}}\n  a: {}",
            "sources.a",
            4,
            "stands here a second time",
        ),
        ("version: 1\nsources: {? [a] : 1}", None, 2, "keys must be plain text"),
        ("version: 1\nsources: &a {a: *a}", None, None, "not valid YAML"),
    ],
)
def test_wrong_from_the_outside(
    tmp_path: Path, text: str, path: str | None, line: int | None, message: str
) -> None:
    found = lint(written(tmp_path, text), environ={})
    assert any(
        message in error.message
        and (path is None or (error.path or "") == path)
        and (line is None or error.line == line)
        for error in found
    ), [str(error) for error in found]


def test_anchors_that_explode_are_refused(tmp_path: Path) -> None:
    levels = "\n".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 9))
    found = lint(written(tmp_path, f"x0: &x0 1\n{levels}\n"), environ={})
    assert "too large" in found[0].message


def test_the_slow_reader_of_yaml_reads_what_the_quick_one_does(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sorted((project / "sources").rglob("*.yaml"))[::8]
    quick = [read_document(file) for file in files]
    monkeypatch.setattr(document, "_DEEP", 0)
    assert [read_document(file) for file in files] == quick
    assert files


def test_keys_are_read_as_written(tmp_path: Path) -> None:
    text = (
        GOOD.replace("{zip: string,", "{on: int, no: int, 404: int, zip: string,")
        + "        scan: {endpoint: c}\n"
    )
    catalog = load_catalog([written(tmp_path, text)], environ={}, cwd=tmp_path, client=WebClient())
    (found,) = catalog.tables(offered=False)
    assert [column.name for column in found.columns] == ["on", "no", "404", "zip", "rating", "year"]


def test_text_without_quotes_is_as_written(tmp_path: Path) -> None:
    """Whatever YAML would make of it: 321 of 00501, 750 of 12:30, false of no."""
    rest = """\
        values: {zip: [00501, 94704, no], year: [2_020, 1999]}
        scan: {endpoint: {path: c, params: {at: 12:30, v: 1.10, all: True, n: 5, to: [yes, 1_000]}, headers: {X: 0x1F}}}
"""
    file = tmp_path / "fff.yaml"
    file.write_text(dedent(GOOD) + rest, encoding="utf-8")
    read, wrong = read_as(spec.RestSpec, "gov", read_document(file))
    assert wrong == []
    assert read is not None
    crime = read.tables["crime"]
    assert crime.values == {"zip": ["00501", 94704, "no"], "year": ["2_020", 1999]}
    endpoint = crime.scan[0].endpoint
    assert endpoint.params == {"at": "12:30", "v": "1.10", "all": "true", "n": "5", "to": ["yes", "1_000"]}
    assert endpoint.headers == {"X": "0x1F"}


@pytest.mark.parametrize("value", ["00501", "no", "12:30", "0x1F", "1_000", "Yes"])
def test_what_readers_of_yaml_take_for_different_values_is_refused_where_its_type_counts(
    tmp_path: Path, value: str
) -> None:
    body = f"{{keys: [zip], endpoint: {{path: c, method: POST, json: {{a: [{value}], z: '{{zip}}'}}}}}}"
    found = problems(tmp_path, dedent(GOOD) + f"        lookups: [{body}]\n")
    assert [(path, "put it in quotes" in text) for path, _, text, _ in found] == [
        ("sources.gov.tables.crime.lookups[0].endpoint.json", True)
    ]
    number = dedent(GOOD) + f"        lookups: [{body.replace(value, '1.10, true, -3')}]\n"
    read, _ = read_as(spec.RestSpec, "gov", read_document(written(tmp_path, number)))
    assert read is not None
    assert read.tables["crime"].lookups[0].endpoint.body == {"a": [1.1, True, -3], "z": "{zip}"}


def test_missing_secrets_are_problems_for_lint_only(tmp_path: Path) -> None:
    text = (
        GOOD.replace('/v1"', "/v1\", auth: {type: bearer, token: '${env:TOK}'}")
        + "        scan: {endpoint: c}\n"
    )
    hint = "set it: export TOK=…"
    assert problems(tmp_path, text) == [
        ("sources.gov.client.auth.token", 4, "environment variable TOK is not set", hint)
    ]
    assert problems(tmp_path, text, TOK="x") == []
    assert load_catalog([tmp_path / "fff.yaml"], environ={}, cwd=tmp_path, client=WebClient()).adapters


# ----------------------------------------------------------------------------------------------------- access methods


def test_scans_and_lookups_are_named_after_what_they_do(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        """
        scan: [{endpoint: crime}, {endpoint: mirror}]
        lookups:
          - {keys: [zip], endpoint: "crime/{zip}"}
          - {keys: [zip], endpoint: "other/{zip}"}
          - {keys: [zip], batch: {size: 50, separator: ","}, endpoint: crime}
          - {keys: [zip, year], endpoint: crime}
        """,
    )
    assert methods(found) == (
        ["crime.scan", "crime.scan[2]"],
        ["crime.lookup[zip]", "crime.lookup[zip]#2", "crime.lookup[zip]x50", "crime.lookup[zip,year]"],
    )
    assert [lookup.batch_size for lookup in found.lookups] == [1, 1, 50, 1]
    assert [(column.name, column.type) for column in found.columns] == [
        ("zip", "string"),
        ("rating", "string"),
        ("year", "int"),
    ]
    assert found.max_in_flight == 8


@pytest.mark.parametrize(
    ("key_columns", "expected"),
    [
        ("[zip]", (["crime.scan"], ["crime.lookup[zip]"])),
        ("[{name: zip, require: required}]", ([], ["crime.lookup[zip]"])),
        ("[{name: zip, require: required}, {name: year}]", ([], ["crime.lookup[zip]"])),
        (
            "[{name: zip, require: required}, {name: year, require: required}]",
            ([], ["crime.lookup[zip,year]"]),
        ),
        (
            "[{name: zip, require: any_of}, {name: year, require: any_of}]",
            ([], ["crime.lookup[zip]", "crime.lookup[year]"]),
        ),
        ("[{name: year, operators: ['>=', '<=']}]", (["crime.scan"], [])),
    ],
)
def test_lookups_follow_from_key_columns(
    tmp_path: Path, key_columns: str, expected: tuple[list[str], list[str]]
) -> None:
    assert methods(table(tmp_path, f"scan: {{endpoint: crime}}\nkey_columns: {key_columns}")) == expected


def test_an_explicit_lookup_takes_the_place_of_the_derived_one(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        """
        scan: {endpoint: crime}
        lookups: [{keys: [zip], endpoint: "crime/{zip}"}]
        key_columns: [{name: zip}, {name: year}]
        """,
    )
    assert methods(found) == (["crime.scan"], ["crime.lookup[zip]", "crime.lookup[year]"])


def test_defaults_lie_under_every_endpoint(tmp_path: Path) -> None:
    text = """\
        version: 1
        sources:
          gov:
            client: {base_url: "https://h"}
            table_defaults: {on_bad_record: skip, endpoint: {params: {per_page: 100, lang: en}, data_selector: d}}
            tables:
              a:
                columns: {x: int}
                endpoint: {params: {lang: de}, paginator: header_link}
                scan: {endpoint: a}
                lookups: [{keys: [x], endpoint: {path: "a/{x}", data_selector: $, params: {per_page: null}}}]
              b: {columns: {x: int}, endpoint: b}
        """
    catalog = load_catalog([written(tmp_path, text)], environ={}, cwd=tmp_path, client=WebClient())
    a, b = catalog.tables(offered=False)
    scan, lookup = a.scans[0].endpoint.endpoint, a.lookups[0].endpoint.endpoint
    assert (scan.path, scan.params, scan.data_selector, scan.paginator.type) == (
        "a",
        {"per_page": "100", "lang": "de"},
        "d",
        "header_link",
    )
    assert (lookup.params, lookup.data_selector) == ({"per_page": None, "lang": "de"}, "$")
    assert [method.name for method in b.scans] == ["b.scan"]
    assert b.scans[0].endpoint.endpoint.params["lang"] == "en"


# ------------------------------------------------------------------------------------------------------------ loading


def named(name: str) -> str:
    return f"version: 1\nsources: {{{name}: {{client: {{base_url: 'http://h'}}, tables: {{t: {{columns: {{a: int}}, scan: {{endpoint: x}}}}}}}}}}\n"


def names(folder: Path, *paths: str, **environ: str) -> list[str]:
    catalog = load_catalog([Path(path) for path in paths], environ=environ, cwd=folder, client=WebClient())
    return [adapter.name for adapter in catalog.adapters if isinstance(adapter, HttpSource)]


def test_where_specs_are_looked_for(tmp_path: Path) -> None:
    written(tmp_path, named("here"))
    written(tmp_path, named("one"), "sources/b.yaml")
    written(tmp_path, named("two"), "sources/a.yml")
    written(tmp_path, "name: something else\n", "sources/ci.yaml")
    written(tmp_path, "{{ not yaml", "sources/template.yaml")
    written(tmp_path, "print()", "sources/code.py")
    written(tmp_path, named("home"), "config/fff/x.yaml")
    written(tmp_path, named("elsewhere"), "else/where.yaml")
    written(tmp_path, named("deep"), "else/deep/no.yaml")
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert names(tmp_path, **config) == ["here", "two", "one", "home"]
    assert names(tmp_path, "else", "fff.yaml", **config) == ["elsewhere", "here"]
    assert names(tmp_path, FFF_SOURCES="else:sources/b.yaml", **config) == ["elsewhere", "one"]
    assert names(tmp_path / "else") == []


def test_explicit_paths_are_strict(tmp_path: Path) -> None:
    written(tmp_path, "name: something else\n", "sources/ci.yaml")
    assert names(tmp_path) == []
    with pytest.raises(SpecError, match=r"version: is missing|unknown key"):
        names(tmp_path, "sources")
    with pytest.raises(UsageError, match="no such spec file"):
        names(tmp_path, "nowhere.yaml")
    written(tmp_path, "version: 1\nsources: {a: [", "sources/broken.yaml")
    with pytest.raises(SpecError, match="not valid YAML"):
        names(tmp_path)


def test_the_first_source_of_a_name_wins(tmp_path: Path) -> None:
    written(tmp_path, named("same"), "a.yaml")
    written(tmp_path, named("same").replace("http://h", "http://other"), "b.yaml")
    catalog = load_catalog([Path("b.yaml"), Path("a.yaml")], environ={}, cwd=tmp_path, client=WebClient())
    assert [one.http.requests.host().base_url for one in catalog.adapters if isinstance(one, HttpSource)] == [
        "http://other"
    ]


def test_rest_is_always_known() -> None:
    assert "rest" in known_types()


@pytest.mark.parametrize(
    "adapter", importlib.metadata.entry_points(group="fff.sources"), ids=lambda one: one.name
)
def test_adapters_are_made_of_parts(adapter: importlib.metadata.EntryPoint) -> None:
    """No chain of classes under them, no spec of REST under GraphQL, and all that the engine may ask of a web source."""
    made = adapter.load()
    assert len([one for one in made.__mro__ if one.__module__.startswith("fff")]) <= 2
    assert issubclass(made, Discovering)
    if adapter.name != "adbc":  # a database is asked again
        assert issubclass(made, Cacheable)
        assert issubclass(made, Divisible)
    assert all(map(callable, (made.from_spec, made.lint)))
    assert made.__name__ == "RestSource" or "RestSpec" not in inspect.getsource(
        importlib.import_module(made.__module__)
    )


@pytest.mark.parametrize(
    ("client", "path", "said"),
    [
        ("auth: {type: oauth2, client_id: x, access_token_url: 'file:///a', refresh_token: r}", "auth.access_token_url", "is not an http or https URL"),
        ("auth: {type: oauth2, client_id: x, access_token_url: 'https://a', authorization_url: 'javascript:a()'}", "auth.authorization_url", "is not an http or https URL"),
        ("auth: {type: oauth2_client_credentials, client_id: x, client_secret: y, access_token_url: token}", "auth.access_token_url", "is not an http or https URL"),
        ("auth: {type: jwt, key: k, access_token_url: 'https://a:port/'}", "auth.access_token_url", "is not an http or https URL"),
        ("network: {ca_bundle: gone.pem}", "network.ca_bundle", "there is no file 'gone.pem'"),
        ("network: {client_certificate: gone.pem, client_key: fff.yaml}", "network.client_certificate", "there is no file 'gone.pem'"),
    ],
)  # fmt: skip
def test_where_logins_and_certificates_are_is_looked_at(
    tmp_path: Path, client: str, path: str, said: str
) -> None:
    text = GOOD.replace('v1"}', f'v1", {client}}}').rstrip() + "\n            scan: {endpoint: x}\n"
    assert problems(tmp_path, text) == [(f"sources.gov.client.{path}", 4, said, None)]


def test_the_column_of_accounts_holds_their_names(tmp_path: Path) -> None:
    text = GOOD.replace("tables:", "accounts: {column: Year, each: {a: {}}}\n        tables:").rstrip()
    [(path, line, said, _)] = problems(tmp_path, text + "\n            scan: {endpoint: x}\n")
    assert (path, line) == ("sources.gov.tables.crime.columns.year", 8)
    assert said == "holds the names of accounts, and is of type int"
