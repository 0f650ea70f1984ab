"""From spec files to a federation. What reads specs is found through the entry-point group `fff.loaders`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache as cache_of
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

from fff.access.disk.journal import Journal, JournaledClient
from fff.access.disk.policy import RowCache, row_cache
from fff.catalog import Catalog
from fff.errors import SparkError, UsageError
from fff.federation import Federation
from fff.forecast.history import TableHistory
from fff.options import RunOptions, SpecText
from fff.web.client import WebClient

_GROUP, _NAME = "fff.loaders", "specs"
_NO_LIMIT = 1 << 62  # bytes: what a checkpoint holds is all needed

Source = str | os.PathLike[str] | SpecText
Sources = Source | Sequence[Source]


class Loader(Protocol):
    """What the entry point `specs` of the group `fff.loaders` names."""

    def __call__(
        self,
        paths: Sequence[Path | SpecText],
        *,
        environ: Mapping[str, str],
        cwd: Path,
        client: WebClient,
        local_files: bool = True,
    ) -> Catalog:
        """The tables of the spec files and folders or, without any, of the usual places. Raises UsageError."""


def each_source(sources: Iterable[Sources] | Sources) -> Iterator[Source]:
    """Spec files and folders one by one, whether one is given or several, some of them in lists. Raises UsageError."""
    if isinstance(sources, str | os.PathLike | SpecText):
        yield sources
        return
    if isinstance(sources, bytes | Mapping) or not isinstance(sources, Iterable):
        kind = type(sources).__name__
        raise UsageError(f"a source is the path of a spec file or of a folder, not a value of type {kind}")
    for one in sources:
        yield from each_source(one)


def open_federation(
    sources: Iterable[Sources] | Sources,
    *,
    environ: Mapping[str, str] | None = None,
    client: WebClient | None = None,
    load: Loader | None = None,
    keep: bool = False,
    max_age: float | None = None,
    cache: bool | None = None,
    cache_ttl: float | None = None,
    local_files: bool = True,
    checkpoint: Path | None = None,
    options: RunOptions | None = None,
) -> Federation:
    """A federation over the given spec files and folders or, without any, over those of the usual places.

    `environ` is that of the process unless it is given; `client` sends over the network, `load` is the loader that is
    installed. `keep` and `max_age` are those of `Federation`; `cache` and `cache_ttl` are as for `row_cache`. Nothing is sent.
    Without `local_files` statements cannot name files of this machine; specs can. All answers are kept in the folder
    `checkpoint`, and what is in it is not asked for again; there is no other cache then. The `options` say where Spark runs.

    Raises:
        SpecError: a spec is wrong.
        UsageError: a path is not there, or the folder cannot be used.
    """
    environ = os.environ if environ is None else environ
    if checkpoint is None:
        kept = row_cache(environ, enabled=cache, ttl=cache_ttl)
    else:
        client = client or JournaledClient(Journal(checkpoint))
        journal = client.journal if isinstance(client, JournaledClient) else None
        kept = RowCache(
            checkpoint / "rows", every=True, ttl=float("inf"), limit=_NO_LIMIT, at_once=True, journal=journal
        )
    history = TableHistory.of_user(environ, enabled=cache)
    client = client or WebClient()
    load = load or _loader()
    paths = [source if isinstance(source, SpecText) else Path(source) for source in each_source(sources)]
    catalog = load(paths, environ=environ, cwd=Path.cwd(), client=client, local_files=local_files)
    if not local_files:
        catalog.local_files = False
        catalog.unread = list  # who asks may not know what files are here
    java = (
        _nobody_knows
        if options is None or options.spark_master or options.spark_remote
        else cache_of(_own_java)
    )
    return Federation(catalog, client, keep=keep, max_age=max_age, cache=kept, history=history, java=java)


def _nobody_knows() -> None:
    """The version of the Java of a Spark elsewhere."""


def _own_java() -> int | None:
    """The version of the Java that Spark would run on here; None without one."""
    from fff.spark.start.java import find_java  # noqa: PLC0415 - few statements depend on it

    with suppress(SparkError):
        return find_java().version
    return None


def _loader() -> Loader:
    for entry in entry_points(group=_GROUP, name=_NAME):
        return cast("Loader", entry.load())
    raise UsageError(
        "nothing that reads source specs is installed", hint="install the package fff again: pip install fff"
    )
