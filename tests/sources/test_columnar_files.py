"""Parquet and Arrow files that are packed, differ, are damaged or end too early: read in part, and as a whole."""

from __future__ import annotations

import contextlib
import gzip
import io
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import fff
from fff.errors import SourceError
from fff_sources.http.columnar import read_columns, read_schema
from tests.sources.local import rows


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def stream(*batches: list[int]) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, pa.schema({"a": pa.int64()})) as to:
        for batch in batches:
            to.write_batch(pa.record_batch({"a": batch}))
    return out.getvalue()


PAIR = {"1": parquet(a=pa.array([1], pa.int32()), b=["x"]), "2": parquet(A=[2.5], c=[True])}


@pytest.mark.parametrize("packed", [False, True])
async def test_a_table_has_the_columns_of_all_its_files_packed_or_not(tmp_path: Path, packed: bool) -> None:
    for name, body in PAIR.items():
        (tmp_path / f"{name}.parquet").write_bytes(gzip.compress(body) if packed else body)
    assert await rows(tmp_path, "SELECT a, b, c FROM '*.parquet'") == [(1.0, "x", None), (2.5, None, True)]
    (tmp_path / "3.parquet").write_bytes(gzip.compress(parquet(a=["x"])))
    with pytest.raises(SourceError, match=r"'a' is .* and string in .*3.parquet"):
        await rows(tmp_path, "SELECT a FROM '*.parquet'")


HARD = {
    "id": pa.array([uuid.UUID(int=7).bytes], pa.uuid()),
    "tag": pa.array(["x"]).dictionary_encode(),
    "span": pa.array([1], pa.duration("s")),
}


@pytest.mark.parametrize("packed", [False, True])
def test_types_that_arrow_alone_has_are_read_and_what_is_left_out_is_told(
    tmp_path: Path, packed: bool
) -> None:
    (tmp_path / "t.parquet").write_bytes(gzip.compress(parquet(**HARD)) if packed else parquet(**HARD))
    with fff.connect() as connection:
        result = connection.sql(f"SELECT * FROM '{tmp_path}/t.parquet'")
        assert result.to_arrow().to_pylist() == [{"id": str(uuid.UUID(int=7)), "tag": "x"}]
        assert any("span is left out: SQL has no type for duration" in str(one) for one in result.warnings)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (stream([1]) + stream([2]), "behind the end"),
        (stream([1])[:-8], "ends without its mark"),
        (stream()[:-8], "ends without its mark"),
        (stream([1]) + b"\n", "behind the end"),
    ],
)
def test_a_stream_of_arrow_that_is_cut_or_followed_by_another_is_an_error(
    tmp_path: Path, packed: bool, body: bytes, said: str
) -> None:
    for name, held in {"whole": stream([1], [2]), "bad": body}.items():
        (tmp_path / f"{name}.arrow").write_bytes(gzip.compress(held) if packed else held)
    with fff.connect() as connection:
        assert len(connection.sql(f"SELECT a FROM '{tmp_path}/whole.arrow'")) == 2
        with pytest.raises(SourceError, match=f"not valid arrow: .*{said}"):
            connection.sql(f"SELECT a FROM '{tmp_path}/bad.arrow'")


def test_damage_to_a_columnar_body_is_an_error_of_arrow() -> None:
    """Its readers of footers and of pages each raise what they like."""
    whole = parquet(a=list(range(50)), b=["x"] * 50)
    for place in range(4, len(whole), 3):
        body = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        with contextlib.suppress(pa.ArrowException):
            read_schema(body)
            read_columns(body, ["a", "b"])


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("ms", "UTC")])
async def test_a_day_behind_the_year_9999_can_be_compared(tmp_path: Path, kind: pa.DataType) -> None:
    far = 3_000_000 * {"us": 86_400_000_000, "ms": 86_400_000}.get(getattr(kind, "unit", ""), 1)
    (tmp_path / "t.parquet").write_bytes(parquet(d=pa.array([0, far], kind), n=[1, 2]))
    assert await rows(tmp_path, "SELECT n FROM 't.parquet' WHERE d > DATE '2000-01-01'") == [(2,)]
