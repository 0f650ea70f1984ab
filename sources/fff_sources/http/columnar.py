"""Files that hold columns: Parquet, and Arrow's two formats. What is at hand is told by how it begins."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

import pyarrow as pa

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
#: Bytes of columns that a file may always hold, and times its size: runs of a value take next to nothing.
_MOST, _RATIO = 2**30, 32
_ROWS = 2**12  # that are looked at together


def read_schema(body: bytes) -> pa.Schema:
    """The columns of a file. Raises pa.ArrowException."""
    if body.startswith(PARQUET):
        import pyarrow.parquet as papq  # noqa: PLC0415 - with all its file systems it takes long to load

        return papq.read_schema(io.BytesIO(body))
    return _arrow(body).schema


def read_columns(body: bytes, names: Sequence[str]) -> pa.Table:
    """Some columns of a file, each in one piece.

    Raises pa.ArrowException, also where it expands beyond reason, KeyError for a column that is not there.
    """
    most, held = max(_MOST, _RATIO * len(body)), 0
    batches = []
    schema, parts = _parts(body, names)
    for batch in parts:
        batches.append(batch)
        held += batch.nbytes
        if held > most:
            raise pa.ArrowInvalid(f"its columns take more than {most:,} bytes")
    return (
        pa.Table.from_batches(batches, batches[0].schema if batches else schema)
        .select(names)
        .combine_chunks()
    )


def _parts(body: bytes, names: Sequence[str]) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Columns, and rows with these among them."""
    if _is_arrow(body):
        reader = _arrow(body)
        if isinstance(reader, pa.RecordBatchReader):
            return reader.schema, reader
        return reader.schema, map(reader.get_batch, range(reader.num_record_batches))
    import pyarrow.parquet as papq  # noqa: PLC0415 - as above

    file = papq.ParquetFile(io.BytesIO(body))
    return file.schema_arrow, file.iter_batches(_ROWS, columns=list(names), use_threads=False)


def _is_arrow(body: bytes) -> bool:
    return body.startswith((ARROW_FILE, ARROW_STREAM))


def _arrow(body: bytes) -> pa.RecordBatchReader | pa.ipc.RecordBatchFileReader:
    data = pa.BufferReader(body)
    return pa.ipc.open_file(data) if body.startswith(ARROW_FILE) else pa.ipc.open_stream(data)
