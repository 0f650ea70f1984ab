"""Files that hold columns: Parquet, and Arrow's two formats. What is at hand is told by how it begins."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from fff.schema import distinct_names

PARQUET = b"PAR1"
ARROW_FILE = b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"
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
    if body.startswith(PARQUET):
        import pyarrow.parquet as papq  # noqa: PLC0415 - with all its file systems it takes long to load

        return papq.ParquetFile(io.BytesIO(body), coerce_int96_timestamp_unit=INT96_UNIT).schema_arrow
    return _arrow(body).schema


def read_columns(body: bytes, names: Sequence[str]) -> pa.Table:
    """Some columns of a file, by their distinct names, each in one piece.

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
    table = pa.Table.from_batches(batches, batches[0].schema if batches else schema)
    return table.rename_columns(distinct_names(table.column_names)).select(names).combine_chunks()


def _parts(body: bytes, names: Sequence[str]) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Columns, and rows with these among them."""
    if _is_arrow(body):
        reader = _arrow(body)
        if isinstance(reader, pa.RecordBatchReader):
            return reader.schema, reader
        return reader.schema, map(reader.get_batch, range(reader.num_record_batches))
    import pyarrow.parquet as papq  # noqa: PLC0415 - as above

    file = papq.ParquetFile(io.BytesIO(body), coerce_int96_timestamp_unit=INT96_UNIT)
    schema = file.schema_arrow
    # Columns that are named alike are told apart by their places among all.
    alone = len({name.lower() for name in schema.names}) == len(schema)
    places = [place for place, name in enumerate(schema.names) if name in names]
    wanted = read_alone(schema, places) if alone else None
    return schema, file.iter_batches(_ROWS, columns=wanted, use_threads=False)


def _is_arrow(body: bytes) -> bool:
    return body.startswith((ARROW_FILE, ARROW_STREAM))


def _arrow(body: bytes) -> pa.RecordBatchReader | pa.ipc.RecordBatchFileReader:
    data = pa.BufferReader(body)
    return pa.ipc.open_file(data) if body.startswith(ARROW_FILE) else pa.ipc.open_stream(data)
