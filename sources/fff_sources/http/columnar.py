"""Files that hold columns: Parquet, and Arrow's two formats. What is at hand is told by how it begins."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1"


def read_schema(body: bytes) -> pa.Schema:
    """The columns of a file. Raises pa.ArrowException."""
    if body.startswith(PARQUET):
        import pyarrow.parquet as papq  # noqa: PLC0415 - with all its file systems it takes long to load

        return papq.read_schema(io.BytesIO(body))
    return _arrow(body).schema


def read_columns(body: bytes, names: Sequence[str]) -> pa.Table:
    """Some columns of a file, each in one piece.

    Raises pa.ArrowException, KeyError for a column that is not there.
    """
    if not body.startswith((ARROW_FILE, b"\xff\xff\xff\xff")):
        import pyarrow.parquet as papq  # noqa: PLC0415 - as above

        return papq.read_table(io.BytesIO(body), columns=list(names), use_threads=False).combine_chunks()
    return _arrow(body).read_all().select(list(names)).combine_chunks()


def _arrow(body: bytes) -> pa.RecordBatchReader | pa.ipc.RecordBatchFileReader:
    data = pa.BufferReader(body)
    return pa.ipc.open_file(data) if body.startswith(ARROW_FILE) else pa.ipc.open_stream(data)
