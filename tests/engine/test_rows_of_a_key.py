"""The rows of one key, which is what most lookups are for, are found without numbering anything."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

from fff.access import key_index
from fff.access.disk.codec import by_key
from fff.access.disk.policy import RowCache
from fff.access.key_index import KeyNumbers, having, rows_having
from fff.quals import Quals
from tests.engine.joins import JOIN, lookup_only, oracle, two
from tests.engine.site import federated, run
from tests.web.serving import Serve

ROWS = pa.record_batch(
    {
        "i": pa.array([1, 2, None, 1, 2**31 - 1], pa.int32()),
        "s": pa.array(["a", "é", "a", None, ""]),
        "x": pa.array([0.0, -0.0, float("nan"), None, 0.1], pa.float64()),
        "d": pa.array([dt.date(2026, 1, 1), None, dt.date(2026, 1, 2), None, dt.date(1, 1, 1)]),
    }
)


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (["i"], (1,)),
        (["i"], (3,)),
        (["s"], ("a",)),
        (["s"], ("",)),
        (["s"], ("e\u0301",)),
        (["i", "s"], (1, "a")),
        (["x"], (0.0,)),
        (["x"], (float("nan"),)),
        (["d", "s"], (dt.date(2026, 1, 2), "a")),
    ],
)
def test_one_key_has_the_rows_that_numbers_say(columns: list[str], key: tuple[object, ...]) -> None:
    arrays = [ROWS.column(name) for name in columns]
    numbers = KeyNumbers([array.type for array in arrays])
    wanted = numbers.number_keys([key])
    expected = (numbers.number(arrays) == wanted).tolist()
    assert having(ROWS, columns, [key]).tolist() == expected
    rows = str(ROWS.filter(pa.array(expected)).to_pylist())  # where NaN is itself
    assert str(rows_having(ROWS, columns, [key]).to_pylist()) == rows
    [mine] = by_key(ROWS, columns, [key])
    assert str(mine.to_pylist()) == rows


def test_integers_and_texts_are_not_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(types: object) -> None:
        raise AssertionError("numbered for one key")

    monkeypatch.setattr(key_index, "KeyNumbers", never)
    assert having(ROWS, ["i", "s"], [(1, "a")]).tolist() == [True, False, False, False, False]


async def test_names_in_the_store_are_made_once(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[Quals] = []
    shape = RowCache._shape

    def counted(cache: RowCache, fingerprint: bytes, quals: Quals, *, merged: bool) -> bytes:
        named.append(quals)
        return shape(cache, fingerprint, quals, merged=merged)

    monkeypatch.setattr(RowCache, "_shape", counted)
    site = two()
    cache = RowCache(tmp_path / "cache", every=True)
    async with federated(serve, site, tmp_path, lookup_only(), cache=cache) as (federation, _):
        rows, _ = await run(federation, JOIN)
    assert rows == oracle(site, JOIN)
    assert len(site.keys) == 7
    assert len(named) <= 2 * 2 * 3, "for a table: as it is scanned, and as it is looked up"
