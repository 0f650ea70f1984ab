"""Streams of changes: each once, whatever is cut, comes late or is read again; and, slowly, in Spark itself."""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import fff
from fff.frames.changes import ChangedRows, ChangeOffset, in_parts
from fff.frames.spark_data_source import FFFDataSource
from fff.frames.spark_stream import ChangesReader, StreamedTable
from fff.quals import ChangesSince
from tests.api.changing import Changing, changing
from tests.api.conftest import Publish
from tests.api.examples import ROOT

Version = tuple[int, int | None, int]
ALL = ReadAllAvailable()


class Told:
    """A table at different moments. The column counts; a change may be seen `late` after it was numbered."""

    def __init__(self, rng: random.Random, late: int) -> None:
        self.rng, self.late = rng, late
        self.now = 0
        self.rows: dict[int, Version] = {}
        self.coming: list[tuple[int, Version]] = []
        self.changes = 0

    def go_on(self) -> None:
        for _ in range(self.rng.randrange(6)):
            self.now += self.rng.randrange(2)
            self.changes += 1
            key = self.rng.randrange(8)
            version = (key, self.now, self.changes)
            self.coming.append((self.now + self.rng.randint(0, self.late), version))
        self.settle(self.now)

    def settle(self, now: int) -> None:
        for seen, version in self.coming:
            if seen <= now and self.rows.get(version[0], (0, -1, -1))[2] < version[2]:
                self.rows[version[0]] = version
        self.coming = [one for one in self.coming if one[0] > now]

    def since(self, value: int | None) -> pa.Table:
        rows = [
            row for row in self.rows.values() if value is None or (row[1] is not None and row[1] >= value)
        ]
        rows += [row for row in rows if self.rng.random() < 0.2]  # told twice
        self.rng.shuffle(rows)
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        kinds = [pa.int32(), pa.int64(), pa.int64()]
        return pa.table(
            {name: pa.array(one, kind) for name, one, kind in zip("kav", columns, kinds, strict=True)}
        )


@pytest.mark.parametrize("count", [10, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("late", [0, 1, 3])
def test_each_change_comes_once_over_cuts_restarts_and_batches_read_again(late: int, count: int) -> None:
    changes = ChangesSince("a", "since", lookback=late)
    for seed in range(count):
        told = Told(random.Random(seed), late)
        for key in range(3):
            told.rows[key] = (key, None, 0)
        start, given = ChangeOffset(), Counter[Version]()

        def read(offset: ChangeOffset, told: Told = told) -> ChangedRows:
            since = offset.since(changes)
            return ChangedRows(told.since(None if since is None else since.value), changes)

        for step in range(40):
            if step < 30:
                told.go_on()
            else:
                told.settle(told.now + late)
            rows = read(start)
            end = rows.after(start, told.rng.choice([None, None, 1, 2, 5]))
            if told.rng.random() < 0.3:  # planned, then the process died: the batch is read again, later
                if step < 29:
                    told.go_on()
                end = ChangeOffset.of(json.loads(json.dumps(end.told())), pa.int64())
                rows = read(start)
            batch = rows.between(start, end)
            given.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            start = end
        while (end := (rows := read(start)).after(start)) is not start:
            batch = rows.between(start, end)
            given.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            start = end
        assert set(given.values()) <= {1}, (seed, given)
        assert set(told.rows.values()) <= given.keys(), seed
        assert all(start.is_open(value, changes) for value in start.given.values()), "no more is kept"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (dt.datetime(2024, 5, 1, 12, 30, tzinfo=dt.UTC), pa.timestamp("us", "UTC")),
        (dt.date(2024, 5, 1), pa.date32()),
        (7, pa.int64()),
        ("2024-W18", pa.string()),
        (None, pa.int64()),
    ],
)
def test_offsets_as_json(value: Any, kind: pa.DataType) -> None:
    offset = ChangeOffset(value, {"ab": value, "cd": None})
    assert ChangeOffset.of(json.loads(json.dumps(offset.told())), kind) == offset


def test_zero_is_a_value() -> None:
    table = pa.table({"a": [2, 0, 1, None], "b": ["x"] * 4})
    rows = ChangedRows(table, ChangesSince("a", "since"))
    start = ChangeOffset()
    assert rows.between(start, end := rows.after(start, 2))["a"].to_pylist() == [None, 0]
    assert rows.between(end, rows.after(end))["a"].to_pylist() == [1, 2]


def test_parts() -> None:
    table = pa.table({"a": range(10)})
    assert [part.num_rows for part in in_parts(table, 3)] == [4, 4, 2]
    assert list(in_parts(table.slice(0, 0), 3)) == []


