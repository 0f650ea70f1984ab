"""The page on adapters mentions every key, and its examples are sound specs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fff_sources.adbc.spec import AdbcSpec, AdbcTable
from fff_sources.ckan.source import CkanSpec
from fff_sources.datasette.source import DatasetteSpec
from fff_sources.files.spec import FilesSpec, FileTable
from fff_sources.graphql import spec as graphql
from fff_sources.http.portal import PortalTable
from fff_sources.load import lint
from fff_sources.odata import spec as odata
from fff_sources.socrata.source import SocrataSpec
from fff_sources.sparql import spec as sparql

TEXT = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_a_sound_spec(tmp_path: Path, number: int) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(EXAMPLES[number], encoding="utf-8")
    environ = dict.fromkeys(re.findall(r"\$\{env:(\w+)\}", TEXT), "x")
    assert [str(error) for error in lint(file, environ=environ, cwd=tmp_path)] == []


@pytest.mark.parametrize(
    "kind", ["datasette", "ckan", "socrata", "files", "odata", "graphql", "sparql", "adbc"]
)
def test_every_adapter_has_a_section(kind: str) -> None:
    assert f"\n## `{kind}`" in TEXT


MODELS = [
    AdbcSpec, AdbcTable,
    DatasetteSpec, CkanSpec, SocrataSpec, FilesSpec, FileTable, PortalTable, odata.ODataSpec, odata.ODataTable, odata.ODataBatch,
    odata.ODataColumn, graphql.GraphQLSpec, graphql.GraphQLTable, graphql.GraphQLLookup, graphql.GraphQLColumn, graphql.Relay,
    sparql.SparqlSpec, sparql.SparqlTable, sparql.SparqlColumn,
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_every_key_is_mentioned(model: type) -> None:
    keys = [part.alias or name for name, part in model.model_fields.items()]
    assert [key for key in keys if not re.search(rf"\b{key}\b", TEXT)] == []
