"""Single keys while a query runs: what they are, and what they make the run do."""

from __future__ import annotations

import asyncio
import datetime as dt
import sys
import termios
from decimal import Decimal

import pytest

from fff.errors import QueryError, UsageError
from fff.stats import MISSING
from fff.structs import replace
from fff_cli.live import keys as keys_module
from fff_cli.live import region as region_module
from fff_cli.live import viewer as viewer_module
from fff_cli.live.keys import Keys, decode
from fff_cli.live.selection import can_pick, is_first, predicate
from fff_cli.live.viewer import Live
from fff_cli.run.interrupts import Interrupts
from fff_cli.run.progress import Steering
from tests.cli.fake_engine import snapshot


@pytest.mark.parametrize(
    ("data", "names", "rest"),
    [
        (b"\x1b[Aj\x1bOB", ["up", "down", "down"], b""),
        (b"k\r\nqx", ["up", "enter", "enter", "quit", "clear"], b""),
        (b"\x1b", [], b"\x1b"),
        (b"\x1b\x1b", ["clear"], b""),
        (b"\x1bq", ["clear", "quit"], b""),
        (b"\x1b[1;5A\x1b[3~\xc3\xa9zQ", [""] * 6, b""),
        (b"j\x1b[", ["down"], b"\x1b["),
        (b"\x1b[5~ \x1b[6~r?", ["page up", "pause", "page down", "detail", "help"], b""),
    ],
)
def test_bytes_are_keys(data, names, rest):
    assert decode(data) == (names, rest)


@pytest.fixture
def terminal(monkeypatch):
    """Standard input is a terminal; yields the end at which someone types."""
    import os
    import pty

    outer, inner = pty.openpty()
    with os.fdopen(inner, "r") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield outer
    os.close(outer)


async def test_keys_come_one_by_one_and_the_terminal_is_given_back(terminal, monkeypatch):
    import os

    monkeypatch.setattr(keys_module, "ESCAPE_AFTER_S", 0.0)
    pressed: asyncio.Queue[str] = asyncio.Queue()
    before = termios.tcgetattr(terminal)
    keys = Keys(pressed.put_nowait)
    keys.open()
    keys.open()
    assert not termios.tcgetattr(terminal)[3] & (termios.ECHO | termios.ICANON)
    assert termios.tcgetattr(terminal)[3] & termios.ISIG  # Ctrl-C stays a signal
    for typed, name in ((b"j", "down"), (b"\x1b[A", "up"), (b"\x1b", "clear"), (b"\r", "enter")):
        os.write(terminal, typed)
        assert await asyncio.wait_for(pressed.get(), 60) == name
    keys.close()
    keys.close()
    assert not keys.is_open
    assert termios.tcgetattr(terminal) == before


async def test_a_process_in_the_background_leaves_the_terminal_alone(terminal, monkeypatch):
    before = termios.tcgetattr(terminal)
    monkeypatch.setattr(keys_module, "in_foreground", lambda _: False)
    keys = Keys(lambda _: None)
    keys.open()
    assert not keys.is_open
    assert termios.tcgetattr(terminal) == before


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("it's",), "t.a = 'it\\'s'"),
        ((7,), "t.a = 7"),
        ((-7,), "t.a = (-7)"),
        ((True,), "t.a = TRUE"),
        ((Decimal("1.50"),), "t.a = (1.50BD)"),
        ((dt.date(2020, 2, 29),), "t.a = DATE '2020-02-29'"),
        (("x", 1), "t.a = 'x' AND `b c`.d = 1"),
    ],
)
def test_a_group_is_a_predicate_with_typed_literals(values, text):
    one = snapshot(
        columns=("n", "a", "b"),
        sample=((1, *values, None),),
        group_keys=(None, "t.a", *["`b c`.d"][: len(values) - 1]),
    )
    assert predicate(one, values) == text
    assert is_first(replace(one, priorities=("x", text)), 0)
    assert not is_first(one, 0)


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "NULL"), (MISSING, "not been answered"), (b"x", "t.a cannot be picked by")],
)
def test_what_no_predicate_can_say_is_told(value, said):
    one = snapshot(sample=((1, value),), group_keys=(None, "t.a"), priorities=("x",))
    with pytest.raises(UsageError, match=said):
        predicate(one, (value,))
    assert not is_first(one, 0)
    assert can_pick(one)
    assert not can_pick(snapshot())


