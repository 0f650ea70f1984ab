"""Rows that blocks find, on their way to the feeds of other blocks: as keys, or as the rows of a query that these make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from fff.access.semijoin_feed import KeyFeed
from fff.dataflow.plan.events import Enough
from fff.result.projection import UnionRows
from fff.runtime.block_run import RunningBlock
from fff.sql.plan import Feed


class Feeding:
    """Takes the rows of a statement's blocks to the feeds that want them. `sql` is the statement."""

    def __init__(self, blocks: Sequence[RunningBlock], sql: str) -> None:
        self._blocks = blocks
        self._unions = {
            id(feed): UnionRows(feed.rows, sql) for _, feed, _ in self._feeds() if feed.rows is not None
        }

    def begin(self) -> None:
        """Give each query's feed the rows that no table makes."""
        for _, feed, source in self._feeds():
            union = self._unions.get(id(feed))
            for rows in [] if union is None else union.alone():
                self._fill(feed, source, union, rows)

    def take(self, block: RunningBlock, batch: pa.RecordBatch) -> None:
        """Rows of a block have come."""
        for _, feed, source in self._feeds():
            union = self._unions.get(id(feed))
            if union is not None and union.reads(block.number):
                self._fill(feed, source, union, union.of(block.number, batch))
            for one in feed.sources:
                if one.block == block.number:
                    source.add(one.of(batch))

    def ended(self, block: RunningBlock) -> None:
        """A block has ended: it reads no more, and those of whose rows nobody reads any have found enough."""
        for reader, feed, _ in self._feeds():
            if reader is block and feed.rows is not None:
                for number in feed.blocks:
                    readers = (one for one, other, _ in self._feeds() if number in other.blocks)
                    if all(one.finish is not None for one in readers):
                        self._blocks[number].driver.post(Enough())

    def _fill(self, feed: Feed, source: KeyFeed, union: UnionRows | None, rows: pa.RecordBatch) -> None:
        source.add(rows.columns)
        if union is not None and union.full:
            for number in feed.blocks:
                self._blocks[number].driver.post(Enough())

    def _feeds(self) -> Iterator[tuple[RunningBlock, Feed, KeyFeed]]:
        """Every feed, with the block that reads it."""
        for block in self._blocks:
            for feed in block.query.feeds:
                yield block, feed, block.feeds[feed.table]
