"""What may not be kept on disk, because a secret of its source stands in it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from fff.catalog import Cacheable


class Discretion:
    """Looks for the secrets of a source in what it has answered, and in what it was asked."""

    def __init__(self, source: Cacheable) -> None:
        self.in_text = source.tells_secrets
        self._has_numbers = source.has_secret_numbers

    def in_rows(self, rows: pa.RecordBatch) -> bool:
        """Whether a secret stands in some column."""
        buffers = (buffer for column in rows.columns for buffer in column.buffers() if buffer is not None)
        return any(self.in_text(buffer.to_pybytes()) for buffer in buffers) or self.in_numbers(rows)

    def in_numbers(self, *rows: pa.RecordBatch) -> bool:
        """Whether a number is a secret, as nobody sees in its bytes."""
        return bool(rows and self._has_numbers()) and any(
            self.in_text(buffer.to_pybytes())
            for column in pa.concat_batches(rows).columns
            for texts in _numbers(column)
            for buffer in texts.buffers()
            if buffer is not None
        )


def _numbers(column: pa.Array) -> Iterator[pa.Array]:
    """The numbers of a column as texts, each apart from the next."""
    kind, types = column.type, pa.types
    if types.is_nested(kind):
        if types.is_struct(kind):
            parts = column.flatten()
        else:
            parts = [column.keys, column.items] if types.is_map(kind) else [column.flatten()]
        for part in parts:
            yield from _numbers(part)
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        forms = [column]
        if types.is_floating(kind):  # large ones are written with an exponent
            large = pc.less(pc.abs(column), float(1 << 62))
            forms.append(pc.if_else(large, column, None).cast(pa.int64(), safe=False))
        for form in forms:
            yield pc.binary_join_element_wise(form.cast(pa.string()), "", "\n")
