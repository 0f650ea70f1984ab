"""The options of statements and connections: one list, whoever fills it in."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import SimpleNamespace

import pytest
import typer

import fff
from fff.frames.spark_data_source import _STATEMENT
from fff.options import ConnectOptions, OpenOptions, RunOptions, StatementOptions
from fff.structs import asdict
from fff_cli import app
from fff_cli.options.arguments import QueryArguments
from tests.api.conftest import Publish
from tests.engine.site import Site, access

ENGINE = set(RunOptions.__struct_fields__)


def test_whoever_fills_them_in_calls_them_by_the_same_names() -> None:
    assert StatementOptions.__annotations__.keys() <= ENGINE
    assert ConnectOptions.__annotations__.keys() <= ENGINE | OpenOptions.__annotations__.keys()
    assert _STATEMENT.keys() <= StatementOptions.__annotations__.keys()
    typed = {*QueryArguments.__struct_fields__} | ENGINE
    of_query = inspect.signature(app.query).parameters.keys() - {"context", "server"}
    assert inspect.signature(app.explain).parameters.keys() - {"analyze", "context"} == of_query, (
        "as it was typed for query"
    )
    for command in (app.query, app.shell):
        assert inspect.signature(command).parameters.keys() - {"context", "server"} <= typed, command
    given = inspect.signature(app.query).parameters.keys()
    assert typed - given == {
        "texts",
        "run",
        "into_folder",
        "replace_by_partial",
        "hold_rows",
        "refresh",
        "measure_filters",
        "spark_log",
    }, "what a command line can say"


@pytest.mark.parametrize("command", [app.query, app.shell])
def test_what_a_command_is_given_reaches_the_engine(command: object, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def noting(arguments: QueryArguments, **_: object) -> int:
        given.update(asdict(arguments.run))
        return 7

    monkeypatch.setattr("fff_cli.commands.query.run_query", noting)
    monkeypatch.setattr("fff_cli.shell.repl.run_shell", noting)
    said = {
        "policy": "naive", "prefer": "cheap", "seed": 3, "semantics": "paper", "on_source_error": "partial",
        "deadline": 1.5, "max_requests": 9, "memory_limit": 10**9, "spark_master": "spark://x", "spark_remote": "sc://y",
        "warm": True,
    }  # fmt: skip
    root = SimpleNamespace(find_root=lambda: SimpleNamespace(obj=((), None)))
    context = {"context": root} if command is app.query else {}
    with pytest.raises(typer.Exit) as ended:
        command(**said, **context)  # type: ignore[operator]
    assert ended.value.exit_code == 7
    assert given == asdict(RunOptions(**said))  # type: ignore[arg-type]


def test_the_options_of_a_connection_hold_for_its_statements(publish: Publish) -> None:
    site = Site({"r": (("a",), [(number,) for number in range(45)])})
    spec = publish(site, {"r": access("r", {"a": "int"})})
    with fff.connect(spec, seed=5, policy="naive", max_requests=2, on_source_error="partial") as federation:
        one = federation.sql("SELECT a FROM web.r")
        assert (one.report["seed"], one.report["policy"], len(one)) == (5, "naive", 20)
        other = federation.sql("SELECT a FROM web.r", seed=6, max_requests=None)
        assert (other.report["seed"], other.report["policy"], len(other)) == (6, "naive", 45)


@pytest.mark.parametrize("connect", [fff.connect, fff.connect_async])
def test_wrong_options_are_told_when_connecting(connect: object) -> None:
    for wrong in ({"timeout": 3}, {"prioritize": ["a = 1"]}, {"hold_rows": True}):
        with pytest.raises(TypeError, match=f"a connection has no option {next(iter(wrong))!r}"):
            connect(**wrong)  # type: ignore[operator]
    for wrong in (
        {"deadline": 0},
        {"max_requests": -1},
        {"on_source_error": "no"},
        {"prefer": "best"},
        {"memory_limit": "x"},
    ):
        with pytest.raises(fff.UsageError, match=next(iter(wrong))):
            connect(**wrong)  # type: ignore[operator]


def test_options_are_there_before_the_engine() -> None:
    code = "import sys, fff.options; print(sorted({'numpy', 'pyarrow', 'sqlglot', 'fff.dataflow'} & sys.modules.keys()))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
