"""Blocks of commands in the manual, with the mark above them that says how they are to be run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.cli.terminal import ROOT

BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]+) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    mark: str
    language: str
    body: str


def blocks(pages: Sequence[str]) -> list[Block]:
    """The blocks of some pages, in order."""
    found = []
    for page in pages:
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
