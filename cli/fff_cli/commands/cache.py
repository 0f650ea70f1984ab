"""`fff cache`: what is kept on disk of the answers of sources."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from fff.access.disk.folder import byte_limit, cache_folder
from fff.access.disk.index import Held
from fff.access.disk.store import RowStore, opened
from fff.errors import UsageError
from fff.forecast.history import TableHistory
from fff_cli.output.console import is_terminal
from fff_cli.output.formats import emit_batch
from fff_cli.output.streams import choose_format
from fff_cli.run.progress import say

_NO_PLACE = "nothing is kept: there is no home folder, and XDG_CACHE_HOME is not set"


def show_stats(output: str | None) -> int:
    """Print what is kept of each table, in any result format."""
    chosen = choose_format(output, None, terminal=is_terminal(sys.stdout))
    with _store() as store:
        held = [] if store is None else store.held()
        _write(held, chosen)
        say(_NO_PLACE if store is None else f"{store.size():,} of {store.limit:,} bytes in {store.folder}")
    return 0


def clear(source: str | None) -> int:
    """Forget what is kept, of one source or of all. Raises UsageError for a source that nothing knows."""
    with _store() as store:
        if store is None:
            say(_NO_PLACE)
            return 0
        if source is not None and all(one.source != source for one in store.held()):
            _check_known(source)
        before = _entries(store)
        store.clear(source)
        TableHistory.of_user(os.environ, enabled=None).clear(source)
        say(f"cleared: {before - _entries(store):,} scans and keys")
    return 0


def _check_known(source: str) -> None:
    """Raise UsageError for a source that nothing is kept of, and that is not in the usual places either."""
    from fff.opening import open_federation  # noqa: PLC0415 - engine and sources, only for this

    if open_federation((), cache=False).catalog.source(source) is None:
        raise UsageError(
            f"nothing is kept of {source!r}, and no source is called so",
            hint="fff cache stats shows what is kept",
        )


def _entries(store: RowStore) -> int:
    return sum(one.scans + one.keys for one in store.held())


@contextmanager
def _store() -> Iterator[RowStore | None]:
    folder = cache_folder(os.environ)
    if folder is None:
        yield None
        return
    with opened(RowStore(folder, limit=byte_limit(os.environ))) as store:
        yield store


def _write(held: list[Held], chosen: str) -> None:
    moments = [dt.datetime.fromtimestamp(int(one.oldest), dt.UTC) for one in held]
    columns = {
        "source": pa.array([one.source for one in held], pa.string()),
        "table": pa.array([one.table for one in held], pa.string()),
        "scans": pa.array([one.scans for one in held], pa.int64()),
        "keys": pa.array([one.keys for one in held], pa.int64()),
        "rows": pa.array([one.rows for one in held], pa.int64()),
        "bytes": pa.array([one.bytes for one in held], pa.int64()),
        "oldest": pa.array(moments, pa.timestamp("s", "UTC")),
    }
    emit_batch(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)), chosen)
