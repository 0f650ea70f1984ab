"""The bundled catalog: sound specs, read one at a time, in nobody's way; and what is written about them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import fff_sources.load
from fff.catalog import Catalog
from fff.errors import QueryError
from fff.federation import Federation
from fff.web.client import WebClient
from fff_sources.document import parse_document, read_document
from fff_sources.http import templates
from fff_sources.load import BUNDLED, INDEX, lint, load_catalog
from tests.catalog.pages import made, secrets
from tests.sampling import every

FILES = sorted(BUNDLED.glob("*.yaml"))
NAMES = [file.stem for file in FILES]
PROJECT = Path(__file__).parents[2]
SAMPLES = {
    file.name: file.read_text(encoding="utf-8") for file in (PROJECT / "sample_queries" / "web").glob("*.sql")
}
PAGES = PROJECT / "docs" / "catalog"
#: Sources that cannot be asked without a secret, and the names of what they need.
NEEDED = {name: needed for name in NAMES if (needed := {one for one, must in secrets(name).items() if must})}
EXPECTED = {
    "openfec", "census", "usgs", "worldbank", "crossref", "datacite", "openalex", "gbif", "github", "hackernews",
    "stackexchange", "wikidata", "zenodo", "nvd", "edgar", "openmeteo", "nager",
}  # fmt: skip


def texts(name: str) -> tuple[str, str]:
    """The page and the spec of a source."""
    return (PAGES / f"{name}.md").read_text(encoding="utf-8"), (BUNDLED / f"{name}.yaml").read_text(
        encoding="utf-8"
    )


#: A file is parsed once for all tests here.
parsed = cache(read_document)


@pytest.fixture(autouse=True)
def _parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fff_sources.load,
        "read_document",
        lambda file: (parsed if file.parent == BUNDLED else read_document)(file),
    )


def declared(name: str) -> dict[str, Any]:
    data: dict[str, Any] = parsed(BUNDLED / f"{name}.yaml").data["sources"][name]
    return data


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """One for all who only plan, so that each spec is read once."""
    client = WebClient()
    return Federation(load_catalog([], environ={}, cwd=tmp_path_factory.mktemp("cwd"), client=client), client)


def catalog_of(tmp_path: Path, text: str = "") -> Catalog:
    paths = []
    if text:
        (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
        paths.append(tmp_path / "own.yaml")
    return load_catalog(paths, environ={}, cwd=tmp_path, client=WebClient())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The spec files that are read."""
    seen: list[str] = []

    def noting(file: Path):
        seen.append(file.name)
        return read_document(file)

    monkeypatch.setattr(fff_sources.load, "read_document", noting)
    return seen


# ------------------------------------------------------------------------------------------------------------- specs


def test_the_promised_sources_are_there() -> None:
    assert set(NAMES) >= EXPECTED


def test_a_spec_is_sound_and_a_file_is_one_source_of_its_name() -> None:
    assert {name: list(parsed(BUNDLED / f"{name}.yaml").data["sources"]) for name in NAMES} == {
        name: [name] for name in NAMES
    }
    secrets_of = {name: dict.fromkeys(NEEDED.get(name, ()), "x") for name in NAMES}
    problems = {name: lint(BUNDLED / f"{name}.yaml", environ=secrets_of[name]) for name in NAMES}
    assert {name: wrong for name, wrong in problems.items() if wrong} == {}


def test_only_some_sources_need_a_secret() -> None:
    missed = {}
    for name in NAMES:
        problems = [str(error) for error in lint(BUNDLED / f"{name}.yaml", environ={})]
        missed[name] = set(re.findall(r"environment variable (\w+) is not set", "\n".join(problems)))
        assert bool(problems) == bool(missed[name]), name
    assert {name: variables for name, variables in missed.items() if variables} == NEEDED


def test_every_table_says_what_it_is_and_what_columns_it_has() -> None:
    for name in NAMES:
        head = (BUNDLED / f"{name}.yaml").read_text(encoding="utf-8").split("version:")[0]
        for part in ("# Documentation: https://", "# Key: ", "Limits: ", "Terms: "):
            assert part in head, name
        source = declared(name)
        assert source["description"], name
        assert source["client"]["rate_limit"]["max_concurrency"], name
        for table in source["tables"].values():
            assert table["description"], name
            assert table["columns"], name


