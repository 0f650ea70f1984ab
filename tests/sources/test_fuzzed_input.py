"""Whatever a spec file, a header or a list of trusted specs holds, the end is a value or the one clear error."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fff.errors import FFFError, SpecError
from fff.web.client import WebClient
from fff.web.gate.rate_limit_headers import quotas, server_time
from fff.web.retry import retry_after
from fff.web.types import HostPolicy
from fff_sources.load import lint, load_catalog
from fff_sources.trust import TrustStore

FEW = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

VALID = """version: 1
sources:
  gov:
    client: {base_url: "http://127.0.0.1:9", auth: {type: bearer, token: "${env:T}"}, rate_limit: {limit: 5, per: 30}}
    tables:
      crime:
        primary_key: [zip]
        columns: {zip: string, rating: {type: string, path: rating.value}}
        key_columns: [{name: zip, require: required}]
        scan: {endpoint: {path: crime, data_selector: results, paginator: {type: cursor, cursor_path: next}}}
        lookups: [{keys: [zip], batch: {size: 50, separator: ","}, endpoint: {path: "c/{zip}"}}]
"""
WORDS = [
    "null",
    "[]",
    "{}",
    "1",
    "-1",
    "x",
    "${env:",
    "{",
    "}",
    "&a",
    "*a",
    "<<: ",
    "!!set ",
    "!!python/name:os ",
    "1e999",
    "\0",
    "\t",
]


def damaged(text: str, places: list[tuple[int, int, str]]) -> str:
    for start, length, word in places:
        at = start % (len(text) + 1)
        text = text[:at] + word + text[at + length :]
    return text


DAMAGE = st.lists(
    st.tuples(st.integers(0, 2000), st.integers(0, 12), st.sampled_from(WORDS) | st.text(max_size=5)),
    min_size=1,
    max_size=3,
)


def checked(file: Path) -> None:
    """A spec is read, or refused as one."""
    found = lint(file, environ={}, cwd=file.parent)
    assert all(isinstance(error, SpecError) and error.render() for error in found)
    try:
        assert (
            list(load_catalog([file], environ={}, cwd=file.parent, client=WebClient()).tables(offered=False))
            is not None
        )
    except FFFError as error:
        assert error.render()  # noqa: PT017 - either end is right


@settings(FEW, max_examples=10)
@given(DAMAGE)
def test_a_damaged_spec(tmp_path: Path, places: list[tuple[int, int, str]]) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(damaged(VALID, places), encoding="utf-8", errors="replace")
    checked(file)


@FEW
@given(st.binary(max_size=200))
def test_any_bytes_as_a_spec(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "fff.yaml"
    file.write_bytes(data)
    checked(file)


NAMES = [
    "retry-after",
    "date",
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
]
NAMES += ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-rate-limit-reset-after"]
VALUES = st.sampled_from(
    [
        "1e999",
        "-1",
        "nan",
        "inf",
        "9" * 400,
        "Tue, 99 Foo 0000",
        "Tue, 14 Nov 99999 22:13:20 GMT",
        "0",
        '"a";q=;w=',
        "½",
    ]
)
SECONDS = st.text(max_size=30) | VALUES


@settings(FEW, max_examples=150)
@given(st.dictionaries(st.sampled_from(NAMES), SECONDS, max_size=6))
def test_any_headers(headers: dict[str, str]) -> None:
    told = quotas(headers, HostPolicy(), 1.7e9)
    wait = retry_after(headers, 1.7e9)
    assert wait is None or wait >= 0
    assert isinstance(server_time(headers, 1.7e9), float)
    assert all(quota.name for quota in told)


@FEW
@given(
    st.binary(max_size=60)
    | st.sampled_from([b'{"version": 1, "specs": []}', b'{"version": 1.0, "specs": {"": ""}}'])
)
def test_any_list_of_trusted_specs(tmp_path: Path, data: bytes) -> None:
    folder = tmp_path / "fff"
    folder.mkdir(exist_ok=True)
    (folder / "trusted.json").write_bytes(data)
    (folder / "trusted.json").chmod(0o600)
    try:
        assert isinstance(TrustStore({**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}).entries(), dict)
    except FFFError as error:
        assert "trusted.json" in error.render()  # noqa: PT017 - either end is right
