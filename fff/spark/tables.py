"""Arrow tables as pyspark can take them, and as they are handed on."""

from __future__ import annotations

import pyarrow as pa

from fff.errors import SparkError


def unsliced(table: pa.Table) -> pa.Table:
    """The same table as pyspark can take it.

    It trips over columns of no chunk at all, and over nested columns that are a slice of longer ones: those
    are copied.
    """
    if not table.num_rows:
        return pa.Table.from_batches([pa.RecordBatch.from_pylist([], schema=table.schema)])
    if not any(pa.types.is_nested(kind) for kind in table.schema.types):
        return table
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def nullable(table: pa.Table) -> pa.Table:
    """The same values under a schema that says nothing but names and types, however Spark came by them.

    Raises SparkError where there is no column: rows of none would not be seen.
    """
    if not table.column_names:
        raise SparkError("the result has no column", hint="name a column, or write count(*)")
    fields = [pa.field(name, kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)]
    schema = pa.schema(fields)
    return pa.Table.from_arrays(table.columns, schema=schema)
