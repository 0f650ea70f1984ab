"""A bit that flips anywhere in what is kept costs requests, and never a wrong row: whatever it hits is signed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from fff.access.disk.codec import packed
from fff.access.disk.index import KeptAnswer, Reply, ScanEntry
from fff.access.disk.store import RowStore, opened
from fff.structs import replace
from tests.engine.cached import JOIN, World

TABLE = ("web", "t")
ROWS = pa.record_batch({"a": pa.array(range(40), pa.int32()), "b": [f"text {one}" for one in range(40)]})
NAMES = tuple(ROWS.schema.names)
#: What may happen to bytes: a flipped bit at every place, the end cut off, bytes appended, parts in another order.
FLIPS = 1_000
SWAPPED = """
    UPDATE answer SET key = 'x' WHERE key = CAST('int:1' AS BLOB);
    UPDATE answer SET key = CAST('int:1' AS BLOB) WHERE key = CAST('int:2' AS BLOB);
    UPDATE answer SET key = CAST('int:2' AS BLOB) WHERE key = 'x';
"""


def damaged(data: bytes, *, bits: int = 8) -> Iterator[bytes]:
    step = max(1, len(data) // FLIPS)
    for at in range(0, len(data), step):
        for bit in range(at % 8, at % 8 + bits):
            yield data[:at] + bytes([data[at] ^ 1 << bit % 8]) + data[at + 1 :]
    for end in (0, 1, len(data) // 2, len(data) - 8, len(data) - 1):
        yield data[:end]
    yield data + b"\0"
    yield data + data
    yield data[1:] + data[:1]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RowStore]:
    with opened(RowStore(tmp_path / "rows", clock=lambda: 1000.0)) as found:
        yield found


def shape_of(store: RowStore, name: bytes = b"t") -> bytes:
    shape = store.shape(name)
    assert shape is not None
    return shape


def kept_scan(store: RowStore) -> tuple[bytes, ScanEntry]:
    shape, file = shape_of(store), store.scan_file(ROWS.schema)
    assert file is not None
    file.add(ROWS)
    store.keep_scan(shape, TABLE, NAMES, file, 999.0)
    entry = store.scan(shape, NAMES, 300.0)
    assert entry is not None
    assert store.rows(shape, entry, ROWS.schema) == [ROWS]
    return shape, entry


def test_any_damage_of_a_scan_is_seen(store: RowStore) -> None:
    shape, entry = kept_scan(store)
    path = store.folder / entry.file
    whole = path.read_bytes()
    count = 0
    for data in damaged(whole, bits=1):
        path.write_bytes(data)
        # Also with the length that the index tells, lest that alone would tell.
        for told in {entry.bytes, len(data)}:
            assert store.rows(shape, replace(entry, bytes=told), ROWS.schema) is None, count
        count += 1
    assert count > 500
    path.write_bytes(whole)
    assert store.rows(shape, entry, ROWS.schema) == [ROWS]


def test_a_scan_means_what_it_was_written_for(store: RowStore) -> None:
    """The rows of another table, or columns under each other's names, are no less wrong for being intact."""
    shape, entry = kept_scan(store)
    assert store.rows(shape_of(store, b"u"), entry, ROWS.schema) is None
    assert store.rows(shape, replace(entry, columns=("b", "a")), ROWS.schema) is None
    for mac in damaged(entry.mac):
        assert store.rows(shape, replace(entry, mac=mac), ROWS.schema) is None


def kept_answers(store: RowStore) -> bytes:
    shape = shape_of(store)
    answers = [KeptAnswer(b"int:1", packed(ROWS), b"", 40, 999.0), KeptAnswer(b"int:2", None, b"", 0, 999.0)]
    store.keep(shape, TABLE, ("a",), NAMES, answers)
    store.flush()
    return shape


def found(store: RowStore, shape: bytes) -> dict[bytes, bytes | None]:
    answers: dict[bytes, bytes | None] = {}
    for keyset in store.keysets(shape):
        answers |= {
            key: one.body for key, one in store.answers(shape, keyset, [b"int:1", b"int:2"], 300.0).items()
        }
    return answers


