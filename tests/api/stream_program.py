"""A streaming query of Spark over a table that changes: a program of its own. Prints `good` where all is as it should be."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.api.changing import Changing, changing
from tests.web.serving import serving_beside


class Sink:
    """What batches bring, each counted once by its number, as a sink has to."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[Any, ...]]] = {}
        self.fails = False

    def take(self, frame: DataFrame, number: int) -> None:
        rows = [tuple(row) for row in frame.select("id", "state", "at").collect()]
        if self.fails:
            raise RuntimeError("the sink is full")
        self.batches[number] = rows

    @property
    def rows(self) -> Counter[tuple[Any, ...]]:
        return Counter(row for rows in self.batches.values() for row in rows)


def main() -> None:
    site = Changing()
    with serving_beside(site.answer) as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = {"version": 1, "sources": {"web": {"client": {"base_url": url}, "tables": changing(2)}}}
        (folder / "fff.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
        run(site, folder)


def run(site: Changing, folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "OFF").getOrCreate()

    def stream(sink: Sink, table: str = "web.t", **options: object) -> None:
        read = session.readStream.format("fff").option("sources", str(folder / "fff.yaml"))
        for name, value in options.items():
            read = read.option(name, value)
        write = read.load(table).writeStream.foreachBatch(sink.take)
        query = (
            write.option("checkpointLocation", str(folder / f"of_{table}")).trigger(availableNow=True).start()
        )
        query.awaitTermination()

    sink = Sink()
    for key in range(7):
        site.put(key, 10 + key)
    stream(sink, partitions=2, max_rows_per_trigger=3)
    assert [len(rows) for rows in sink.batches.values()] == [3, 3, 1], sink.batches
    wanted = [(key, "open", 10 + key) for key in range(7)]

    # Late, but not later than `lookback`; a change under the greatest value; a new row.
    for change in [(20, 14, "open"), (2, 16, "closed"), (21, 18, "open")]:
        site.put(*change)
        wanted.append((change[0], change[2], change[1]))
    site.asked.clear()
    stream(sink)
    assert {asked.get("since") for asked in site.asked} == {"14"}, site.asked
    assert sink.rows == Counter(wanted), sink.rows

    # A batch that was planned and not written is read again, without what came in the meantime.
    site.put(22, 19)
    wanted.append((22, "open", 19))
    sink.fails = True
    with pytest.raises(PySparkException, match="the sink is full"):
        stream(sink)
    sink.fails = False
    site.put(23, 19)
    wanted.append((23, "open", 19))
    before = len(sink.batches)
    stream(sink)
    assert list(sink.batches.values())[before:] == [[(22, "open", 19)], [(23, "open", 19)]], sink.batches
    stream(sink)
    assert sink.rows == Counter(wanted), sink.rows

    with pytest.raises(PySparkException, match=r"web\.silent does not tell what has changed") as told:
        stream(sink, "web.silent")
    assert "Traceback" not in str(told.value), told.value
    session.stop()
    print("good")


if __name__ == "__main__":
    main()
