"""What is longer than the terminal is read in a pager, and nothing else is."""

from __future__ import annotations

import shutil
import sys

import pytest

from fff_cli.output import console
from tests.cli.terminal import FAKE, Terminal, environment, fake

COUNT = "import sys; lines = sys.stdin.read().splitlines(); print('paged', len(lines), lines[-1])"


@pytest.fixture
def counting(tmp_path):
    """A pager that tells how many lines it was given, and the last."""
    script = tmp_path / "count.py"
    script.write_text(COUNT)
    return f"{sys.executable} {script}"


def screen(*arguments: str, columns: int = 80, lines: int = 24, **environ: str) -> str:
    """What a terminal of a size has shown when the command has ended."""
    with Terminal((*FAKE, *arguments), columns, lines, environment(**environ)) as terminal:
        assert terminal.finish() == 0, terminal.text
        return "\n".join(terminal.screen())


@pytest.mark.slow
def test_a_long_result_goes_whole_to_the_pager_and_a_short_one_to_the_terminal(counting):
    told = screen("query", "rows 500", "--pager", PAGER=counting)
    assert told.startswith("paged 504 └")
    assert "500 rows in" in told
    assert "│ 18 │ row 18 │" in screen("query", "rows 19", "--pager", PAGER=counting)
    assert screen("query", "rows 20", "--pager", PAGER=counting).startswith("paged 24")
    assert screen("query", "rows 11", "--pager", lines=15, PAGER=counting).startswith("paged 15")
    assert "(30 shown" in screen("query", "rows 500", "--pager", "--rows", "30", PAGER=counting)
    assert "(40 shown" in screen("query", "rows 500", PAGER=counting)


@pytest.mark.slow
def test_a_partial_result_is_labelled_where_it_is_read():
    with Terminal((*FAKE, "query", "partial", "--pager"), 80, 7, environment(PAGER="head -2")) as terminal:
        assert terminal.finish() == 3
        label, top, *below = [line for line in terminal.text.splitlines() if line.strip()]
    assert label.strip() == "PARTIAL: what is missing is told when this is left"
    assert top.startswith("┌")
    assert any(line.startswith("  missing ") for line in below)


@pytest.mark.slow
def test_a_line_that_the_terminal_would_wrap_counts_as_the_lines_it_takes(counting):
    assert screen("query", "wide 100", "--pager", "-o", "json", PAGER=counting).startswith("paged 3 ]")


@pytest.mark.slow
@pytest.mark.parametrize("pager", ["", "no-such-pager -x", "'"])
def test_where_the_pager_cannot_be_run_the_result_is_shown_all_the_same(pager):
    told = screen("query", "rows 500", "--pager", "--rows", "all", PAGER=pager)
    assert "│ 499 │ row 499 │" in told
    assert ("warning: cannot run the pager 'no-such-pager'" in told) == pager.startswith("no")


@pytest.mark.slow
@pytest.mark.parametrize("pager", ["head -3", "true"])
def test_a_pager_may_end_before_it_has_read_all(pager):
    told = screen("query", "rows 5000", "--pager", PAGER=pager)
    assert "5,000 rows" in told
    assert "cannot write" not in told


@pytest.mark.slow
def test_pipes_files_and_terminals_that_cannot_move_their_cursor_know_no_pager(counting, tmp_path):
    assert "paged" not in fake("query", "rows 500", "--pager", "-q").stdout
    assert "paged" not in screen("query", "rows 500", "--pager", TERM="dumb", PAGER=counting)
    file = tmp_path / "all.csv"
    assert "paged" not in screen("query", "rows 500", "--pager", "-O", str(file), PAGER=counting)
    assert len(file.read_text().splitlines()) == 501


def test_without_a_word_it_is_less_else_more_else_none(monkeypatch):
    monkeypatch.setattr(console, "is_terminal", lambda _: True)
    there = {"less", "more"}
    monkeypatch.setattr(shutil, "which", lambda name: name in there)
    assert console.pager({"TERM": "xterm"}) == ["less", "-SRFX"]
    there.discard("less")
    assert console.pager({"TERM": "xterm"}) == ["more"]
    there.clear()
    assert console.pager({"TERM": "xterm"}) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_less_shows_a_long_result_and_gives_the_terminal_back():
    with Terminal((*FAKE, "query", "rows 500", "--pager"), 80, 24, environment()) as terminal:
        terminal.expect("│  18 │ row 18  │")
        terminal.interrupt()  # the pager's, and no end of the run
        terminal.press("G")
        terminal.expect("│ 499 │ row 499 │")
        terminal.press("q")
        terminal.expect("500 rows in 1.2 s")
        assert terminal.finish() == 0


@pytest.mark.slow
def test_the_shell_pages_results_and_what_its_commands_tell(counting, tmp_path):
    environ = environment(XDG_STATE_HOME=str(tmp_path), PROMPT_TOOLKIT_NO_CPR="1", PAGER=counting)
    with Terminal((*FAKE, "shell"), 80, 15, environ) as shell:
        shell.expect("fff>")
        shell.type("rows 100;\n")
        assert "paged 104 └" in shell.expect("100 rows in")
        shell.expect("fff>")
        shell.type("\\?\n")
        assert "paged" in shell.expect("aborts the statement.")
        shell.type("\\set pager off\n")
        shell.expect("pager = off")
        shell.type("rows 100;\n")
        assert "paged" not in shell.expect("100 rows (40 shown; \\rows all, or \\o csv FILE)")
        shell.type("\\q\n")
        assert shell.finish() == 0
