"""Files that hold columns: Parquet, and Arrow's two formats. What is at hand is told by how it begins."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa

from fff.schema import distinct_names

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
#: What stands at the end of a stream of Arrow that nobody has cut.
_END = b"\xff\xff\xff\xff\0\0\0\0"
#: Bytes of columns that a file may always hold, and times its size: runs of a value take next to nothing.
_MOST, _RATIO = 2**30, 32
_ROWS = 2**12  # that are looked at together


def spelled(name: str, names: Collection[str]) -> str | None:
    """How a column is written among others: exactly so or, as SQL compares names, in another case; None if not there."""
    return name if name in names else next((one for one in names if one.lower() == name.lower()), None)


def places_among(header: Collection[str], names: Iterable[str]) -> dict[str, str]:
    """How columns are written in a header, each another: exactly so or, of what is left over, in another case."""
    written = set(header)
    places = {name: name for name in names if name in written}
    left: dict[str, list[str]] = {}
    for one in header:
        if one not in places:
            left.setdefault(one.lower(), []).append(one)
    for name in names:
        if name not in places and (alike := left.get(name.lower())):
            places[name] = alike.pop(0)
    return places


def read_alone(schema: pa.Schema, places: Collection[int]) -> list[str] | None:
    """The names by which pyarrow reads these columns of a Parquet file and no others; None where it cannot.

    It takes a name for a path, and for every column that is so called.
    """
    paths = [f"{name}." for name in schema.names]
    alike = (
        paths[place].startswith(path) or path.startswith(paths[place])
        for place in places
        for other, path in enumerate(paths)
        if other != place
    )
    return None if any(alike) else [schema.names[place] for place in sorted(places)]


#: In nanoseconds, as Arrow has them, times that Spark writes end in 2262: 9999-12-31 would be another.
INT96_UNIT = "us"


def read_schema(body: bytes) -> pa.Schema:
    """The columns of a file. Raises pa.ArrowException."""
    with _of_arrow():
        return _parts(body, ())[0]


def read_columns(body: bytes, names: Sequence[str]) -> pa.Table:
    """Some columns of a file, which has them, by their distinct names, each in one piece.

    Raises pa.ArrowException, also where it expands beyond reason.
    """
    most, held = max(_MOST, _RATIO * len(body)), 0
    batches = []
    with _of_arrow():
        schema, parts = _parts(body, names)
        for batch in parts:
            batches.append(batch)
            held += batch.nbytes
            if held > most:
                raise pa.ArrowInvalid(f"its columns take more than {most:,} bytes")
    table = pa.Table.from_batches(batches, batches[0].schema if batches else schema)
    return table.rename_columns(distinct_names(table.column_names)).select(names).combine_chunks()


@contextlib.contextmanager
def _of_arrow() -> Iterator[None]:
    """What the readers of Parquet say of damage, the operating system's own errors among it, as Arrow's."""
    try:
        yield
    except OSError as error:
        raise pa.ArrowInvalid(str(error)) from error


def _parts(body: bytes, names: Sequence[str]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Columns, and rows with these among them."""
    if not body.startswith(PARQUET):
        return arrow_parts(pa.BufferReader(body))
    import pyarrow.parquet as papq  # noqa: PLC0415 - with all its file systems it takes long to load

    file = papq.ParquetFile(io.BytesIO(body), coerce_int96_timestamp_unit=INT96_UNIT)
    schema = file.schema_arrow
    # Columns that are named alike are told apart by their places among all.
    alone = len({name.lower() for name in schema.names}) == len(schema)
    places = [place for place, name in enumerate(schema.names) if name in names]
    wanted = read_alone(schema, places) if alone else None
    return schema, file.iter_batches(_ROWS, columns=wanted, use_threads=False)


def arrow_parts(data: pa.NativeFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Columns and rows of an Arrow file. Raises pa.ArrowException, of what is cut or damaged while it is read."""
    start = data.read(len(ARROW_FILE))
    data.seek(0)
    if start == ARROW_FILE:
        file = pa.ipc.open_file(data)
        return file.schema, map(file.get_batch, range(file.num_record_batches))
    stream = pa.ipc.open_stream(data)
    return stream.schema, _streamed(stream, data)


def _streamed(stream: pa.RecordBatchReader, data: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """All of a stream. Its reader takes one that is cut between two batches for whole, and looks at nothing behind it."""
    yield from stream
    data.seek(max(0, data.tell() - len(_END)))
    if data.read(len(_END)) != _END:
        raise pa.ArrowInvalid(
            "the stream ends without its mark of the end: it is cut, or its writer was not closed"
        )
    if data.read(1):
        raise pa.ArrowInvalid("something is behind the end of the stream, as of two that were put together")
