"""What rich draws on a terminal, at fixed widths; and that nothing else pays for it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from fff.errors import QueryError, SourceError, Span
from fff_cli.app import run
from fff_cli.output.drawing import (
    DrawnColumn,
    bar,
    beside,
    cell,
    error_text,
    hanging,
    outline,
    rendered,
    table,
)
from fff_cli.output.values import width
from tests.cli.terminal import FAKE, HERE, REAL, Terminal, environment, fake


def shown(what, columns):
    """The lines that are drawn, without styles."""
    return [line.rstrip() for line in rendered(what, columns, color=None).splitlines()]


def column(title, *texts, **how):
    return DrawnColumn(title, [cell(text) for text in texts], **how)


COLUMNS = (
    column("name", "नमस्ते", "a name that is long"),
    column("n", "1,234,567", "8", right=True, rank=2),
    column("state", "running", "complete", narrowest=None, rank=1),
)


def test_columns_give_way_by_importance_and_numbers_are_never_cut():
    assert shown(table(COLUMNS, 60)[0], 60) == [
        "name                         n  state",
        "नमस्ते                 1,234,567  running",
        "a name that is long          8  complete",
    ]
    assert shown(table(COLUMNS, 30)[0], 30) == [
        "name               n  state",
        "नमस्ते       1,234,567  running",
        "a name t…          8  complete",
    ]
    drawn, left_out = table(COLUMNS, 20)
    assert shown(drawn, 20) == ["name        state", "नमस्ते        running", "a name th…  complete"]
    assert left_out == 1
    assert shown(table(COLUMNS, 3)[0], 3) == ["na…", "नम…", "a …"]


@pytest.mark.parametrize("text", ["漢字" * 9, "👨‍👩‍👧" * 9, "é" * 30, ""])
def test_a_table_is_never_wider_than_its_room(text):
    number = column("n", "12", text, right=True, rank=1)
    for room in range(1, 70):
        drawn, _ = table([column(text, text, "x"), number, *[column("c", text, text)] * 3], room)
        assert all(width(line) <= room for line in shown(drawn, room))


def test_one_bar_fills_the_room_between_others():
    [line] = shown(beside(cell("left"), bar(0.5), cell("right")), 40)
    assert line.startswith("left  ━━━")
    assert line.endswith("  right")
    assert 12 <= line.count("━") <= 14


def test_indented_lines_are_trees_whose_branches_wrap_behind_their_guides():
    text = "Table\n  demo.FEC AS F: id, zip\n    inner\n  output: F.id\n\nAccess\n  scan FEC.scan\n"
    assert shown(outline(text), 20) == [
        "Table",
        "├── demo.FEC AS F:",
        "│   id, zip",
        "│   └── inner",
        "└── output: F.id",
        "Access",
        "└── scan FEC.scan",
    ]
    glossed = outline("Block  — what it means\n  scan a  — every row\n")
    assert shown(glossed, 80) == ["Block  — what it means", "└── scan a  — every row"]
    assert rendered(glossed, 80).count("\x1b[2m") >= 2, "glosses are dim"


def test_what_was_tried_of_a_spec_wraps_beside_how_it_went():
    assert shown(hanging("fail  demo.FEC by scan, which took long", 6), 20) == [
        "fail  demo.FEC by", "      scan, which", "      took long",
    ]  # fmt: skip


def test_an_error_keeps_its_words_and_its_place_and_colours_the_sql():
    error = QueryError(
        "no column b[2]", sql="SELECT a,\n  b\nFROM t", span=Span(12, 13), hint="did you mean a?"
    )
    assert shown(error_text(error, 80), 80) == f"error: {error.render()}".splitlines()
    assert (
        "\x1b["
        in rendered(error_text(QueryError("x", sql="SELECT 1", span=Span(0, 6)), 80), 80).splitlines()[1]
    )
    hostile = SourceError("a\x1b[2J [red]b[/red]", url="http://x/\x9b")
    assert "\x1b[2J" not in rendered(error_text(hostile, 200), 200)
    assert shown(error_text(hostile, 200), 200)[0] == "error: a\\x1b[2J [red]b[/red] (http://x/\\x9b)"


def test_what_an_error_says_to_do_is_broken_between_words_and_indented():
    hint = "add WHERE incomes.zip = '…' or incomes.zip IN ('…', …), or join it with another table"
    error = QueryError("town.incomes can only be read by key", sql="SELECT 1", span=Span(7, 8), hint=hint)
    assert shown(error_text(error, 60), 60)[-2:] == [
        "  add WHERE incomes.zip = '…' or incomes.zip IN ('…', …), or",
        "      join it with another table",
    ]


@pytest.mark.parametrize("place", [0, 40, 500, 960])
@pytest.mark.parametrize("length", [1, 7, 38])
def test_of_a_long_line_an_error_shows_what_is_around_its_place(place, length):
    sql = "SELECT 1,\n" + "".join(f"{n:04} " for n in range(200))
    start = sql.index("\n") + 1 + place
    error = QueryError("no", sql=sql, span=Span(start, start + length))
    for told, columns in ((error.render().splitlines(), 118), (shown(error_text(error, 60), 60), 60)):
        _, line, carets = told
        assert columns - 20 < len(line) <= columns
        at = carets.index("^")
        assert line[at : at + carets.count("^")] == sql[start : start + length]
        assert line.startswith("  2 | ")
    whole = QueryError("no", sql=sql, span=Span(start, start + 5000)).render().splitlines()
    assert len(whole[2]) <= 118
    assert QueryError("no", sql="SELECT a", span=Span(7, 8)).render().splitlines()[1:] == [
        "  1 | SELECT a", "             ^",
    ]  # fmt: skip


@pytest.mark.slow
def test_nothing_is_drawn_by_rich_where_nobody_looks():
    code = (
        f"import sys; sys.path.insert(0, {str(HERE.parent.parent)!r}); from tests.cli.fake_engine import install;"
        "install(); from fff_cli.app import run;"
        "codes = [run(line) for line in (['query', 'rows 2000', '--progress', 'on', '--live'], ['query', 'partial'],"
        " ['explain', 'rows 1'], ['query', 'wrong'], ['query', 'fail'], ['--help'])];"
        "assert not [name for name in sys.modules if name.partition('.')[0] in ('rich', 'pygments')]; print(codes)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(),
    )
    assert done.stdout.splitlines()[-1] == "[0, 3, 0, 1, 4, 0]", done.stderr


def test_on_a_narrow_terminal_help_is_no_table_of_cut_words():
    with Terminal((*REAL, "query", "--help"), columns=30, lines=20) as terminal:
        assert terminal.finish() == 0
        assert "│" not in terminal.text


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("explain", "when a source could not be read in full. [default: partial]"),
        ("watch", "30s, 5m, 1h, 1d. (default: 5m) --key"),
        ("refresh", "in any format of results. (default: none, a table with -v)"),
    ],
)
def test_help_tells_the_default_that_a_command_has(command, default, capsys):
    assert run([command, "--help"]) == 0
    assert default in " ".join(capsys.readouterr().out.split())


def test_on_a_terminal_help_comes_in_groups():
    for asked in ("--help", "-h"):
        with Terminal((*REAL, "query", asked), columns=100, lines=80) as terminal:
            assert terminal.finish() == 0
            text = "\n".join(terminal.screen())
    assert "─ How it runs ─" in text
    assert "<bool>" not in text, "a switch takes nothing"
    assert "(default: a fresh one, told in the report)" in " ".join(text.replace("│", " ").split())


@pytest.mark.slow
def test_on_a_terminal_a_plan_is_a_tree_and_an_error_has_its_place_and_no_color_has_no_codes():
    with Terminal((*FAKE, "explain", "select wrong from t"), columns=60) as terminal:
        assert terminal.finish() == 1
        assert terminal.screen()[:4] == [
            "error: no column wrong", "  1 | select wrong from t", "             ^^^^^", "  did you mean right?",
        ]  # fmt: skip
        assert "\x1b[" in terminal.text
    for arguments in (("explain", "select wrong from t"), ("explain", "rows 1")):
        with Terminal((*FAKE, *arguments), environ=environment(NO_COLOR="1")) as terminal:
            terminal.finish()
            assert "\x1b" not in terminal.text


@pytest.mark.slow
def test_after_a_run_a_terminal_shows_what_each_access_method_did_and_others_ask_for_it():
    with Terminal((*FAKE, "query", "rows 1"), columns=60) as terminal:
        assert terminal.finish() == 0
        assert terminal.screen()[-6:-3] == [
            "access                    state    requests   rows  retries",
            "FEC.scan                  running         7  7,000",
            "Demographics.lookup[zip]  running        90     88        2",
        ]
        assert terminal.screen()[-3].startswith("  Spark: ")  # whose line goes on below
    assert fake("query", "rows 1").stderr.splitlines() == ["1 row in 1.2 s, 97 requests, complete"]
    assert fake("query", "rows 1", "-v").stderr.splitlines()[1:3] == [
        "  FEC.scan: running, 7 requests, 7,000 rows",
        "  Demographics.lookup[zip]: running, 90 requests, 88 rows, 2 retries",
    ]
    assert fake("query", "rows 1", "-q").stderr == ""


@pytest.mark.slow
def test_a_terminal_gets_the_first_rows_and_a_pipe_all():
    with Terminal((*FAKE, "query", "rows 3000", "--rows", "3", "-q")) as terminal:
        assert terminal.finish() == 0
        assert terminal.screen()[5:8] == [
            "│ 2 │ row 2 │",
            "└───┴───────┘",
            "3,000 rows (3 shown; --rows all, or -O FILE)",
        ]
    for options, count in (((), 40), (("--rows", "all"), 3000)):
        with Terminal((*FAKE, "query", "rows 3000", "-q", *options)) as terminal:
            assert terminal.finish() == 0
            assert terminal.text.count(" row ") == count
    assert fake("query", "rows 3000", "--rows", "3", "-o", "table").stdout.count(" | row ") == 3000


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_lines(tmp_path):
    with Terminal((*FAKE, "query", "groups"), environ=environment(TERM="dumb")) as terminal:
        terminal.read_until("in flight")
        terminal.interrupt()
        assert terminal.finish() == 3
        assert "\x1b" not in terminal.text
        assert " s, fetching: 6,500 rows, 97 requests, 9 in flight" in terminal.text


def test_a_run_whose_terminal_vanishes_ends(monkeypatch):
    """Also where nobody sends it a signal, and what it had to say still waits to be written."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Terminal((*FAKE, "query", "wait")) as terminal:
        terminal.read_until("FEC")
        terminal.vanish()
        assert terminal.process.wait(60) == 128 + signal.SIGHUP