def test_a_misspelt_table_is_suggested_by_the_index_and_no_spec_is_read(
    tmp_path: Path, read: list[str]
) -> None:
    assert catalog_of(tmp_path).suggest("gbif.ocurrences")[0] == "gbif.occurrences"
    assert read == []


@pytest.mark.parametrize("name", every(8, NAMES))
def test_every_table_has_a_test_query_that_can_be_run(federation: Federation, name: str) -> None:
    used = set()
    for sql in declared(name)["tests"]:
        assert federation.explain(federation.prepare(sql))
        used |= set(re.findall(rf"\b{name}\.(\w+)", re.sub(r"--.*|'[^']*'", "", sql)))
    assert used == set(declared(name)["tables"])


def test_whole_urls_lead_to_hosts_that_move_with_the_source() -> None:
    for name in NAMES:
        text = (BUNDLED / f"{name}.yaml").read_text(encoding="utf-8")
        hosts = {
            urlsplit(url).netloc for url in re.findall(r"(?:path|endpoint): \"?(https?://[^\s\"]+)", text)
        }
        assert hosts <= set(declared(name)["client"].get("allowed_hosts", ()))


def test_no_column_filled_from_keys_alone_is_reached_without_them(tmp_path: Path) -> None:
    """A column that no answer has would be NULL in a scan, and another in a lookup: a table must not be two."""
    specs = {name: declared(name) for name in NAMES}
    for table in catalog_of(tmp_path).tables():
        pseudo = {
            column
            for column, part in specs[table.source]["tables"][table.name]["columns"].items()
            if isinstance(part, dict) and part.get("path") == "asked"
        }
        assert not pseudo or not table.scans, table.full_name
        assert all(pseudo <= set(method.keys) for method in table.lookups), table.full_name


# ----------------------------------------------------------------------------------------------------------- loading


def test_only_the_sources_that_a_statement_names_are_read(tmp_path: Path, read: list[str]) -> None:
    federation = Federation(catalog_of(tmp_path), WebClient())
    federation.prepare("SELECT h.name FROM nager.holidays h WHERE h.country = 'AT' AND h.year = 2025")
    assert read == ["nager.yaml"]
    federation.prepare("SELECT k.cve, e.epss FROM cisa.exploited k JOIN EPSS.scores e ON e.cve = k.cve")
    federation.prepare("SELECT n.name FROM nager.countries n")
    assert read == ["nager.yaml", "cisa.yaml", "epss.yaml"]


OWN = """
version: 1
sources:
  mine:
    client: {base_url: "http://127.0.0.1:9"}
    tables:
      works: {columns: {id: int}, scan: {endpoint: works}}
  github:
    client: {base_url: "http://127.0.0.1:9"}
    tables:
      things: {columns: {id: int}, scan: {endpoint: things}}
"""


def test_tables_of_ones_own_come_first_and_are_never_ambiguous(tmp_path: Path, read: list[str]) -> None:
    catalog = catalog_of(tmp_path, OWN)
    assert [table.full_name for table in catalog.find(["works"])] == ["mine.works"]
    assert read == ["own.yaml"]
    assert len(catalog.find(["crossref", "works"])) == 1
    assert [table.full_name for table in catalog.find(["Works"])] == ["mine.works"]
    listed = [table.full_name for table in catalog.tables()]
    assert listed[:2] == ["mine.works", "github.things"]
    bundled = [name.split(".")[0] for name in listed[2:]]
    assert bundled == sorted(bundled)


def test_a_source_of_ones_own_hides_the_bundled_one_of_its_name(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path, OWN.replace("  github:", "  GitHub:"))
    assert [t.full_name for t in catalog.tables() if t.source.lower() == "github"] == ["GitHub.things"]
    assert catalog.find(["github", "issues"]) == []


