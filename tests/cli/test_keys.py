"""Single keys while a query runs: what they are, and what they make the run do."""

from __future__ import annotations

import asyncio
import datetime as dt
import signal
import sys
import termios
from dataclasses import replace
from decimal import Decimal

import pytest

from fff.errors import QueryError, UsageError
from fff.stats import MISSING
from fff_cli import keys as keys_module
from fff_cli.keys import Keys, decode
from fff_cli.picking import can_pick, is_first, predicate
from fff_cli.progress import Steering
from fff_cli.viewer import Live
from tests.cli.fake_engine import snapshot


@pytest.mark.parametrize(
    ("data", "names", "rest"),
    [
        (b"\x1b[Aj\x1bOB", ["up", "down", "down"], b""),
        (b"k\r\nqx", ["up", "enter", "enter", "quit", "clear"], b""),
        (b"\x1b", [], b"\x1b"),
        (b"\x1b\x1b", ["clear"], b""),
        (b"\x1bq", ["clear", "quit"], b""),
        (b"\x1b[1;5A\x1b[3~\xc3\xa9zQ", [], b""),
        (b"j\x1b[", ["down"], b"\x1b["),
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


def test_what_the_engine_refuses_is_told_in_the_view():
    run = Run()
    run.refuses = True
    assert run.press(view_of(run), "down", "enter").note == "no column F.State"


def test_rows_that_nothing_tells_apart_cannot_be_picked():
    run = Run(group_keys=())
    view = run.press(view_of(run), "down", "enter")
    assert (view.picked, run.first) == (None, ())


def test_q_is_the_first_interrupt_and_never_the_second(monkeypatch):
    raised = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    live = view_of(Run())
    run = Run()
    run.press(live, "quit")
    live.interrupted()
    run.press(live, "quit")
    assert raised == [signal.SIGINT]
