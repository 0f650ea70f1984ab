"""The README and the manual of the command line: every command in them runs and prints what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from fff_sources.demo import SPEC
from fff_sources.demo.process import DemoServer
from tests.cli.terminal import ROOT, environment

PAGES = ("README.md", "docs/cli.md", "docs/shell.md")
BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]+) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    mark: str
    language: str
    body: str


def blocks() -> list[Block]:
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text()
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(page, line, match["mark"] or "", match["language"], match["body"]))
    return found


def commands(body: str) -> list[tuple[str, str]]:
    """Each command of a block with the output shown under it."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert parts[0] == "", "a block begins with a command"
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts[1:])]


RUN = [block for block in blocks() if block.mark.startswith("run")]


@pytest.fixture(scope="module")
def base_url():
    with DemoServer(delay_scale=0) as server:
        yield server.base_url


@pytest.fixture
def shell(base_url, tmp_path):
    """Run a command line where the demo sources are up and `fff` is this working copy's."""
    tools, work = tmp_path / "bin", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    fff = tools / "fff"
    fff.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fff_cli "$@"\n')
    fff.chmod(0o755)
    environ = environment(FFF_DEMO_BASE_URL=base_url, FFF_SOURCES=str(SPEC), LC_ALL="C.UTF-8")
    environ["PATH"] = f"{tools}:{environ['PATH']}"

    def run(command: str, folder: Path = work) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environ, capture_output=True, text=True, timeout=180, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    run.folder = work
    run.environ = environ
    return run


def check(block: Block, shell) -> None:
    wanted = int(block.mark.split("exit ")[1].split()[0]) if "exit " in block.mark else 0
    for command, shown in commands(block.body):
        done = shell(command)
        assert done.returncode == wanted, f"{command}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        if shown.strip():
            assert done.stdout == shown, command
        if wanted in (1, 2):
            assert done.stdout == ""
            assert done.stderr.startswith("error: ")


def copy_samples(shell) -> None:
    for sample in (ROOT / "sample_queries").glob("*.sql"):
        (shell.folder / sample.name).write_text(sample.read_text())


def marks(block: Block) -> list[pytest.MarkDecorator]:
    """Every command is a process or several."""
    spark = [pytest.mark.spark] if "spark" in block.mark else []
    return [*spark, pytest.mark.slow]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(
            block,
            id=f"{block.page}:{block.line}",
            marks=marks(block),
        )
        for block in RUN
    ],
)
def test_commands_run_and_print_what_the_page_says(block, shell):
    if "-f " in block.body:
        copy_samples(shell)
    if "spec" in block.mark:
        [spec] = [other for other in blocks() if other.page == block.page and other.language == "yaml"]
        (shell.folder / "fff.yaml").write_text(spec.body)
        del shell.environ["FFF_SOURCES"]
        shell.environ["FFF_TOWN_BASE_URL"] = shell.environ["FFF_DEMO_BASE_URL"]
    check(block, shell)


def test_every_command_block_is_run_or_says_why_not():
    unmarked = [
        f"{block.page}:{block.line}" for block in blocks() if block.language == "console" and not block.mark
    ]
    assert unmarked == []
    assert {block.page for block in RUN} == set(PAGES)


def test_the_two_commands_of_the_readme_are_targets():
    [first] = [block for block in blocks() if block.mark.startswith("make")]
    makefile = (ROOT / "Makefile").read_text()
    for command, _ in commands(first.body):
        assert re.fullmatch(r"make \w+", command)
        assert f"\n{command.split()[1]}:" in makefile


@pytest.mark.slow
def test_every_option_and_command_is_in_the_manual(shell):
    manual = (ROOT / "docs/cli.md").read_text()
    for command in (
        "query",
        "explain",
        "demo",
        "experiment",
        "shell",
        "source list",
        "source show",
        "source lint",
        "source test",
        "source init",
        "source schema",
    ):
        assert all(word in manual for word in command.split())
        for option in re.findall(r"--[a-z][a-z-]+", shell(f"fff {command} --help").stdout):
            assert option in manual or option == "--help", f"{option} of fff {command}"


def test_files_the_readme_names_exist():
    for name in re.findall(r"^\| `([\w./]+)` \|", (ROOT / "README.md").read_text(), flags=re.MULTILINE):
        assert (ROOT / name).exists(), name
