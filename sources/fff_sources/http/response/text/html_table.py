"""Tables of HTML as records: each value in the columns and rows that its cell spans, under a header of one row or several."""

from __future__ import annotations

import html.parser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from fff.schema import distinct_names
from fff.structs import lazy_pattern
from fff_sources.http.shaping import MalformedMarkupError

_MOST_ACROSS, _MOST_DOWN = 1000, 65534  # columns and rows that a cell may span, as browsers have it
#: Bytes that cells may take in the further places that they span: a few bytes of HTML can span 65 million.
_SPANNED = 2**27
_PLACE = 64  # bytes that a place takes, beside its text
_DIGITS = lazy_pattern(r"\s*\+?(\d{1,9})")
_UNSHOWN = frozenset({"script", "style", "template"})
#: Elements around or at which a text goes on in another line.
_BREAKS = frozenset(
    """
    address article aside blockquote br dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header
    hr li main nav ol p pre section table tbody td tfoot th thead tr ul
    """.split()  # noqa: SIM905 - a list of words
)


def html_tables(text: str) -> list[list[dict[str, str | None] | str]]:
    """Every table of a page as records; in place of a row with more or fewer cells than the header, what is wrong.

    Raises MalformedMarkupError.
    """
    reader = _TableReader()
    reader.feed(text)
    reader.close()
    room = _Room(_SPANNED)
    tables = [lines for rows in reader.tables if (lines := list(_lines(rows, room)))]
    if not tables:
        raise MalformedMarkupError("the page has no table")
    return [_records(lines, room) for lines in tables]


class _Cell(NamedTuple):
    text: str
    is_header: bool
    across: int  # columns that it spans
    down: int  # rows


class _Row(NamedTuple):
    cells: list[_Cell]
    group: int  # of rows, which no cell reaches out of
    in_head: bool


class _Line(NamedTuple):
    """A row with the cells that others span into it, by their columns; `own`: so many begin in it."""

    places: Mapping[int, _Cell]
    own: int
    group: int
    in_head: bool

    @property
    def width(self) -> int:
        return max(self.places) + 1

    @property
    def is_header(self) -> bool:
        return all(cell.is_header for cell in self.places.values())

    @property
    def texts(self) -> list[str | None]:
        """By column; None where no cell is."""
        return [self.places[at].text if at in self.places else None for at in range(self.width)]