class Run:
    """A run that remembers what it was told to fetch first."""

    def __init__(self, **changes):
        self.first = ()
        self.refuses = False
        self.changes = {
            "sample": ((1.0, "B"), (2.0, "A"), (3.0, None)), "group_keys": (None, "F.State"), "sample_rows": 3,
        } | changes  # fmt: skip

    def snapshot(self):
        return snapshot(priorities=self.first, **self.changes)

    def prioritize(self, *predicates):
        if self.refuses:
            raise QueryError("no column F.State")
        self.first = predicates

    def press(self, live, *keys):
        for key in keys:
            live._last = self.snapshot()
            live.press(key)
        return live._view


def view_of(run):
    live = Live()
    live._steering = Steering(run.prioritize)
    return live


def test_groups_are_picked_and_fetched_first():
    run = Run()
    live = view_of(run)
    assert run.press(live, "enter").note == ""
    assert run.first == ()
    assert run.press(live, "down").picked == ("A",)
    run.press(live, "enter", "down", "enter")
    assert run.first == ("F.State = 'A'", "F.State = 'B'")
    run.press(live, "up", "enter")  # once more: no longer first
    assert run.first == ("F.State = 'B'",)
    assert "NULL" in run.press(live, "down", "down", "down", "enter").note
    assert run.press(live, "up").note == ""
    assert run.press(live, "clear").picked is None
    assert run.first == ()


