"""Where results go that `-O` names: a file that appears when it is whole, or a device, written as it is."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from fff.errors import UsageError
from fff.structs import lazy_pattern
from fff_cli.run.descriptors import was_given

try:
    import fcntl
except ImportError:  # Windows: what a killed process leaves stays until somebody removes it
    fcntl = None  # type: ignore[assignment]

_ELSEWHERE = "name a file in a folder that is there and may be written to"
#: How temporary files end, so that they can be told from anybody else's.
TEMPORARY = ".fff-tmp"
#: How that of them ends which is there no more, while another takes its place.
OLD = f".old{TEMPORARY}"
_PLACE = lazy_pattern(rf"\.(.+)\.[^.]+{re.escape(OLD)}")
#: Seconds after which a temporary file that nobody holds open belongs to nobody.
_ABANDONED_S = 60.0
#: How that ends in which the statement of a result is kept beside it.
STATEMENT = ".fff.json"


class Target(Protocol):
    """Where result bytes go."""

    out: BinaryIO

    def flush(self) -> None:
        """Send on what was written, where that is seen before the end."""

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """The result may be seen; `aside`: where it takes no other's place.

        Returns what is to be said of it, if anything.
        """

    def drop(self) -> None:
        """There is no result: leave nothing behind."""


class NewFile:
    """A file written under a temporary name in its own folder, and renamed once the result may be seen.

    A partial result goes to a name of its own beside it, which a whole one removes that takes the place of
    all that is there. What killed processes have left under temporary names in that folder is removed on the
    way.
    """

    def __init__(self, path: Path) -> None:
        self._name = path
        self._alone = True
        self._path = Path(os.path.realpath(path))  # a link keeps pointing where it did
        self._beside = partial_of(path)
        if self._path.is_dir():
            raise UsageError(f"cannot write {str(path)!r}: it is a folder", hint=_ELSEWHERE)
        sweep(self._path.parent)
        try:
            handle, name = tempfile.mkstemp(
                prefix=f".{self._path.name}.", suffix=TEMPORARY, dir=self._path.parent
            )
        except OSError as error:
            raise UsageError(f"cannot write {str(path)!r}: {error.strerror}", hint=_ELSEWHERE) from error
        claimed(handle)
        self._temporary = Path(name)
        self.out: BinaryIO = os.fdopen(handle, "wb")

    def among_others(self, cut: int = 0) -> Self:
        """It holds what others have put there, of whose partial results, so many, each keeps its name."""
        self._alone = False
        self._beside = partial_of(self._name, cut + 1)
        return self

    def written(self) -> Path:
        """What has been written so far, under its temporary name."""
        self.out.flush()
        return self._temporary

    def flush(self) -> None:
        """Nobody sees the file yet."""

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """Rename it into place, with the permissions a new file has (an old one keeps its own)."""
        path = self._beside if aside else self._path
        self.out.flush()
        if fcntl is None:
            self.out.close()  # there, no open file can be renamed
        self._temporary.chmod(mode_of(path, 0o666))
        self._temporary.replace(path)
        self.out.close()
        if aside:
            return put_aside(self._beside, self._name)
        return self._without_partial() if whole and self._alone else None

    def _without_partial(self) -> str | None:
        """Remove the partial result that an earlier run has left, now that the whole one is there."""
        if self._beside.is_symlink() or not self._beside.is_file():
            return None
        with contextlib.suppress(OSError):
            self._beside.unlink()
            return f"removed {str(self._beside)!r}, which an earlier run had left: the result is whole"
        return None

    def drop(self) -> None:
        """Delete it."""
        with contextlib.suppress(OSError):  # a full disk fails the flush of close; the file goes all the same
            self.out.close()
        self._temporary.unlink(missing_ok=True)


class SpecialFile:
    """A device, a named pipe or an open file (/dev/stdout) given with -O: written as it is, since it cannot be renamed over."""

    def __init__(self, path: Path) -> None:
        try:
            number = _open_file(path)
            # An open file goes on where it is: opening it by its name would empty what others write to.
            self.out: BinaryIO = path.open("wb") if number is None else os.fdopen(os.dup(number), "wb")
        except OSError as error:
            raise UsageError(f"cannot write {str(path)!r}: {error.strerror}", hint=_ELSEWHERE) from error

    def flush(self) -> None:
        """Send on what was written."""
        self.out.flush()

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """Close it."""
        del aside, whole  # what was written cannot be written elsewhere
        self.out.close()
        return None

    def drop(self) -> None:
        """Close it."""
        with contextlib.suppress(OSError):  # already told by whoever failed to write
            self.out.close()


class PartOfFile:
    """One of several results in one file, which is kept or dropped as a whole by whoever opened it."""

    def __init__(self, file: Target) -> None:
        self._file = file
        self.out: BinaryIO = file.out

    def flush(self) -> None:
        """Send on what was written, where it is seen before the end."""
        self._file.flush()

    def keep(self, *, aside: bool = False, whole: bool = True) -> str | None:
        """The others decide as well."""
        del aside, whole
        return None

    def drop(self) -> None:
        """The others decide as well."""


def mode_of(path: Path, fresh: int) -> int:
    """The permissions that what takes the place of a path has: its own, or those that anything fresh has."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    umask = os.umask(0)
    os.umask(umask)
    return fresh & ~umask


