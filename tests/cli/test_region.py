"""What the live view writes to a terminal: as little as will do, and in the end nothing that stays."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from fff_cli.live import region as region_module
from fff_cli.live.region import LiveRegion
from fff_cli.output.console import terminal_size
from fff_cli.output.drawing import Text
from tests.cli.terminal import carried_out


class Screen(io.StringIO):
    """A stream with a size."""

    size = (80, 24)

    def new(self) -> str:
        """What was written since the last look."""
        text = self.getvalue().replace("\n", "\r\n")  # as terminals do
        self.seek(0)
        self.truncate()
        return text


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setattr(region_module, "terminal_size", lambda stream: stream.size)
    return Screen()


def plain(*texts):
    return Text("\n".join(texts))


def test_a_picture_that_stays_the_same_writes_nothing(screen):
    region = LiveRegion(screen, {})
    region.show(plain("one", "two"))
    assert carried_out(screen.new()) == ["one", "two", ""]
    region.show(plain("one", "two"))
    assert screen.new() == ""


def test_only_the_lines_that_changed_are_written(screen):
    region = LiveRegion(screen, {})
    region.show(plain("head 1", "body", "foot"))
    before = screen.new()
    region.show(plain("head 2", "body", "foot"))
    change = screen.new()
    assert "body" not in change
    assert carried_out(before + change) == ["head 2", "body", "foot", ""]
    region.show(plain("head"))
    assert carried_out(before + change + screen.new()) == ["head", ""]


def test_of_a_line_only_the_end_that_changed_is_written(screen):
    region = LiveRegion(screen, {})
    region.show(Text.assemble(("FEC.scan", "bold"), "  running  漢字 1,000 rows"))
    before = screen.new()
    for picture, wanted, unsaid in (
        (
            Text.assemble(("FEC.scan", "bold"), "  running  漢字 2,000 rows"),
            "FEC.scan  running  漢字 2,000 rows",
            "running",
        ),
        (
            Text.assemble(("FEC.scan", "red"), "  running  漢字 2,000"),
            "FEC.scan  running  漢字 2,000",
            "rows",
        ),
        (plain("FEC.scan  running"), "FEC.scan  running", "rows"),
    ):
        region.show(picture)
        change = screen.new()
        assert unsaid not in change or wanted == "FEC.scan  running"
        before += change
        assert cells(before) == [wanted, ""]


def cells(text):
    """What is left on a terminal where wide characters take two places."""
    doubled = re.sub("[漢字]", lambda found: found[0] + "\0", text)
    return [line.replace("\0", "") for line in carried_out(doubled)]


def test_it_vanishes_and_gives_the_cursor_back(screen):
    region = LiveRegion(screen, {})
    region.show(plain("a", "b", "c"))
    region.close()
    region.close()
    text = screen.new()
    assert (text.count("\x1b[?25l"), text.count("\x1b[?25h")) == (1, 1)
    assert "\x1b[J" not in text, "terminals that keep a copy of what is cleared at once have one of the view"
    assert [*filter(None, carried_out("before\r\n" + text + "after"))] == ["before", "after"]
    region.show(plain("again"))
    assert "\x1b[?25l" in screen.new()


def test_lines_that_a_narrower_terminal_has_wrapped_are_wiped_whole(screen):
    region = LiveRegion(screen, {})
    region.show(Text("x" * 70 + "\n" + "y" * 10, "bold"))
    screen.new()
    screen.size = (30, 24)
    region.show(plain("x" * 25))
    assert screen.new().startswith(
        "\x1b[A\x1b[2K" * 4 + "\r"
    )  # 70 columns have become three lines, 10 are one


def test_styles_are_codes_and_no_color_leaves_the_others(screen):
    line = Text.assemble(("a", "bold red"), "b", ("c", "green"))
    LiveRegion(screen, {}).show(line)
    assert "\x1b[1;31ma\x1b[0mb\x1b[32mc\x1b[0m\x1b[K" in screen.new()
    LiveRegion(screen, {"NO_COLOR": "1"}).show(line)
    assert "\x1b[1ma\x1b[0mbc\x1b[K" in screen.new()


def test_a_terminal_that_is_gone_is_no_error(screen):
    region = LiveRegion(screen, {})
    region.show(plain("a"))
    assert "a" in screen.new()
    screen.close()
    assert region.show(plain("b")), "what it raised would end the run"
    assert region.close() is None


def test_the_size_is_what_the_environment_says_or_the_terminal_has(monkeypatch):
    monkeypatch.setenv("COLUMNS", "33")
    monkeypatch.setenv("LINES", "x")
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((100, 50)))
    with Path(os.devnull).open() as stream:
        assert terminal_size(stream) == (33, 50)
        monkeypatch.delenv("COLUMNS")
        assert terminal_size(stream) == (100, 50)
