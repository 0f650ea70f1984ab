"""From spec files to a federation. What reads specs is found through the entry-point group `fff.loaders`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

from fff.cache.keeping import row_cache
from fff.catalog import Catalog
from fff.engine import Federation
from fff.errors import UsageError
from fff.web.client import WebClient

_GROUP, _NAME = "fff.loaders", "specs"

Source = str | os.PathLike[str]


class Loader(Protocol):
    """What the entry point `specs` of the group `fff.loaders` names."""

    def __call__(
        self, paths: Sequence[Path], *, environ: Mapping[str, str], cwd: Path, client: WebClient
    ) -> Catalog:
        """The tables of the spec files and folders or, without any, of the usual places. Raises UsageError."""


def open_federation(
    sources: Sequence[Source],
    *,
    keep: bool = False,
    cache: bool | None = None,
    cache_ttl: float | None = None,
) -> Federation:
    """A federation over the given spec files and folders or, without any, over those of the usual places.

    `keep` is that of `Federation`; `cache` and `cache_ttl` are as for `row_cache`. Nothing is sent. Raises SpecError for a spec that is wrong, UsageError for a path that is not there.
    """
    kept = row_cache(os.environ, enabled=cache, ttl=cache_ttl)
    client = WebClient()
    catalog = _loader()(
        [Path(source) for source in sources], environ=os.environ, cwd=Path.cwd(), client=client
    )
    return Federation(catalog, client, keep=keep, cache=kept)


def _loader() -> Loader:
    for entry in entry_points(group=_GROUP, name=_NAME):
        return cast("Loader", entry.load())
    raise UsageError(
        "nothing that reads source specs is installed", hint="install the package fff again: pip install fff"
    )