def test_a_bundled_table_may_go_by_its_own_name(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    assert [table.full_name for table in catalog.find(["top_stories"])] == ["hackernews.top_stories"]
    assert len(catalog.find(["works"])) > 1


def test_tables_are_listed_without_any_secret(tmp_path: Path) -> None:
    assert {table.source for table in catalog_of(tmp_path).tables()} == set(NAMES)


def test_a_tables_own_name_reads_only_the_sources_that_have_one(tmp_path: Path, read: list[str]) -> None:
    catalog = catalog_of(tmp_path)
    catalog.find(["top_stories"])
    assert read == ["hackernews.yaml"]
    assert len(catalog.find(["countries"])) > 1
    assert {"wdqs.yaml", "worldbank.yaml", "nager.yaml"} < set(read) < {file.name for file in FILES}


def test_what_is_made_of_the_specs_is_up_to_date() -> None:
    """Else: `python -m tests.catalog`."""
    files = made()
    assert INDEX in files
    assert {path.name for path, text in files.items() if path.read_text(encoding="utf-8") != text} == set()


def test_a_misspelt_name_is_corrected_from_the_catalog(federation: Federation) -> None:
    with pytest.raises(QueryError) as raised:
        federation.prepare("SELECT 1 FROM hackernews.top_storys")
    assert "hackernews.top_stories" in str(raised.value.hint)


# ----------------------------------------------------------------------------------------------------- documentation


def test_there_are_enough_samples() -> None:
    assert len(SAMPLES) >= 8


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_can_be_run_and_joins_sources(federation: Federation, sample: str) -> None:
    assert federation.explain(federation.prepare(SAMPLES[sample]))
    named = {name for name in NAMES if re.search(rf"\b{name}\.\w", SAMPLES[sample])}
    assert len(named) > 1


def test_every_source_is_joined_with_another() -> None:
    """In a sample, or in the last of its test queries, which is the example on its page."""
    named = {
        name: set(re.findall(r"\b([a-z]\w*)\.\w", declared(name)["tests"][-1])) & set(NAMES) for name in NAMES
    }
    alone = [name for name in NAMES if not named[name] - {name}]
    assert [name for name in alone if not any(f"{name}." in sql for sql in SAMPLES.values())] == []


def test_the_page_of_a_source_tells_its_tables_and_secrets() -> None:
    for name in NAMES:
        page, text = texts(name)
        expected = [f"`{name}.{table}`" for table in declared(name)["tables"]]
        for part in declared(name)["tables"].values():
            expected += [f"`{key}`" for lookup in part.get("lookups", []) for key in lookup["keys"]]
        expected += re.findall(r"\$\{env:(\w+)", text)
        expected += re.findall(r"https://[^\s,)]+", text.split("Documentation:")[1].splitlines()[0])
        assert [word for word in expected if word not in page] == [], name


@pytest.mark.parametrize("name", every(4, NAMES))
def test_the_examples_on_the_page_of_a_source_can_be_run(federation: Federation, name: str) -> None:
    examples = re.findall(r"```sql\n(.*?)```", texts(name)[0], re.DOTALL)
    assert examples
    for sql in examples:
        assert federation.explain(federation.prepare(sql))


def test_the_index_names_every_page_and_every_sample() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((\w+)\.md\)", index)) == set(NAMES)
    assert {path.stem for path in PAGES.glob("*.md")} == {*NAMES, "README"}
    assert [sample for sample in SAMPLES if sample not in index] == []


def test_templates_know_padding() -> None:
    assert templates.names("CIK{cik:010}.json") == {"cik"}
    assert templates.fill_text("CIK{cik:010}.json", {"cik": "320193"}) == "CIK0000320193.json"


def test_catalogs_are_plain_yaml() -> None:
    for file in FILES:
        assert parse_document(file.read_text(encoding="utf-8"), str(file)).problems == []


def test_the_page_tells_how_long_answers_of_each_source_are_fresh() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    told = {
        name: int(seconds)
        for seconds, names in re.findall(r"^\| (\d+) \| ([a-z, ]+) \|", index, re.MULTILINE)
        for name in names.split(", ")
    }
    assert told == {name: declared(name)["client"]["cache"]["ttl"] for name in NAMES}
