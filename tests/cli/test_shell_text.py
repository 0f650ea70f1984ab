"""Typed text cut into statements and commands."""

from __future__ import annotations

import random

import pytest

from fff.sql import split_statements
from fff_cli.shell.text import Item, Reader, is_finished, items_of, lexemes

PIECES = (
    "select 1", "'it''s;'", "'a\\';b'", '"x;"', "r'\\'", "`a;``b`", "-- c; '\n", "/* ; /* ' */ ; */", ";", "\n", " ", "x.y", "12.5e3",
    "'two\nlines;'", "'\\\\'",
)  # fmt: skip


def test_text_is_cut_where_the_parser_cuts_it():
    for seed in range(200):
        rng = random.Random(seed)
        text = " ".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 12)))
        ours = [split_statements(item.text) for item in items_of(text)]
        assert [one for [one] in ours] == split_statements(text)
        assert "".join(one.text for one in lexemes(text)) == "".join(
            text[one.start : one.end] for one in lexemes(text)
        )


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", True),
        ("select 1", False),
        ("select 1;", True),
        ("select 1; -- done", True),
        ("select 1; select 2", False),
        ("select ';", False),
        ("select ';'", False),
        ("select ';';", True),
        ("select 1 -- ;", False),
        ("select 1 /* ;", False),
        ("select 1 /* ; */;", True),
        ("select /* /* */ ;", False),
        ("select `;", False),
        ("\\d", True),
        ("\\d Crime\nselect", False),
        ("select\n\\d", True),
        ("select '\n\\d", False),
        ("select 1\n\\G", True),
        ("select 1 \\g", True),
        (".tables", True),
        ("select\n.5", False),
        ("quit", True),
        ("EXIT;", True),
        ("help", True),
        ("select\nquit", False),
        ("  ", True),
        ("select 'a\\", False),
    ],
)
def test_enter_runs_what_is_finished(text, finished):
    assert is_finished(text) is finished


def test_lines_are_told_as_they_end():
    reader = Reader()
    assert reader.feed("-- first") == []
    assert reader.feed("select 1; select") == [Item("-- first\nselect 1", 2)]
    assert not reader.is_idle
    assert reader.feed("\\d") == [Item("\\d", 3, is_command=True)], "in the middle of a statement"
    assert reader.unfinished == " select"
    assert reader.feed("1 \\gx") == [Item("select\n\n1", 2, expanded=True)]
    assert reader.feed("\\d x") == [Item("\\d x", 5, is_command=True)]
    assert reader.unfinished == ""
    assert reader.feed("select ';") == []
    assert reader.feed("'") == []
    assert reader.rest() == [Item("select ';\n'", 6)]
    assert reader.rest() == []


def test_an_unfinished_string_is_left_to_the_engine_to_refuse():
    assert items_of("select 'a;") == [Item("select 'a;", 1)]
    assert items_of("/* no end") == [Item("/* no end", 1)]
