"""The class-data-sharing archive: Spark's classes, parsed and verified once, mapped into memory at every later start.

Reading and verifying 15,000 classes is more than half of Spark's start. The JVM can keep the outcome in a
file, which takes it some 30 seconds of one core and 180 MB in the user's cache folder. So it is made once per
installation, and only where it will pay: the first cold start leaves the list of the classes it loaded, and
the second one to end well has the archive made in the background, at the lowest priority.
`python -m fff.spark.start` makes it at once. FFF_SPARK_ARCHIVE=read uses one that is there but makes none,
FFF_SPARK_ARCHIVE=off does without. An archive that does not fit its Java or its jars is ignored by the JVM
itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fff.spark.start.java import Java

#: Half-made archives and locks older than this were left by a process that was killed.
_STALE_S = 600.0
_MAKE_TIMEOUT_S = 300.0
_ROOM_NEEDED_BYTES = 1 << 30
#: A start that failed to record leaves a short list, of which no archive is worth making.
_FEWEST_CLASSES = 5_000


@dataclass(frozen=True)
class Archive:
    """Where the archive of one Java and one set of jars is, or would be."""

    java: Path
    classpath: str
    folder: Path
    key: str
    read_only: bool = False  # never made in the background

    @property
    def file(self) -> Path:
        """The archive; it exists only in full."""
        return self.folder / f"{self.key}.jsa"

    @property
    def classes(self) -> Path:
        """The class list of the first cold start."""
        return self.folder / f"{self.key}.classes"

    def flags(self, recording: Path) -> list[str]:
        """JVM flags for a start: use the archive, or else record the class list into the given file."""
        if self.file.exists():
            return ["-Xshare:auto", f"-XX:SharedArchiveFile={self.file}"]
        return [] if self.read_only or self.classes.exists() else [f"-XX:DumpLoadedClassList={recording}"]

    def discard(self) -> None:
        """Forget an archive that broke a start, and the list it came from."""
        with contextlib.suppress(
            OSError
        ):  # a folder that turned read-only keeps it; the next start tries again
            self.file.unlink(missing_ok=True)
            self.classes.unlink(missing_ok=True)

    def keep_classes(self, recording: Path) -> bool:
        """Keep the class list a start recorded; False when it recorded none."""
        try:
            # The JVM was killed while it may have been writing the last line.
            lines = recording.read_bytes().rpartition(b"\n")[0]
            if lines.count(b"\n") < _FEWEST_CLASSES:
                return False
            temporary = self.classes.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_bytes(lines + b"\n")
            temporary.replace(self.classes)
        except OSError:  # nothing recorded, or a full disk: the next cold start records again
            return False
        return True

    def make_in_background(self) -> None:
        """Have the archive made by a process of its own, where a class list is there and no archive yet."""
        if self.read_only or self.file.exists() or not self.classes.exists() or self._lock.exists():
            return
        with contextlib.suppress(OSError):
            subprocess.Popen(  # noqa: S603 - ourselves
                [
                    sys.executable,
                    "-m",
                    "fff.spark.start",
                    str(self.java),
                    self.classpath,
                    str(self.folder),
                    self.key,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.folder,
            ).returncode = 0  # ours no longer: nobody waits for it, and it is no leak

    def make(self) -> bool:
        """Make the archive now, unless another process is at it; True when it is there in the end."""
        if self.file.exists():
            return True
        temporary = self.file.with_suffix(f".{os.getpid()}.tmp")
        try:
            if shutil.disk_usage(self.folder).free < _ROOM_NEEDED_BYTES:
                return False
            os.close(os.open(self._lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:  # taken, or not writable
            return False
        try:
            self._sweep()
            made = subprocess.run(  # noqa: S603 - the Java found by find_java
                [
                    self.java,
                    "-Xshare:dump",
                    "-Xlog:disable",
                    f"-XX:SharedClassListFile={self.classes}",
                    f"-XX:SharedArchiveFile={temporary}",
                    "-cp",
                    self.classpath,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_MAKE_TIMEOUT_S,
                check=False,
            )
            if made.returncode == 0:
                temporary.replace(self.file)
        except (OSError, subprocess.TimeoutExpired):
            return False
        finally:
            temporary.unlink(missing_ok=True)
            self._lock.unlink(missing_ok=True)
        return self.file.exists()

    def unlock_stale(self) -> None:
        """Remove the lock of a process that was killed while it made the archive."""
        with contextlib.suppress(OSError):  # there is none, as nearly always
            if time.time() - self._lock.stat().st_mtime > _STALE_S:
                self._lock.unlink()

    @property
    def _lock(self) -> Path:
        return self.folder / f"{self.key}.lock"

    def _sweep(self) -> None:
        """Remove what earlier installations and killed processes left."""
        for path in self.folder.iterdir():
            if path.name.startswith(self.key) and not path.name.endswith(".tmp"):
                continue
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE_S:
                    path.unlink()


def private_folder(env: Mapping[str, str]) -> Path | None:
    """Where Spark's start keeps files of this user; None where there is no cache folder, or it is not this user's."""
    cache = env.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # noqa: PTH117 - the specification has relative ones ignored
        home = env.get("HOME", "")
        cache = os.path.join(home, ".cache") if home else ""  # noqa: PTH118
    if not cache:
        return None
    folder = Path(cache) / "fff" / "spark"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Code is loaded from here: a folder that others may write to is none.
        state = folder.stat()
    except OSError:
        return None
    ours = state.st_uid == os.getuid() and not state.st_mode & 0o022 and os.access(folder, os.W_OK)
    return folder if ours else None


def archive_for(java: Java, jars: Path, env: Mapping[str, str] | None = None) -> Archive | None:
    """The archive of a Java and a folder of jars; None where there is no cache folder, or it is not this user's."""
    env = os.environ if env is None else env
    wish = env.get("FFF_SPARK_ARCHIVE", "")
    folder = None if wish == "off" else private_folder(env)
    if folder is None:
        return None
    try:
        binary = java.binary.resolve()
        stamp = f"{binary}:{binary.stat().st_mtime_ns}:{java.version}:{jars}:{jars.stat().st_mtime_ns}"
    except OSError:
        return None
    archive = Archive(
        java.binary,
        str(jars / "*"),
        folder,
        f"java{java.version}-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}",
        read_only=wish == "read",
    )
    archive.unlock_stale()
    return archive
