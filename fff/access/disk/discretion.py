"""What may not be kept on disk, because a secret of its source stands in it."""

from __future__ import annotations

import pyarrow as pa

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

    def in_numbers(self, rows: pa.RecordBatch) -> bool:
        """Whether a number is a secret, as nobody sees in its bytes."""
        return self._has_numbers() and self.in_text(str(rows.to_pydict()).encode())
