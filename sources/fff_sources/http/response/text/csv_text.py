"""CSV and other lines of text: their character set, where rows are, and the cells of CSV as columns of strings.

Reads no types: they are for others to know.
"""

from __future__ import annotations

import codecs
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from fff.structs import lazy_pattern
from fff_sources.http.response.text.csv_quotes import FaultyRow, faulty_rows
from fff_sources.http.response.text.others import in_place_of_lines

#: Put behind a text as one more row: read as part of a cell it shows that the text ends inside of quotes.
_END = "\x1eend\x1e"
_BLOCK = 2**20  # bytes that are parsed together, unless a cell is larger
_LARGEST = 2**31 - 1
_SHOWN = 200  # bytes of a row
#: What is said of a row whose cells are no CSV.
BEHIND_A_QUOTE = "text behind a closing quote"
RAGGED = "more or fewer cells than the header"
#: What texts begin with to say their encoding, the longer ones first.
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LINE_END = lazy_pattern(rb"[\r\n]")
_ROW = lazy_pattern(r"Row #(\d+)")  # in what the reader says of a row
#: The row of USGS RDB that tells the width and type of every column.
_TYPES = lazy_pattern(rb"[0-9]+[sdn](?:\t[0-9]+[sdn])+\r?(?:\n|\Z)", re.IGNORECASE)


def header_of(text: bytes, delimiter: str) -> list[str]:
    """The names of the columns, the second of two `id` as `id_1`.

    Raises pa.ArrowInvalid where there are none, and for what answers in the place of CSV: its first line
    would make as good a name as any.
    """
    if (other := in_place_of_lines(text)) is not None:
        raise pa.ArrowInvalid(other)
    names: dict[str, None] = {}
    for name in _written(text, delimiter):
        unused = (f"{name}_{number}" if number else name for number in itertools.count())
        names[next(one for one in unused if one not in names)] = None
    return list(names)


def _written(text: bytes, delimiter: str) -> Sequence[str]:
    """The header as it is written."""
    head = head_of(text, None, 0)
    return _read_names(text, delimiter) if head is None else _names(text[: head[0]], delimiter)


@lru_cache(maxsize=16)
def _names(header: bytes, delimiter: str) -> Sequence[str]:
    """Known from before: the pieces of a large body begin alike."""
    return _read_names(header, delimiter)


def _read_names(header: bytes, delimiter: str) -> Sequence[str]:
    table = pacsv.read_csv(
        io.BytesIO(header + b"\n"),
        read_options=pacsv.ReadOptions(use_threads=False),
        parse_options=_parsing(header, delimiter),
    )
    return tuple(table.schema.names)


def read_cells(
    text: bytes,
    delimiter: str,
    header: Sequence[str],
    columns: Sequence[str],
    *,
    before: int = 0,
    left_out: Counter[str] | None = None,
    sound: bool = False,
) -> pa.Table:
    """The cells of some columns, as strings; empty ones are NULL unless they are quoted.

    Raises pa.ArrowInvalid for a row with more or fewer cells than the header or with text behind a closing
    quote, unless what is left out is counted, by its reasons, and for a text that ends inside of quotes.
    `before` is how many rows of the whole come before a part of it; `sound`: quotes are known to stand around
    whole cells.
    """
    quoted = b'"' in text
    faulty = faulty_rows(text, delimiter) if quoted and not sound else []
    try:
        if faulty:
            text = _without_faulty(text, faulty, is_refused=left_out is None)
        table = _read_cells(text, delimiter, header, columns, left_out, quoted=quoted)
    except pa.ArrowInvalid as error:
        if not before:
            raise
        message = _ROW.sub(lambda row: f"Row #{int(row[1]) + before}", str(error))
        raise pa.ArrowInvalid(message) from error
    if left_out is not None and faulty:
        left_out[BEHIND_A_QUOTE] += len(faulty)
    return table


def _without_faulty(text: bytes, rows: Sequence[FaultyRow], *, is_refused: bool) -> bytes:
    """The other rows. Raises pa.ArrowInvalid where there may be none of these, and of the header."""
    number, start, end = rows[0]
    if is_refused or number == 1:
        row = text[start : min(end, start + _SHOWN)].decode("utf-8", "replace")
        raise pa.ArrowInvalid(f"CSV parse error: Row #{number}: {BEHIND_A_QUOTE}: {row}")
    ends = [0, *(row.end for row in rows)]
    starts = [*(row.start for row in rows), len(text)]
    return b"".join(text[one:other] for one, other in zip(ends, starts, strict=True))


def _read_cells(
    text: bytes,
    delimiter: str,
    header: Sequence[str],
    columns: Sequence[str],
    left_out: Counter[str] | None,
    *,
    quoted: bool,
) -> pa.Table:
    if text.endswith(b"\n") and not quoted:
        return _read_blocks(text, delimiter, header, columns, left_out)
    ended = b"".join(
        (text, b"" if text.endswith(b"\n") else b"\n", delimiter.join([_END] * len(header)).encode(), b"\n")
    )
    try:
        table = _read_blocks(ended, delimiter, header, columns, left_out)
    except pa.ArrowInvalid as error:
        if _END not in str(error):
            raise
        table = None
    rows = 0 if table is None else table.num_rows - 1
    if table is None or table.column(0)[rows].as_py() != _END:
        raise pa.ArrowInvalid("it ends in the middle of a quoted cell")
    return table.slice(0, rows)