def partial_of(path: Path, number: int = 1) -> Path:
    """Where a partial result lies beside a whole one; `number`: of several."""
    more = f".{number}" if number > 1 else ""
    return Path(f"{os.path.realpath(path) if path.is_symlink() else path}{more}.partial")


def check_report(report: Path | None, result: Path | None) -> None:
    """Raise UsageError where no report can be written, or only in the place of a result."""
    if report is None or is_special(report):
        return
    why, hint = "", "name a file in a folder that is there with --report"
    if report.is_dir():
        why = "it is a folder"
    elif not report.resolve().parent.is_dir():
        why = "there is no such folder"
    elif result is not None:
        taken = (result, partial_of(result), Path(f"{result}{STATEMENT}"))
        if os.path.realpath(report) in map(os.path.realpath, taken):
            why, hint = "the result is written there", "name another file with --report"
    if why:
        raise UsageError(f"cannot write {str(report)!r}: {why}", hint=hint)


def put_aside(beside: Path, name: Path) -> str:
    """What is said of a partial result that is not where it was to go."""
    note = f"the partial result is in {str(beside)!r}"
    return f"{note}; {str(name)!r} is as it was" if Path(os.path.realpath(name)).exists() else note


def file_target(path: Path) -> Target:
    """Where `-O path` writes; raises UsageError when that cannot be."""
    return SpecialFile(path) if is_special(path) else NewFile(path)


def is_folder(file: str) -> bool:
    """Whether what `-O` names is written as a folder: with a slash at its end."""
    return file.endswith(("/", os.sep))


def is_special(path: Path) -> bool:
    """Whether a path names no file that can be renamed over: a device, a named pipe or an open file."""
    special = path.exists() and not path.is_file() and not path.is_dir()
    return special or _open_file(path) is not None


def _open_file(path: Path) -> int | None:
    """The number of the open file of this process that a path names, if it names one.

    Raises UsageError where nobody has opened it for this process, which may have one of that number itself.
    """
    match path.parts:
        case ("/", "dev", "stdout"):
            number = 1
        case ("/", "dev", "stderr"):
            number = 2
        case ("/", "dev", "fd", text) | ("/", "proc", "self", "fd", text) if text.isdecimal():
            number = int(text)
        case _:
            return None
    if not was_given(number):
        raise UsageError(
            f"cannot write {str(path)!r}: it is not open",
            hint=f"open it for the command, as in {number}>FILE, or name a file",
        )
    return number


def claimed(handle: int) -> bool:
    """Mark an open file as in use, as long as it is open in this process; False where another process uses it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # in use, or on a file system that knows no locks
        return False
    return True


def sweep(folder: Path) -> None:
    """Remove temporary files and folders of processes that are gone, and put back what they were about to replace.

    What cannot be removed stays.
    """
    with contextlib.suppress(OSError):
        for path in folder.glob(f".*{TEMPORARY}"):
            with contextlib.suppress(OSError):
                _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    plain = (path.is_file() or path.is_dir()) and not path.is_symlink()
    if not plain or time.time() - path.stat().st_mtime < _ABANDONED_S:
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        if not claimed(handle):
            return
        taken = _PLACE.fullmatch(path.name)
        if taken is not None and not path.with_name(taken[1]).exists():
            path.rename(path.with_name(taken[1]))
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    finally:
        os.close(handle)