class Paced(Live):
    """A view of which every picture is so many bytes long."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def _draw(self):
        return self.size


@pytest.mark.parametrize(("size", "least", "most"), [(0, 0.16, 0.3), (900, 0.49, 0.51), (10**6, 1.5, 1.5)])
async def test_pictures_come_as_often_as_their_length_allows(monkeypatch, size, least, most):
    waits = []

    async def wait(seconds):
        waits.append(seconds)
        if len(waits) > 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(viewer_module.asyncio, "sleep", wait)
    monkeypatch.setattr(region_module, "terminal_size", lambda _: (100, 30))
    monkeypatch.setattr(viewer_module.time, "thread_time", lambda: 0.0)
    with pytest.raises(asyncio.CancelledError):
        await Paced(size)._run(snapshot)
    assert all(least <= one <= most for one in waits[1:])


class Held(Live):
    """A view that is held from its first picture on, and remembers what each was drawn of."""

    def __init__(self):
        super().__init__()
        self.drawn = []

    def _draw(self):
        self.drawn.append((self._last, self._last_history))
        self._view = replace(self._view, paused=True)
        return 0


async def test_rates_and_forecast_of_a_held_picture_stand_still(monkeypatch):
    async def wait(_seconds):
        if len(live.drawn) > 2:
            raise asyncio.CancelledError

    live, clock = Held(), iter(range(9))
    monkeypatch.setattr(viewer_module.asyncio, "sleep", wait)
    with pytest.raises(asyncio.CancelledError):
        await live._run(lambda: snapshot(elapsed_s=float(next(clock))))
    assert len(live.drawn) == 3
    assert live.drawn[0] == live.drawn[1] == live.drawn[2]


def test_keys_change_what_the_view_shows_and_nothing_else():
    run = Run()
    live = view_of(run)
    assert run.press(live, "help").help
    assert not run.press(live, "help").help
    assert run.press(live, "pause").paused
    assert not run.press(live, "pause").paused
    assert run.press(live, "detail").detail
    most = len(run.snapshot().access) - 1
    assert run.press(live, "page down").scrolled == min(4, most)
    assert run.press(live, *["page down"] * 30).scrolled == most
    assert run.press(live, *["page up"] * 30).scrolled == 0
    assert run.first == ()


def test_what_the_engine_refuses_is_told_in_the_view():
    run = Run()
    run.refuses = True
    assert run.press(view_of(run), "down", "enter").note == "no column F.State"


def test_rows_that_nothing_tells_apart_cannot_be_picked():
    run = Run(group_keys=())
    view = run.press(view_of(run), "down", "enter")
    assert (view.picked, run.first) == (None, ())


def test_q_asks_and_q_again_is_the_first_interrupt_and_never_the_second():
    interrupts, stopped, run = Interrupts(), [], Run()
    live = view_of(run)
    live._steering = Steering(run.prioritize, stop=interrupts.stop)
    run.press(live, "quit", "quit")
    assert not interrupts.asked, "nothing runs that could be stopped"
    interrupts.gentle = lambda: stopped.append(live.interrupted())
    assert "q again" in run.press(live, "quit").note
    assert run.press(live, "down").note == ""
    assert "q again" in run.press(live, "quit").note, "any other key is a no"
    run.changes["elapsed_s"] = 100.0
    assert "q again" in run.press(live, "quit").note, "nobody remembers for so long"
    assert not stopped
    assert run.press(live, "quit").note == ""
    assert (len(stopped), interrupts.asked) == (1, True)
    assert run.press(live, "quit", "quit", "quit").note == ""
    assert (len(stopped), interrupts.exit_code) == (1, None)


#: What comes in one read; the keys that it presses.
@pytest.mark.parametrize(
    ("reads", "names"),
    [
        ([b"q", b"q"], ["quit", "quit"]),
        ([b"qq"], []),
        ([b"q\n"], []),
        ([b"\x1bq"], []),  # Alt-q
        ([b"jjj", b"\x1b[A\x1b[A"], ["down", "down", "down", "up", "up"]),
        ([b"jk"], ["down", "up"]),  # moves can do no harm
        ([b"select * from q where q = 'q'\n", b"q", b"q\n"], []),
        ([b"\x1b[200~q\x1b[201~", b"j"], ["down"]),
        ([b"\x1b[200~q", b"q", b"q\x1b[20", b"1~", b"j"], ["down"]),
        ([b"\x1b[20", b"0~x\x1b[201", b"~", b"q"], ["quit"]),
        ([b"\x1b[200~" + b"q" * 5000, b"\x1b[201~"], []),
    ],
)
async def test_what_is_pasted_or_comes_in_a_burst_is_no_key(terminal, monkeypatch, reads, names):
    pressed = []
    keys = Keys(pressed.append)
    keys.open()
    for data in reads:
        monkeypatch.setattr(keys_module.os, "read", lambda *_, data=data: data)
        keys._readable()
    keys.close()
    assert pressed == names


async def test_after_a_burst_keys_count_again_once_it_is_quiet(terminal, monkeypatch):
    pressed = []
    keys = Keys(pressed.append)
    keys.open()
    monkeypatch.setattr(keys_module.os, "read", lambda *_: b"quit")
    keys._readable()
    assert keys._deaf_until > asyncio.get_running_loop().time()
    keys._deaf_until = 0.0
    monkeypatch.setattr(keys_module.os, "read", lambda *_: b"j")
    keys._readable()
    keys.close()
    assert pressed == ["down"]


async def test_no_other_key_ends_or_stops_the_process(terminal, capsys):
    keys = Keys(lambda _: None)
    before = termios.tcgetattr(terminal)
    keys.open()
    during = termios.tcgetattr(terminal)
    keys.close()
    assert not during[0] & termios.IXON
    assert during[6][termios.VQUIT] == b"\0"
    assert during[6][termios.VINTR] == before[6][termios.VINTR]
    assert termios.tcgetattr(terminal) == before
    assert capsys.readouterr().err == "\x1b[?2004h\x1b[?2004l"
