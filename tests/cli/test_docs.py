"""The README and the manual of the command line: every command in them runs and prints what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.screens import COMMANDS, SCREENS, SIZES, THEMES, screens
from fff_sources.demo import SPEC
from tests.cli.blocks import Block, blocks, commands
from tests.cli.terminal import ROOT, environment

PAGES = ("README.md", "docs/cli.md", "docs/shell.md")
RUN = [block for block in blocks(PAGES) if block.mark.startswith("run")]


@pytest.fixture
def shell(demo_url, tmp_path):
    """Run a command line where the demo sources are up and `fff` is this working copy's."""
    tools, work = tmp_path / "bin", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    fff = tools / "fff"
    fff.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fff_cli "$@"\n')
    fff.chmod(0o755)
    environ = environment(FFF_DEMO_BASE_URL=demo_url, FFF_SOURCES=str(SPEC), LC_ALL="C.UTF-8")
    # What other tests have found of the same server would change what is foretold.
    environ |= {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CACHE", "STATE")}
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
        [spec] = [other for other in blocks(PAGES) if other.page == block.page and other.language == "yaml"]
        (shell.folder / "fff.yaml").write_text(spec.body)
        del shell.environ["FFF_SOURCES"]
        shell.environ["FFF_TOWN_BASE_URL"] = shell.environ["FFF_DEMO_BASE_URL"]
    check(block, shell)


@pytest.mark.spark
@pytest.mark.slow
def test_the_session_that_the_page_of_the_shell_shows_is_one(shell):
    [session] = [block.body for block in blocks(["docs/shell.md"]) if block.body.startswith("$ fff shell")]
    sql = "".join(re.findall(r"^(?:fff|\.\.\.)> (.*\n)", session, re.MULTILINE))
    done = shell(f"echo '{sql}' | fff shell -o csv")
    shown = [re.findall(r"[\w.]+", line) for line in session.splitlines() if line.startswith("│")]
    assert sorted(line.split(",") for line in done.stdout.splitlines()) == sorted(shown)
    assert re.search(r"\d+ rows in .* s, \d+ requests", session)[0].split(" in ")[0] in done.stderr
    assert session.splitlines()[-2].split(" s, ")[1] == done.stderr.splitlines()[-1].split(" s, ")[1]


def test_every_command_block_is_run_or_says_why_not():
    unmarked = [
        f"{block.page}:{block.line}"
        for block in blocks(PAGES)
        if block.language == "console" and not block.mark
    ]
    assert unmarked == []
    assert {block.page for block in RUN} == set(PAGES)


def test_the_two_commands_of_the_readme_are_targets():
    [first] = [block for block in blocks(PAGES) if block.mark.startswith("make")]
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
        "source import",
        "source search",
        "source schema",
        "source trust",
    ):
        assert all(word in manual for word in command.split())
        for option in re.findall(r"--[a-z][a-z-]+", shell(f"fff {command} --help").stdout):
            assert option in manual or option == "--help", f"{option} of fff {command}"


def test_the_screens_that_pages_show_are_those_that_are_drawn_and_are_of_today():
    drawn = {file.name for file in (ROOT / "docs" / "screens").iterdir()}
    pages = (*PAGES, "docs/screens.md")
    named = set(re.findall(r"screens/([\w-]+\.svg)", "".join((ROOT / page).read_text() for page in pages)))
    assert named == drawn == screens_at(SCREENS) | {f"recording-{theme}.svg" for theme in THEMES}
    words = {
        "recording": ("groups so far", "waiting for", " requests, complete", "FEC.scan", "Spark: waited for"),
        "live": ("fetching", "waiting for", "groups so far", "access", "about"),
        "throttled": ("fetching", "waiting for", "Crime: "),
        "failing": ("failed", "missing demo.Crime: "),
        "forty": (".scan", " more"),
        "summary": ("300 rows in", "complete", "FEC.scan"),
        "partial": ("PARTIAL", "FEC.scan"),
        "explain": ("in all",),
        "analyze": ("Access", "Demographics.lookup[zip]"),
        "error": ("unknown column", "^^^^", "did you mean"),
        "list": ("demo.Demographics", "bundled tables"),
        "shell": ("Crime.lookup[zip]", "rows by"),
    }
    for name in drawn:
        text = (ROOT / "docs" / "screens" / name).read_text().replace("&#160;", " ")
        for word in words[name.partition("-")[0]]:
            assert word in text, (name, word)


def screens_at(names):
    """The files of these screens."""
    return {
        f"{name}-{columns}x{lines}-{theme}.svg"
        for name in names
        for columns, lines in SIZES
        for theme in THEMES
    }


@pytest.mark.slow
@pytest.mark.spark
async def test_the_screens_are_drawn_from_a_run(tmp_path):
    await screens(tmp_path, ["live"])
    assert {file.name for file in tmp_path.iterdir()} == screens_at(("live",))


@pytest.mark.slow
async def test_the_screens_of_commands_are_captured(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.screens.SIZES", SIZES[:1])
    await screens(tmp_path, [name for name in COMMANDS if name in ("error", "shell")])
    assert len(list(tmp_path.iterdir())) == 2 * len(THEMES)


def test_files_the_readme_names_exist():
    for name in re.findall(r"^\| `([\w./]+)` \|", (ROOT / "README.md").read_text(), flags=re.MULTILINE):
        assert (ROOT / name).exists(), name
