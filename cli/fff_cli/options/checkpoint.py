"""`--checkpoint` and `fff resume`: what a command was, in the folder with what its sources have answered."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fff.access.disk.folder import replaced
from fff.access.disk.journal import is_empty
from fff.errors import UsageError
from fff.structs import Struct, lazy_pattern, replace
from fff_cli.options.arguments import QueryArguments

_ABOUT, _FORMAT = "statement.json", 1
_ADDED = "added"  # names the file that the result has been added to
#: What a checkpoint has in its folder, the drafts that a killed run leaves, and what was damaged.
_OWN = lazy_pattern(r"\.?(?:statement\.json|added|journal|key|rows)(?:\.\w+\.part|\.broken)?")


class Begun(Struct, frozen=True):
    """A command as it was typed: its arguments, the texts of its SQL, where it ran, and the seed of its random numbers."""

    arguments: tuple[str, ...]
    texts: tuple[str, ...]
    folder: str
    seed: int | None

    def with_more(self, options: Sequence[str]) -> list[str]:
        """Its arguments and more options, which count in place of the same before them, and are none behind a `--`."""
        words = [*self.arguments]
        end = words.index("--") if "--" in words else len(words)
        return [*words[:end], *options, *words[end:]]

    def enter(self) -> None:
        """Make where it ran the current folder: its paths start there. Raises UsageError where it is gone."""
        try:
            os.chdir(self.folder)
        except OSError as error:
            raise UsageError(f"cannot go on in {self.folder!r}: {error.strerror}") from error


def check(arguments: QueryArguments) -> None:
    """Raise UsageError for options that exclude a checkpoint, and for a folder that holds one."""
    if arguments.checkpoint is None:
        return
    begun = (arguments.checkpoint / _ABOUT).exists() and not is_empty(arguments.checkpoint)
    if begun and not arguments.texts:
        raise UsageError(
            f"{str(arguments.checkpoint)!r} holds a checkpoint already",
            hint=f"go on with it by fff resume {arguments.checkpoint}, or name another folder",
        )
    if arguments.append and _added_to(arguments.checkpoint) == _output_of(arguments):
        raise UsageError(
            f"the result of {str(arguments.checkpoint)!r} has been added to {str(arguments.output_file)!r}",
            hint="--upsert COLUMNS adds no row twice; or name another file with -O",
        )
    if (strange := _strange(arguments.checkpoint)) is not None:
        raise UsageError(
            f"{str(arguments.checkpoint)!r} holds other things than a checkpoint: {strange!r}",
            hint="name a folder for it alone, which need not be there",
        )
    excluded = {
        "--record": arguments.record,
        "--replay": arguments.replay,
        "--cache": arguments.cache,
        "--cache-ttl": arguments.cache_ttl,
    }
    for name, value in excluded.items():
        if value not in (None, False):
            raise UsageError(
                f"--checkpoint and {name} exclude each other", hint="a checkpoint keeps all answers"
            )


def adds(arguments: QueryArguments) -> None:
    """Note that the result is about to be added to its file: going on later must not do so again. Raises UsageError."""
    if arguments.checkpoint is None or not arguments.append:
        return
    try:
        replaced(arguments.checkpoint / _ADDED, _output_of(arguments))
    except OSError as error:
        raise UsageError(f"cannot write to {str(arguments.checkpoint)!r}: {error.strerror}") from error


def _added_to(folder: Path) -> bytes | None:
    try:
        return (folder / _ADDED).read_bytes()
    except OSError:
        return None


def _output_of(arguments: QueryArguments) -> bytes:
    return os.fsencode(os.path.realpath(arguments.output_file or ""))


def _strange(folder: Path) -> str | None:
    """What is in a folder that no checkpoint has; one that was killed early has not all that one has. Raises UsageError."""
    try:
        names = sorted(one.name for one in folder.iterdir())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot use {str(folder)!r}: {error.strerror}") from error
    return next((name for name in names if not _OWN.fullmatch(name)), None)


def begin(folder: Path, typed: Sequence[str], texts: Sequence[str], seed: int | None) -> None:
    """Write down what is begun, in a folder that is there. Raises UsageError where it cannot be."""
    file = folder / _ABOUT
    about = {
        "format": _FORMAT,
        "arguments": list(typed),
        "sql": list(texts),
        "folder": str(Path.cwd()),
        "seed": seed,
    }
    try:
        replaced(file, json.dumps(about).encode())
    except OSError as error:
        raise UsageError(f"cannot write to {str(folder)!r}: {error.strerror}") from error


def read(folder: Path) -> Begun:
    """What was begun with a folder as its checkpoint. Raises UsageError where there is none."""
    try:
        about: dict[str, Any] = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        if about["format"] != _FORMAT:
            raise UsageError(f"the checkpoint in {str(folder)!r} is of another version of FFF")
        return Begun(tuple(about["arguments"]), tuple(about["sql"]), about["folder"], about["seed"])
    except FileNotFoundError:
        hint = "name the folder that --checkpoint was given"
        raise UsageError(f"there is no checkpoint in {str(folder)!r}", hint=hint) from None
    except OSError as error:
        raise UsageError(f"cannot read {str(folder / _ABOUT)!r}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{str(folder / _ABOUT)!r} is damaged") from None


def gone_on(arguments: QueryArguments, begun: Begun) -> QueryArguments:
    """The arguments with the SQL and the seed of the command that is gone on with."""
    seed = arguments.run.seed if arguments.run.seed is not None else begun.seed
    return replace(arguments, sql=None, files=(), texts=begun.texts, run=replace(arguments.run, seed=seed))
