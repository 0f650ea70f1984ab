"""Rows as COPY writes them: its text, CSV and binary formats (PostgreSQL's manual, "COPY", "File Formats")."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from fff.errors import UsageError
from fff_cli.postgres.values import cells, wire_type

Array: TypeAlias = pa.Array
Batch: TypeAlias = pa.RecordBatch
Schema: TypeAlias = pa.Schema

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_YES = ("", "true", "on", "1")


@dataclass(frozen=True)
class CopyForm:
    """What a COPY says of how its rows are written."""

    format: str = "text"  # text | csv | binary
    header: bool = False
    delimiter: str = "\t"
    null: str = "\\N"
    quote: str = '"'
    escape: str = '"'

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CopyForm:
        """From options by their names. Raises UsageError."""
        unknown = options.keys() - {"format", "header", "delimiter", "null", "quote", "escape", "encoding"}
        if unknown:
            raise UsageError(f"COPY has no option {min(unknown)} here")
        kind = options.get("format", "text")
        if kind not in ("text", "csv", "binary"):
            raise UsageError(f"COPY has no format {kind!r}", hint="text, csv and binary")
        if options.get("encoding", "utf8").lower().replace("-", "") not in ("utf8", "unicode"):
            raise UsageError("all text is UTF-8 here")
        csv = kind == "csv"
        quote = options.get("quote", '"')
        form = cls(
            kind,
            options.get("header", "off") in _YES,
            options.get("delimiter", "," if csv else "\t"),
            options.get("null", "" if csv else "\\N"),
            quote,
            options.get("escape", quote),
        )
        for one in (form.delimiter, form.quote, form.escape):
            if len(one.encode()) != 1 or one in "\r\n":
                raise UsageError(f"{one!r} is not one character of COPY")
        if form.delimiter in form.null or (csv and form.quote in form.null):
            raise UsageError("the text of NULL has a character of COPY's in it")
        if not csv and form.delimiter in "\\.abcdefghijklmnopqrstuvwxyz0123456789":
            raise UsageError(f"COPY's delimiter cannot be {form.delimiter!r}")
        return form

    @property
    def binary(self) -> bool:
        """Whether rows are written in binary."""
        return self.format == "binary"

    def front(self, schema: Schema) -> bytes:
        """What comes before the rows."""
        if self.binary:
            return _SIGNATURE
        return self._lines([pa.array([name]) for name in schema.names], 1)[0] if self.header else b""

    @property
    def trailer(self) -> bytes:
        """What comes behind them."""
        return _TRAILER if self.binary else b""

    def rows(self, batch: Batch, front: bytes) -> list[bytes]:
        """What to send for each row; in binary, clients expect what stands in front of all beside the first."""
        if not self.binary:
            return [
                front,
                *self._lines([wire_type(one.type).written(one) for one in batch.columns], len(batch)),
            ]
        head = struct.pack(">h", batch.num_columns)
        columns = [cells(column, binary=True) for column in batch.columns]
        first, *others = [head + b"".join(row) for row in zip(*columns, strict=True)]
        return [front + first, *others]

    def _lines(self, columns: list[Array], count: int) -> list[bytes]:
        written = [self._written(column.cast(pa.string()), alone=len(columns) == 1) for column in columns]
        if not written:
            return [b"\n"] * count
        lines = pc.binary_join_element_wise(
            *written, self.delimiter, null_handling="replace", null_replacement=self.null
        )
        return [line.encode() + b"\n" for line in lines.to_pylist()]

    def _written(self, column: Array, *, alone: bool) -> Array:
        if self.format == "csv":
            return self._quoted(column, alone=alone)
        own = {} if self.delimiter in _ESCAPES else {self.delimiter: "\\" + self.delimiter}
        for character, escape in (_ESCAPES | own).items():  # the backslash first
            column = pc.replace_substring(column, character, escape)
        return column

    def _quoted(self, column: Array, *, alone: bool) -> Array:
        special = f"[{re.escape(self.delimiter + self.quote)}\\r\\n]" + (r"|^\\\.$" if alone else "")
        inside = column
        if self.escape != self.quote:
            inside = pc.replace_substring(inside, self.escape, self.escape * 2)
        inside = pc.replace_substring(inside, self.quote, self.escape + self.quote)
        quoted = pc.binary_join_element_wise(self.quote, inside, self.quote, "")
        wanted = pc.or_(pc.match_substring_regex(column, special), pc.equal(column, self.null))
        return pc.if_else(wanted, quoted, column)