@pytest.mark.slow
def test_any_damage_of_an_answer_is_seen(store: RowStore) -> None:
    shape = kept_answers(store)
    assert found(store, shape) == {b"int:1": packed(ROWS), b"int:2": None}
    with closing(sqlite3.connect(store.folder / "index.sqlite", isolation_level=None)) as db:
        for column in ("body", "mac"):
            ((whole,),) = db.execute(f"SELECT {column} FROM answer WHERE key = ?", (b"int:1",)).fetchall()
            for data in damaged(whole, bits=1):
                db.execute(f"UPDATE answer SET {column} = ? WHERE key = ?", (data, b"int:1"))
                assert found(store, shape) == {b"int:2": None}
            db.execute(f"UPDATE answer SET {column} = ? WHERE key = ?", (whole, b"int:1"))
        assert found(store, shape) == {b"int:1": packed(ROWS), b"int:2": None}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE answer SET body = NULL",  # rows that were there are none
        "UPDATE answer SET body = zeroblob(0) WHERE body IS NULL",
        SWAPPED,
        "UPDATE answer SET fetched = fetched + 0.5",  # fresh for longer
        "UPDATE keyset SET columns = 'b' || char(10) || 'a'",
        "UPDATE keyset SET keys = 'b'",
        "UPDATE answer SET mac = NULL",
    ],
)
def test_an_answer_means_what_it_was_written_for(store: RowStore, change: str) -> None:
    shape = kept_answers(store)
    before = found(store, shape)
    with closing(sqlite3.connect(store.folder / "index.sqlite", isolation_level=None)) as db:
        db.executescript(change)
    after = found(store, shape)
    assert after != before
    assert all(before[key] == body for key, body in after.items()), "no answer stands for another"


def test_answers_of_another_table_are_none(store: RowStore) -> None:
    shape = kept_answers(store)
    (keyset,) = store.keysets(shape)
    assert store.answers(shape_of(store, b"u"), keyset, [b"int:1"], 300.0) == {}


def test_any_damage_of_a_reply_is_seen(store: RowStore) -> None:
    request = store.request(b"GET /x")
    assert request is not None
    reply = Reply(
        request,
        '"1"',
        "Sun, 06 Nov 1994 08:49:37 GMT",
        '{"content-type": "text/csv"}',
        b"a,b\n1,2\n3,4\n5,6\n7,8\n",
    )
    store.keep_reply(TABLE, reply)
    store.flush()
    kept = store.reply(request)
    assert kept is not None
    assert kept.body == reply.body
    with closing(sqlite3.connect(store.folder / "index.sqlite", isolation_level=None)) as db:
        for column in ("body", "etag", "modified", "headers", "mac"):
            ((whole,),) = db.execute(f"SELECT CAST({column} AS BLOB) FROM reply").fetchall()
            for data in damaged(whole, bits=1):
                db.execute(f"UPDATE reply SET {column} = ?", (data,))
                assert store.reply(request) is None, column
            db.execute(
                f"UPDATE reply SET {column} = ?", (whole if column in ("body", "mac") else whole.decode(),)
            )
        assert store.reply(request) is not None


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data.replace((7).to_bytes(4, "little"), (8).to_bytes(4, "little")),
        lambda data: data[:-1],
        lambda data: data + data,
    ],
)
async def test_a_run_over_damaged_rows_reads_the_source_anew(
    world: World,
    harm: Callable[[bytes], bytes],
) -> None:
    rows, *_ = await world.run(JOIN)
    (scan,) = world.kept.glob("*.arrow")
    before = scan.read_bytes()
    assert harm(before) != before, "a row is hit"
    scan.write_bytes(harm(before))
    assert (await world.run(JOIN))[:2] == (rows, 3)
    assert (await world.run(JOIN))[:2] == (rows, 0), "it is kept again"


async def test_a_run_over_damaged_answers_asks_anew(world: World) -> None:
    rows, *_ = await world.run(JOIN)
    with closing(sqlite3.connect(world.kept / "index.sqlite", isolation_level=None)) as db:
        bodies = db.execute("SELECT id, body FROM answer WHERE body IS NOT NULL").fetchall()
        assert any(b"s1" in body for _, body in bodies)
        for number, body in bodies:
            db.execute("UPDATE answer SET body = ? WHERE id = ?", (body.replace(b"s1", b"s9"), number))
    assert (await world.run(JOIN))[:2] == (rows, 1), "one answer had it"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o377])
def test_what_is_kept_is_its_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with opened(RowStore(tmp_path / "rows", clock=lambda: 1000.0)) as store:
            kept_scan(store)
            kept_answers(store)
            paths = [tmp_path / "rows", *(tmp_path / "rows").iterdir()]
            modes = {path.name: path.stat().st_mode & 0o777 for path in paths}
    finally:
        os.umask(before)
    assert modes.pop("rows") == 0o700
    assert len(modes) >= 3
    assert set(modes.values()) == {0o600}, modes
