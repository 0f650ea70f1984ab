"""Where the cache is, and whether it may be there."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from fff.errors import UsageError
from fff.limits import CACHE_BYTES

_KEY_BYTES = 32


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """`$XDG_CACHE_HOME/fff/rows`, `~/.cache/fff/rows` without it; None where there is no home either."""
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # the specification has relative ones ignored
        home = environ.get("HOME", "")
        if not home:
            return None
        base = Path(home) / ".cache"
    return base / "fff" / "rows"


def byte_limit(environ: Mapping[str, str]) -> int:
    """Bytes the cache may take: FFF_CACHE_MAX_BYTES, or `fff.limits.CACHE_BYTES`.

    Raises UsageError for no number.
    """
    text = environ.get("FFF_CACHE_MAX_BYTES", "")
    if not text:
        return CACHE_BYTES
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"FFF_CACHE_MAX_BYTES must be a number of bytes, not {text!r}")
    return int(text)


def made(folder: Path) -> bool:
    """Make the folder, for its owner alone; whether it may be used. Raises OSError."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)  # whatever the umask
    state = folder.stat()
    # Answers are taken from here: a folder that somebody else can write to is none.
    return state.st_uid == os.getuid() and not state.st_mode & 0o022


def secret_key(folder: Path) -> bytes:
    """The random key of this cache, made by whoever comes first. Raises OSError."""
    path = folder / "key"
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) == _KEY_BYTES:
        return key
    draft = folder / f"key.{secrets.token_hex(8)}.part"
    with private(draft) as file:
        file.write(secrets.token_bytes(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())  # what is signed by it is lost with it
    try:
        if key:  # damaged: nothing that was kept under it can be checked any more
            draft.replace(path)
        else:
            path.hardlink_to(draft)
    except FileExistsError:
        pass  # another process was first
    finally:
        draft.unlink(missing_ok=True)
    return path.read_bytes()


def replaced(path: Path, data: bytes) -> None:
    """Put data, for their owner alone, in the place of a file as a whole, or not at all. Raises OSError."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with private(draft) as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def private(path: Path):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a binary file; its type is private to io
    """A new file for its owner alone, whatever the umask, to be written. Raises OSError."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    path.chmod(0o600)
    return file


def unnamed(path: Path):  # type: ignore[no-untyped-def]  # noqa: ANN201 - as above
    """The same without a name until `name_file`, so that a killed process leaves nothing; with one where there is no such file. Raises OSError."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # not every file system has them
            number = os.open(path.parent, os.O_WRONLY | os.O_TMPFILE, 0o600)
            os.fchmod(number, 0o600)
            return os.fdopen(number, "wb")
    return private(path)


def name_file(file: IO[bytes], path: Path) -> None:
    """Give a file of `unnamed` its name. Raises OSError."""
    number = file.fileno()
    if os.fstat(number).st_nlink == 0:
        # Given a folder, which an absolute path has no need of, Python follows the link to the file.
        os.link(f"/proc/self/fd/{number}", path, src_dir_fd=number)