def reader(spec: Path, clock: Any = None, **options: str) -> ChangesReader:
    source = FFFDataSource({"sources": str(spec), "path": "web.t", **options})
    found = source.streamReader(_Schema())
    if clock is not None:
        found._clock = clock
    return found


class _Schema:
    """The columns of `t`, as the data source is told them."""


@pytest.fixture(autouse=True)
def plain_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = pa.schema([("at", pa.int64()), ("id", pa.int32()), ("state", pa.string())])
    monkeypatch.setattr("fff.frames.spark_data_source.arrow_schema", lambda _: schema)
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)


def batch(one: ChangesReader, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[Any, ...]]:
    parts = [pickle.loads(pickle.dumps(part)) for part in one.partitions(start, end)]
    rows = [row for part in parts for rows in one.read(part) for row in rows.to_pylist()]
    return [(row["id"], row["state"], row["at"]) for row in rows]


def test_a_reader_asks_for_what_has_changed_alone(publish: Publish) -> None:
    site = Changing()
    for key in range(8):
        site.put(key, 10 + key)
    now = [0.0]
    one = reader(publish(site, changing()), lambda: now[0], partitions="2")
    start = one.initialOffset()
    end = one.latestOffset(start, ALL)
    assert len(one.partitions(start, end)) == 2
    assert sorted(row[0] for row in batch(one, start, end)) == list(range(8))
    assert len(site.asked) == 3, "each page once: the plan and the batch are of one reading"
    assert one.latestOffset(end, ALL) is end
    assert len(site.asked) == 3, "not asked again before its time"
    site.put(3, 17, "closed")  # under the greatest value there is
    site.put(9, 20)
    now[0] = 10.0
    site.asked.clear()
    last = one.latestOffset(end, ALL)
    assert {asked.get("since") for asked in site.asked} == {"17"}
    assert batch(one, end, last) == [(3, "closed", 17), (9, "open", 20)]
    again = reader(one._streamed.sources[0])  # another process, from the checkpoint
    assert batch(again, end, last) == [(3, "closed", 17), (9, "open", 20)]


def test_batches_of_so_many_rows_are_of_one_reading(publish: Publish) -> None:
    site = Changing()
    for key in range(8):
        site.put(key, 10)  # all at once
    one = reader(publish(site, changing()), max_rows_per_trigger="3")
    assert one.getDefaultReadLimit() == ReadMaxRows(3)
    one.prepareForTriggerAvailableNow()
    offset, sizes, seen = one.initialOffset(), [], []
    while (end := one.latestOffset(offset, ReadMaxRows(3))) is not offset:
        rows = batch(one, offset, end)
        sizes.append(len(rows))
        seen += [row[0] for row in rows]
        offset = end
        site.put(100 + len(sizes), 50)
    assert (sizes, sorted(seen)) == ([3, 3, 2], list(range(8)))
    assert len(site.asked) == 3
    rest = one.latestOffset(offset, ALL)
    assert rest is offset, "what came since is for the next run"


def test_a_table_that_is_not_read_in_full_loses_nothing(publish: Publish) -> None:
    site = Changing(broken=True)
    for key in range(8):
        site.put(key, key)
    one = reader(publish(site, changing()))
    start = one.initialOffset()
    with pytest.raises(fff.SourceError):
        one.latestOffset(start, ALL)
    site.broken = False
    assert len(batch(one, start, one.latestOffset(start, ALL))) == 8


def test_what_cannot_be_streamed_is_refused(publish: Publish) -> None:
    spec = publish(Changing(), changing())
    with pytest.raises(fff.QueryError, match=r"web\.silent does not tell what has changed") as told:
        reader(spec, path="web.silent").initialOffset()
    assert "changes: {column, param, lookback}" in str(told.value.hint)
    with pytest.raises(fff.UsageError, match="the changes of one table"):
        FFFDataSource({"sources": str(spec), "query": "SELECT * FROM t"}).streamReader(None)
    with pytest.raises(fff.UsageError, match="a part for the whole"):
        reader(spec, on_source_error="partial")
    with pytest.raises(fff.UsageError, match="at least 1, not 0"):
        reader(spec, max_rows_per_trigger="0")
    with pytest.raises(fff.UsageError, match=r"Spark 4\.2"):
        reader(spec).latestOffset()
    assert StreamedTable((str(spec),), "T", {}, None, 1.0, 1).table().full_name == "web.t"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(
    shutil.which("java") is None and "JAVA_HOME" not in os.environ,
    reason="a plain Spark session needs a Java of its own, on PATH or in JAVA_HOME",
)
def test_a_stream_of_spark_goes_on_from_its_checkpoint() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.api.stream_program"],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("good\n"), done.stderr[-4000:]