class _Room:
    """What cells may still take elsewhere than where they are written."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise MalformedMarkupError(f"the spans of its cells make more than {_SPANNED >> 20} MB of it")


def _lines(rows: Sequence[_Row], room: _Room) -> Iterator[_Line]:
    """Rows that have cells, with those from above. Raises MalformedMarkupError."""
    hanging: dict[int, tuple[_Cell, int]] = {}  # into how many rows yet, by column
    group = None
    for row in rows:
        if row.group != group:
            group, hanging = row.group, {}
        places = {at: cell for at, (cell, _) in hanging.items()}
        for cell in places.values():
            room.take(_PLACE + len(cell.text))
        hanging = {at: (cell, left - 1) for at, (cell, left) in hanging.items() if left > 1}
        at = 0
        for cell in row.cells:
            while at in places:
                at += 1
            for column in range(at, at + cell.across):
                if column not in places:  # a cell from above keeps its place
                    places[column] = cell
                    if cell.down > 1:
                        hanging[column] = (cell, cell.down - 1)
                if column > at:
                    room.take(_PLACE + len(cell.text))
            at += cell.across
        if row.cells:
            yield _Line(places, len(row.cells), row.group, row.in_head)


def _records(lines: Sequence[_Line], room: _Room) -> list[dict[str, str | None] | str]:
    header = _header(lines)
    names, of_header = _names(header), set(map(id, header))
    above = [line.texts for line in header]
    long = sum(max(0, len(name) - _PLACE) for name in names)  # each record has the names
    records: list[dict[str, str | None] | str] = []
    for line in lines:
        room.take(long)
        texts = line.texts
        # A header may be repeated amid the rows; a single word of a list may well be that above it.
        repeated = texts in above and (line.is_header or line.in_head or len(names) > 1)
        if repeated or id(line) in of_header:
            continue
        if len(line.places) == line.width == len(names):
            records.append({name: text or None for name, text in zip(names, texts, strict=True)})
        else:
            cells = ", ".join(text or "" for text in texts)
            records.append(f"Expected {len(names)} columns, got {len(line.places)}: {cells}")
    return records


def _header(lines: Sequence[_Line]) -> list[_Line]:
    """The rows of the first `thead`, else those at the top that have header cells alone, else the first row."""
    heads = [line for line in lines if line.in_head and any(line.texts)]
    heads = [line for line in heads if line.group == heads[0].group]
    if heads and len(heads) < len(lines):
        return heads
    top = list(takewhile(lambda line: line.is_header, lines))
    if len(top) == len(lines):  # there is nothing else: below what spans tell of the header is data
        cells = top[0].places.values()
        top = top[: max(1 + any(cell.across > 1 for cell in cells), *(cell.down for cell in cells))]
    return top or [lines[0]]


def _names(header: Sequence[_Line]) -> list[str]:
    """The lowest text above each column; where several have the same, with what stands above it.

    A cell across all of the table is its title, as wide as whoever wrote it liked.
    """
    width = max((line.width for line in header if line.own > 1), default=header[-1].width)
    columns = [
        [line.places[at].text for line in header if at in line.places and line.places[at].text]
        for at in range(width)
    ]
    lowest = Counter(texts[-1] for texts in columns if texts)
    names = [
        "" if not texts else texts[-1] if lowest[texts[-1]] == 1 else " ".join(dict.fromkeys(texts))
        for texts in columns
    ]
    return distinct_names(names, str)


class _TableReader(html.parser.HTMLParser):
    """Collects the rows of every outermost table; a table inside of a cell is text of it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[_Row]] = []
        self._depth = 0
        self._group = 0
        self._in_head = False
        self._cell: list[str] | None = None
        self._of_cell = False, 1, 1
        self._unshown = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unshown += tag in _UNSHOWN
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.tables.append([])
        elif self._depth == 1 and tag in ("thead", "tbody", "tfoot"):
            self._end_group(in_head=tag == "thead")
        elif self._depth == 1 and tag == "tr":
            self._end_cell()
            self._begin_row()
        elif self._depth == 1 and tag in ("td", "th"):
            self._end_cell()
            self._cell, self._of_cell = [], _spans(tag, dict(attrs))
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._unshown -= tag in _UNSHOWN and self._unshown > 0
        self._break(tag)
        if tag == "table" and self._depth:
            if self._depth == 1:
                self._end_group()
            self._depth -= 1
        elif self._depth == 1 and tag in ("thead", "tbody", "tfoot"):
            self._end_group()
        elif self._depth == 1 and tag in ("td", "th", "tr"):
            self._end_cell()

    def handle_data(self, data: str) -> None:
        if self._cell is not None and not self._unshown:
            self._cell.append(data)

    def close(self) -> None:
        super().close()
        self._end_cell()

    def _break(self, tag: str) -> None:
        if self._cell is not None and tag in _BREAKS:
            self._cell.append(" ")

    def _begin_row(self) -> None:
        self.tables[-1].append(_Row([], self._group, self._in_head))

    def _end_group(self, *, in_head: bool = False) -> None:
        self._end_cell()
        self._group += 1
        self._in_head = in_head

    def _end_cell(self) -> None:
        if self._cell is not None:
            rows = self.tables[-1]
            if not rows or rows[-1].group != self._group:
                self._begin_row()
            rows[-1].cells.append(_Cell(" ".join("".join(self._cell).split()), *self._of_cell))
            self._cell = None


def _spans(tag: str, attributes: Mapping[str, str | None]) -> tuple[bool, int, int]:
    """Whether a cell is one of a header, and the columns and rows that it spans."""
    across = _number(attributes.get("colspan")) or 1
    down = _number(attributes.get("rowspan"))
    down = _MOST_DOWN if down == 0 else down or 1  # 0: to the end of its group
    return tag == "th", min(across, _MOST_ACROSS), min(down, _MOST_DOWN)


def _number(text: str | None) -> int | None:
    match = _DIGITS.match(text or "")
    return None if match is None else int(match[1])
