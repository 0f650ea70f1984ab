"""What people see: frames of an emulated terminal, whatever happens to a run."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from benchmarks.emulator import Emulator
from benchmarks.recording import drawn
from benchmarks.screens import THEMES
from benchmarks.view import COLUMNS, LINES, watched
from fff.stats import SparkStats
from fff_cli.run.account import spark_lines
from tests.cli.fake_engine import snapshot
from tests.cli.terminal import FAKE, Terminal, environment

SIZES = ((40, 15), (80, 24), (100, 30), (200, 50))


def seen(terminal: Terminal, emulator: Emulator, *wanted: str) -> str:
    """Read on until a frame shows all of this, and give the frame."""
    taken = 0
    while True:
        emulator.feed(terminal.text[taken:])
        taken = len(terminal.text)
        shown = "\n".join(emulator.shown())
        if all(one in shown for one in wanted):
            return shown
        assert terminal._more(), f"{wanted} never came together:\n{shown}"


@pytest.mark.parametrize(
    ("columns", "lines", "scene", "words"),
    [
        (40, 15, "forty", ("T0.scan", "37 more: 37 running, 259,000 rows, ")),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                *(
                    (*size, "groups", ("fetching", "groups so far", "State", "FEC.scan", "running"))
                    for size in SIZES
                ),
                (40, 15, "throttled", ("FEC.scan          throttled, on in 12 s", "waiting for")),
                (100, 30, "throttled", ("FEC.scan                  throttled, on in 12 s", "waiting for")),
                (
                    100,
                    30,
                    "failing",
                    ("Crime.scan                failed", "missing demo.Crime: HTTP 503 after 5"),
                ),
                (40, 15, "failing", ("Crime.scan      failed", "missing demo.Crime: HTTP 503")),
                (100, 30, "forty", ("T0.scan", "more access methods:")),
            )
        ),
    ],
)
def test_whatever_happens_the_view_fits_and_says_it(columns, lines, scene, words):
    emulator = Emulator(columns, lines)
    with Terminal((*FAKE, "query", scene), columns, lines, environment()) as terminal:
        shown = seen(terminal, emulator, *words)
    assert (emulator.overflows, emulator.scrolled) == (0, 0), shown


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "lines"), [(40, 24), (100, 30)])
def test_after_a_partial_run_only_result_and_account_are_left(columns, lines):
    emulator = Emulator(columns, lines)
    with Terminal((*FAKE, "query", "late_partial"), columns, lines, environment()) as terminal:
        assert terminal.finish() == 3
        emulator.feed(terminal.text)
    text = " ".join(" ".join(emulator.shown()).split())
    assert not emulator.overflows, "no word is cut where the terminal ends"
    for word in ("│ 2 │ row 2 │", "PARTIAL: a source failed", "Demographics.lookup[zip]"):
        assert word in text, text
    assert "fetching" not in text
    assert "groups so far" not in text


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"NO_COLOR": "1"}])
def test_the_account_of_many_sources_leaves_the_closing_line_in_sight(changes):
    emulator = Emulator(80, 24)
    with Terminal((*FAKE, "query", "forty"), 80, 24, environment(**changes)) as terminal:
        terminal.read_until("q stop")
        terminal.interrupt()
        terminal.finish()
        emulator.feed(terminal.text)
    shown = "\n".join(emulator.shown())
    assert "1 row in " in shown, shown
    assert "… 31 more access methods: 31 running" in shown, shown
    assert "(-v tells all)" in shown


@pytest.mark.slow
def test_a_view_whose_terminal_becomes_smaller_fits_the_new_size():
    with Terminal((*FAKE, "query", "groups"), 100, 30, environment()) as terminal:
        seen(terminal, Emulator(100, 30), "groups so far", "FEC.scan")
        terminal.text = ""
        terminal.resize(40, 15)
        terminal.read_until("\x1b[2K\r")  # what was drawn for the old size is wiped, and drawn anew
        terminal.text = terminal.text[terminal.text.index("\x1b[2K\r") :]
        emulator = Emulator(40, 15)
        shown = seen(terminal, emulator, "groups so far", "FEC.scan", "fetching")
    assert (emulator.overflows, emulator.scrolled) == (0, 0), shown


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_lines_and_no_codes():
    with Terminal((*FAKE, "query", "late_partial"), 80, 24, environment(TERM="dumb")) as terminal:
        assert terminal.finish() == 3
    assert "\x1b" not in terminal.text
    assert re.search(
        r"^\d+\.\d s, fetching: 6,500 rows, 97 requests, 9 in flight", terminal.text, re.MULTILINE
    )


@pytest.mark.slow
def test_without_colour_the_view_moves_the_cursor_and_colours_nothing():
    with Terminal((*FAKE, "query", "late_partial"), 80, 24, environment(NO_COLOR="1")) as terminal:
        terminal.read_until("groups so far")
        assert terminal.finish() == 3
    colours = {code for found in re.findall(r"\x1b\[([0-9;]+)m", terminal.text) for code in found.split(";")}
    assert colours <= {"0", "1", "2", "4", "7"}, "bold, dim, underlined and reverse are no colours"


@pytest.mark.slow
def test_ten_seconds_of_a_busy_run_are_few_bytes():
    _, written = watched(10.0)
    assert 5_000 < len(written) < 20_000
    emulator = Emulator(COLUMNS, LINES)
    emulator.feed(written.decode())
    assert emulator.overflows == emulator.scrolled == 0
    assert not any(emulator.shown()), "at the end nothing stays"


def test_a_moving_picture_draws_each_row_once_and_each_frame_for_its_time():
    frames = [(5.0, ["\x1b[1mfetching\x1b[0m", "a < b"]), (7.0, ["done", "a < b"]), (8.0, ["done", ""])]
    picture = drawn(frames, THEMES["dark"])
    ET.fromstring(picture)
    assert [picture.count(f">{one}<") for one in ("fetching", "done", "a&#160;&lt;&#160;b")] == [1, 1, 1]
    assert [frame.count("<use") for frame in re.findall(r'<g id="f\d".*', picture)] == [2, 2, 1]
    assert (
        "@keyframes k1{0%{visibility:hidden}22.22%{visibility:visible}33.33%{visibility:hidden}}" in picture
    )
    assert "#f1{animation:k1 9.0s step-end infinite}" in picture
    assert picture.index('<g id="f2" class="last">')


def test_what_spark_alone_was_waited_for_is_its_share_of_a_run():
    stats = SparkStats(used=True, start_s=2.0, final_s=1.0, waited_s=1.5)
    [line] = spark_lines(snapshot(elapsed_s=6.0, spark=stats))
    assert line == "  Spark: waited for 1.5 s, 25% of the time (2.0 s to start, 1.0 s for the result)"
