"""`--cache` and `--cache-ttl`, as `open_federation` takes them."""

from __future__ import annotations

import os

from fff.errors import UsageError
from fff.options import OpenOptions
from fff_cli.options.arguments import QueryArguments


def check_cache(cache: bool | None, cache_ttl: float | None) -> None:
    """Raise UsageError for options that exclude each other."""
    if cache is False and cache_ttl is not None:
        raise UsageError("--no-cache and --cache-ttl exclude each other", hint="use one of the two")


def cache_of(arguments: QueryArguments) -> OpenOptions:
    """The cache to use as `open_federation` takes it. Raises UsageError.

    A recording holds all that a query asks for, and what is replayed is no answer of today: neither knows a
    cache.
    """
    check_cache(arguments.cache, arguments.cache_ttl)
    if arguments.record is not None or arguments.replay is not None:
        if arguments.cache or arguments.cache_ttl is not None:
            raise UsageError(
                "--record and --replay exclude --cache and --cache-ttl",
                hint="what was recorded is all they read; leave those out",
            )
        return {"cache": False}
    if arguments.checkpoint is not None:
        return {"cache": False}
    if arguments.refreshable and arguments.cache is None:
        # What is asked for again is sent only if it has changed, where the source can tell.
        return {"cache": True, "cache_ttl": arguments.cache_ttl}
    if (arguments.cache or arguments.cache_ttl is not None) and not arguments.quiet:
        _warn_of_no_place(in_json=arguments.progress == "json")
    return {"cache": arguments.cache, "cache_ttl": arguments.cache_ttl}


def _warn_of_no_place(*, in_json: bool) -> None:
    """Tell where nothing can be kept: runs go on without."""
    from fff.access.disk.folder import cache_folder, made  # noqa: PLC0415
    from fff_cli.run.progress import JsonLines, Progress  # noqa: PLC0415

    folder = cache_folder(os.environ)
    try:
        usable = folder is not None and made(folder) and os.access(folder, os.W_OK)
    except OSError:
        usable = False
    if not usable:
        where = f"in {str(folder)!r}" if folder is not None else "without a home folder"
        told = JsonLines() if in_json else Progress()
        told.warn(f"nothing can be kept {where}: set XDG_CACHE_HOME to a folder of yours")
