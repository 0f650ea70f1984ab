"""What earlier runs have found of tables: sizes, pages, different keys, seconds a request; a small file for each user.

It holds numbers, and names of tables and columns. A table goes by a keyed digest of all that its rows depend
on, so that what is known of one is never taken for another, and nobody learns a secret from it.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import Meta, json

from fff.access.disk.folder import byte_limit, cache_folder, made, private, secret_key
from fff.catalog import Cacheable, Catalog, Table
from fff.dataflow.lookups.access import ScanState
from fff.dataflow.statistics import TableStatistics
from fff.errors import FFFError
from fff.quals import Quals
from fff.runtime.block_run import RunningBlock
from fff.runtime.driver import OpenTable
from fff.stats import AccessMeter
from fff.structs import Struct, field

#: Tables that are remembered; those seen longest ago give way.
REMEMBERED = 500
_VERSION = 1
_NAME = "tables.json"


_Count: TypeAlias = Annotated[int, Meta(ge=0)]
_Seconds: TypeAlias = Annotated[float, Meta(ge=0)]


class MethodFacts(Struct, frozen=True):
    """One access method, as a run has found it: `requests` for all rows of a scan, or for so many keys of a lookup."""

    requests: _Count
    rows: _Count
    keys: _Count
    seconds: _Seconds  # between two answers while any request was under way
    at_once: _Count


class TableFacts(Struct, frozen=True):
    """What is known of a table, or of the rows of it for which some qualifiers hold.

    `at`: when it was seen.
    """

    table: str
    at: _Seconds
    methods: Mapping[str, MethodFacts] = field(default_factory=dict)
    distinct: Mapping[str, _Count] = field(default_factory=dict)  # different values of a column, NULL aside


class _KeptFacts(Struct, frozen=True):
    """All of the file."""

    version: int
    tables: dict[str, TableFacts]


class TableHistory:
    """What is known of tables, in memory and, with a folder, on disk.

    Args:
        folder: where; None: nothing outlives the process.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._key: bytes | None = None
        self._known: dict[str, TableFacts] | None = None
        self._new: dict[str, TableFacts] = {}

    @classmethod
    def of_user(cls, environ: Mapping[str, str], *, enabled: bool | None) -> TableHistory:
        """The one beside the cache of rows; in memory alone where nothing is to be kept on disk.

        Raises UsageError.
        """
        rows = cache_folder(environ)
        if rows is None or enabled is False or byte_limit(environ) == 0:
            return cls()
        return cls(rows.parent / "totals")

    def of(self, catalog: Catalog, table: Table, quals: Quals) -> TableFacts | None:
        """What is known of the rows of a table for which qualifiers hold."""
        name = self._name(catalog, table, quals)
        if name is None:
            return None
        if self._known is None:
            self._known = self._read()
        return self._new.get(name) or self._known.get(name)

    def note(self, catalog: Catalog, blocks: Sequence[RunningBlock]) -> None:
        """Remember what a run has found that has ended."""
        for block in blocks:
            for number, (statistics, opened) in enumerate(
                zip(block.eddy.statistics().tables, block.access, strict=True)
            ):
                if not opened.fed:
                    distinct = (
                        block.eddy.distinct(number) if statistics.complete and not opened.table.quals else {}
                    )
                    self._note(catalog, opened, statistics, distinct)

    def _note(
        self, catalog: Catalog, opened: OpenTable, statistics: TableStatistics, distinct: Mapping[str, int]
    ) -> None:
        methods: dict[str, MethodFacts] = {}
        for scan, meter in zip(statistics.scans, opened.scan_meters, strict=True):
            facts = _of_scan(opened.table, meter, scan.rows, complete=scan.state is ScanState.COMPLETE)
            if facts is not None:
                methods[scan.name] = facts
        for lookup, meter in zip(statistics.lookups, opened.lookup_meters, strict=True):
            if meter.requests and lookup.asked and not (lookup.failed or meter.cached):
                methods[lookup.name] = _facts(
                    meter, meter.requests - meter.retries, lookup.rows, lookup.asked
                )
        name = self._name(catalog, opened.table, opened.table.quals) if methods else None
        if name is None:
            return
        before = self.of(catalog, opened.table, opened.table.quals)
        known: Mapping[str, MethodFacts] = {} if before is None else before.methods
        counts: Mapping[str, int] = {} if before is None else before.distinct
        self._new[name] = TableFacts(
            opened.table.full_name, time.time(), {**known, **methods}, {**counts, **distinct}
        )

    def save(self) -> None:
        """Write what is new to the disk, beside what others have written there; where that cannot be, it is forgotten."""
        if self._folder is not None and self._new:
            newest = sorted((self._read() | self._new).items(), key=lambda one: -one[1].at)
            self._write(self._folder, dict(newest[:REMEMBERED]))

    def clear(self, source: str | None) -> None:
        """Forget what is known of the tables of a source, or of all."""
        kept = {
            name: facts
            for name, facts in self._read().items()
            if source is not None and not facts.table.startswith(f"{source}.")
        }
        if self._folder is not None and (self._folder / _NAME).exists():
            self._write(self._folder, kept)

    def _write(self, folder: Path, known: dict[str, TableFacts]) -> None:
        """A whole file in the place of the one before."""
        with contextlib.suppress(OSError):
            draft = folder / f"{_NAME}.{secrets.token_hex(8)}.part"
            try:
                with private(draft) as file:
                    file.write(json.encode(_KeptFacts(_VERSION, known)))
                draft.replace(folder / _NAME)
            finally:
                draft.unlink(missing_ok=True)
        self._known, self._new = known, {}

    def _read(self) -> dict[str, TableFacts]:
        """What is on the disk; nothing where that is damaged, or of another version."""
        if self._folder is None:
            return {}
        try:
            kept = json.decode((self._folder / _NAME).read_bytes(), type=_KeptFacts)
        except (OSError, ValueError):
            return {}
        return kept.tables if kept.version == _VERSION else {}

    def _name(self, catalog: Catalog, table: Table, quals: Quals) -> str | None:
        """What a table goes by; None where nothing tells what its rows depend on, or no source holds them."""
        if not table.source:
            return None
        adapter = catalog.adapter_of(table)
        if not isinstance(adapter, Cacheable):
            return None
        try:
            if self._key is None:
                self._key = b""
                if self._folder is not None and made(self._folder):
                    self._key = secret_key(self._folder)
                elif self._folder is not None:
                    self._folder = None  # somebody else could write there
            whole = adapter.fingerprint(table) + (repr(quals).encode() if quals else b"")
        except (FFFError, OSError):
            return None
        return hashlib.blake2b(whole, digest_size=16, key=self._key).hexdigest()


def _of_scan(table: Table, meter: AccessMeter, rows: int, *, complete: bool) -> MethodFacts | None:
    """What a scan has shown: all of it, or a page of so many in all."""
    asked = meter.requests - meter.retries
    if not asked or meter.cached:
        return None
    if complete:
        return _facts(meter, asked, rows, 0)
    if meter.total_rows is None or not meter.pages or not rows or table.rows_wanted is not None:
        return None
    return _facts(meter, math.ceil(meter.total_rows * meter.pages / rows), meter.total_rows, 0)


def _facts(meter: AccessMeter, requests: int, rows: int, keys: int) -> MethodFacts:
    return MethodFacts(requests, rows, keys, meter.busy_s / meter.requests, max(1, meter.max_in_flight))
