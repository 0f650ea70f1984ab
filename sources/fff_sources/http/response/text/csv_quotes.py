"""Quotes in CSV: whether they stand around whole cells, and rows in which text goes on behind a closing one.

The reader of CSV takes such text for part of the cell: `"Big" Jim` would be Big Jim, and a quote that is
never closed would swallow rows up to the next one. A quote inside of a cell that does not begin with one is
part of its text (`6" disk`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

_QUOTE, _LINE_FEED = b'"\n'
#: Bytes that are looked at together: as many as a processor has at hand; of whole words of bits.
_BLOCK = 2**17
_WORD = 64
_ONE, _TOP = np.uint64(1), np.uint64(_WORD - 1)
_STEPS = [np.uint64(1 << step) for step in range(6)]

Bits: TypeAlias = "npt.NDArray[Any]"


class FaultyRow(NamedTuple):
    """A row by its number, the header being the first, and where it stands."""

    number: int
    start: int
    end: int


def enclose_cells(text: bytes, delimiter: str) -> bool:
    """Whether quotes stand around whole cells and nowhere else, but for doubled ones inside of these.

    Every other quote opens a cell, so something that ends one stands before it, and those between have it
    behind them. Looked at as bits, 64 bytes at a time, for it is asked of every text with quotes.
    """
    mark = delimiter.encode()
    characters = np.frombuffer(text, np.uint8)
    # Whether a block begins in a cell of quotes, and where one may begin.
    inside, bordered = np.uint64(0), _ONE
    for start in range(0, len(characters), _BLOCK):
        block = characters[start : start + _BLOCK]
        if len(block) < _BLOCK:  # the end of the text ends a cell
            padded = np.full(_WORD * (len(block) // _WORD + 1), _LINE_FEED, np.uint8)
            padded[: len(block)] = block
            block = padded
        quotes, borders = _bits(block == _QUOTE), _borders(block, mark)
        opened = _opened(quotes, inside)
        before = borders << _ONE
        before[0] |= bordered
        before[1:] |= borders[:-1] >> _TOP
        behind = borders >> _ONE
        end = start + _BLOCK
        behind[-1] |= np.uint64(text[end : end + 1] in mark + b'"\n\r') << _TOP
        behind[:-1] |= borders[1:] << _TOP
        if (quotes & ((opened & ~before) | ~(opened | behind))).any():
            return False
        inside, bordered = opened[-1] >> _TOP, borders[-1] >> _TOP
    return True


def _bits(mask: Bits) -> Bits:
    return np.packbits(mask, bitorder="little").view(np.uint64)


def _borders(block: Bits, mark: bytes) -> Bits:
    """Which characters may stand beside a quote that opens or closes a cell: what ends one, and quotes."""
    borders = block == _QUOTE
    for character in mark + b"\n\r":
        borders |= block == character
    return _bits(borders)


def _opened(quotes: Bits, inside: np.uint64) -> Bits:
    """Up to which bits an odd number of quotes stand: in words, then through all of them."""
    opened = quotes.copy()
    for step in _STEPS:
        opened ^= opened << step
    flips = np.empty_like(opened)
    flips[0] = inside
    flips[1:] = np.bitwise_xor.accumulate(opened >> _TOP)[:-1] ^ inside
    opened ^= -flips
    return opened


def faulty_rows(text: bytes, delimiter: str) -> list[FaultyRow]:
    """The rows in which text stands behind a closing quote."""
    if enclose_cells(text, delimiter) or _may_be_faulty(delimiter).search(text) is None:
        return []
    return list(_faulty(text, delimiter))


def _faulty(text: bytes, delimiter: str) -> Iterator[FaultyRow]:
    row, cell = _row(delimiter), _faulty_cell(delimiter)
    number = at = 0
    while at < len(text):
        found = row.match(text, at)
        assert found is not None  # a row may be empty
        start, at = at, found.end()
        number += bool(text[start:at].strip(b"\r\n"))
        if b'"' in text[start:at] and any(one[1] for one in cell.finditer(text, start, at)):
            yield FaultyRow(number, start, at)


@lru_cache(maxsize=8)
def _may_be_faulty(delimiter: str) -> re.Pattern[bytes]:
    """Finds text behind a closing quote and, where quotes in a cell look as if they opened one, what is none."""
    mark = re.escape(delimiter).encode()
    return re.compile(rb'"(?<![^%b\r\n]")[^"]*+(?:""[^"]*+)*+"[^%b\r\n]' % (mark, mark))


@lru_cache(maxsize=8)
def _row(delimiter: str) -> re.Pattern[bytes]:
    mark = re.escape(delimiter).encode()
    cell = rb'(?:"[^"]*+(?:""[^"]*+)*+(?:"|\Z))?+[^%b\r\n]*+' % mark
    return re.compile(rb"%b(?:%b%b)*+(?:\r\n|\r|\n|\Z)" % (cell, mark, cell))


@lru_cache(maxsize=8)
def _faulty_cell(delimiter: str) -> re.Pattern[bytes]:
    """Each cell of a row, and what of one stands behind its closing quote."""
    mark = re.escape(delimiter).encode()
    quoted = rb'"[^"]*+(?:""[^"]*+)*+(?:"|\Z)([^%b\r\n]*+)' % mark
    return re.compile(rb'(?:%b|[^"%b\r\n][^%b\r\n]*+|)(?:%b|\r|\n|\Z)' % (quoted, mark, mark, mark))
