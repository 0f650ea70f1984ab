"""Values that stand in the names of folders, `year=2024/state=CA/`, as Hive, Spark and DuckDB write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from fff.quals import Quals
from fff.schema import Field
from fff_sources.files.columnar import excludes
from fff_sources.http.response.text.cell_types import type_of_texts
from fff_sources.http.response.values import from_text

_NULL = "__HIVE_DEFAULT_PARTITION__"


def partition_of(path: str, folder: str) -> dict[str, str | None]:
    """The values in the names of the folders that lead to a file; those that lead to `folder` say nothing of it."""
    place = PurePath(path)
    inside = place.relative_to(folder) if place.is_relative_to(folder) else place
    pairs = (part.partition("=") for part in inside.parts[:-1])
    values = {unquote(name): unquote(value) for name, sign, value in pairs if name and sign}
    return {name: None if value == _NULL else value for name, value in values.items()}


def types_of(partitions: Sequence[Mapping[str, str | None]]) -> dict[str, str]:
    """Names and types of the columns that folders name: the type that all values of a name are of, else text."""
    names = dict.fromkeys(name for partition in partitions for name in partition)
    return {
        name: type_of_texts(
            pa.array([one[name] for one in partitions if one.get(name) is not None], pa.string())
        )
        for name in names
    }


def typed(partition: Mapping[str, str | None], columns: Sequence[Field]) -> dict[str, Any]:
    """The values that are of columns, in their types. Raises ValueError."""
    texts = {name.lower(): text for name, text in partition.items()}
    return {
        field.name: None if (text := texts[field.name.lower()]) is None else from_text(text, field.arrow)
        for field in columns
        if field.name.lower() in texts
    }


def with_values(rows: pa.RecordBatch, fields: Sequence[Field], said: Mapping[str, Any]) -> pa.RecordBatch:
    """Rows of a file with what its folder says, in the order of the columns."""
    arrays = [
        pa.repeat(pa.scalar(said[field.name], field.arrow), rows.num_rows)
        if field.name in said
        else rows.column(rows.schema.get_field_index(field.name))
        for field in fields
    ]
    return pa.RecordBatch.from_arrays(arrays, [field.name for field in fields]) if fields else rows


def may_hold(values: Mapping[str, Any], quals: Quals) -> bool:
    """Whether a file of these values can hold rows that fulfil all qualifiers; NULL fulfils none."""
    return not any(
        values[qual.column] is None or excludes(qual, values[qual.column], values[qual.column])
        for qual in quals
        if qual.column in values
    )
