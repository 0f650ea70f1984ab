"""docs/functions.md: its examples run, its spec is sound, and it names all there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import fff
from fff_sources.http.spec import spec
from fff_sources.load import lint
from fff_sources.openai.spec import PromptSpec
from tests.api.examples import examples, run

PAGE = "docs/functions.md"
TEXT = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path) -> None:
    found = examples(PAGE, spark=False)
    assert found
    run(found, tmp_path)


def test_the_specs_are_sound(tmp_path: Path) -> None:
    for example in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL):
        file = tmp_path / "fff.yaml"
        file.write_text(example, encoding="utf-8")
        assert lint(file, environ={"OPENAI_API_KEY": "k"}, cwd=tmp_path) == []


def test_it_names_everything() -> None:
    options = set(inspect.signature(fff.Connection.register).parameters) - {"self"}
    assert options == set(inspect.signature(fff.AsyncConnection.register).parameters) - {"self"}
    for name in options | set(spec.FunctionSpec.model_fields) | set(PromptSpec.model_fields):
        assert f"`{name}`" in TEXT, name