def _read_blocks(
    text: bytes, delimiter: str, header: Sequence[str], columns: Sequence[str], left_out: Counter[str] | None
) -> pa.Table:
    parsing = _parsing(text, delimiter)
    if left_out is not None:
        parsing.invalid_row_handler = lambda row: _leave_out(row, left_out)
    try:
        # A text that is not much larger is one block: each begins columns of its own.
        return _read(text, parsing, header, columns, _BLOCK if len(text) > 2 * _BLOCK else len(text) + 1)
    except pa.ArrowInvalid as error:
        if "straddl" not in str(error):
            raise
    if left_out is not None:
        left_out.clear()
    return _read(text, parsing, header, columns, min(len(text) + 1, _LARGEST))


def begins_with_types(text: bytes, delimiter: str) -> bool:
    """Whether the row below the header tells types and is no data."""
    head = head_of(text, None, 0)
    return delimiter == "\t" and head is not None and _TYPES.match(text, head[0]) is not None


def _read(
    text: bytes, parsing: pacsv.ParseOptions, header: Sequence[str], columns: Sequence[str], block: int
) -> pa.Table:
    renamed = list(header) != list(_written(text, parsing.delimiter))
    if len(header) == 1:  # of one column, an empty line is a row whose cell is NULL
        text = text.lstrip(b"\r\n")
        parsing.ignore_empty_lines = False
    return pacsv.read_csv(
        pa.BufferReader(text),
        read_options=pacsv.ReadOptions(
            use_threads=False,
            block_size=block,
            column_names=list(header) if renamed else None,
            skip_rows_after_names=int(renamed),
        ),
        parse_options=parsing,
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            include_columns=list(dict.fromkeys(columns)) or header[:1],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _leave_out(row: pacsv.InvalidRow, left_out: Counter[str]) -> str:
    """What becomes of a row with another number of cells; the one that shows where the text ends has to be read."""
    if _END in row.text:
        return "error"
    left_out[RAGGED] += 1
    return "skip"


def _parsing(text: bytes, delimiter: str) -> pacsv.ParseOptions:
    # Where no quote stands every line is a row, which need not be found out twice.
    return pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in text)


def is_bare_line(text: bytes, delimiter: str) -> bool:
    """Whether a text is one name of a column and no row, as many a message of a server would be."""
    line = b"" if delimiter.encode() in text else text.strip()
    return bool(line) and _LINE_END.search(line) is None


def uncommented(text: bytes, mark: bytes) -> bytes:
    """A text without the lines that begin with a mark, those inside of quotes apart."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if inside or not line.startswith(mark):
            kept.append(line)
            inside ^= line.count(b'"') % 2 == 1
    return b"".join(kept)


def without_rows(text: bytes, count: int) -> bytes:
    """A text without comments, and without so many rows after its header."""
    head = head_of(text, None, 0)
    rest = head_of(text, None, count)
    if head is None:
        return text
    return text[: head[0]] + (b"" if rest is None else text[rest[1] :])


def head_of(text: bytes, comment: bytes | None, skipped: int) -> tuple[int, int] | None:
    """Where the header ends, and so many rows after it; None where that is not there yet.

    Comments and empty lines are no rows.
    """
    rows = _rows(text, comment)
    header = next(rows, None)
    end = header
    for _ in range(skipped):
        end = next(rows, None)
    return None if header is None or end is None else (header, end)


def _rows(text: bytes, comment: bytes | None) -> Iterator[int]:
    """Where the rows end, one after another. Quotes in comments open nothing."""
    start = at = 0
    inside = False
    while (end := text.find(b"\n", at) + 1) > 0:
        line = text[at:end].removeprefix(codecs.BOM_UTF8)
        remark = not inside and comment is not None and line.startswith(comment)
        inside ^= not remark and line.count(b'"') % 2 == 1
        at = end
        if not inside:
            if not remark and text[start:end].removeprefix(codecs.BOM_UTF8).strip(b"\r\n"):
                yield end
            start = end


def newlines(data: bytes, count: int = -1) -> int:
    """How many lines end in the first bytes. `bytes.count` takes ten times as long."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, count) == ord("\n")))


def marked_encoding(body: bytes) -> str | None:
    """The encoding that a text says by the mark it begins with."""
    if not body.startswith(tuple(_MARKS)):  # as nearly all
        return None
    return next(name for mark, name in _MARKS.items() if body.startswith(mark))


def charset_of(headers: Mapping[str, str]) -> str | None:
    """The declared character set, when it is one Python knows and not UTF-8."""
    return _charset(headers.get("content-type", ""))


#: What Python takes for encodings, and no server means.
_OF_PYTHON = frozenset({"unicode-escape", "raw-unicode-escape", "punycode", "idna"})


@lru_cache(maxsize=256)
def _charset(kind: str) -> str | None:
    if "charset" not in kind.lower():
        return None
    for part in kind.split(";")[1:]:
        name, _, text = part.strip().partition("=")
        if name.lower() == "charset":
            try:
                known = codecs.lookup(text.strip("\"' ")).name
                "a".encode(known)  # which those that make bytes of bytes do not, such as base64
            except (LookupError, UnicodeError):
                return None
            return None if known in ("utf-8", "ascii") or known in _OF_PYTHON else known
    return None
