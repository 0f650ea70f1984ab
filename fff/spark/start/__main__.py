"""`python -m fff.spark.start`: makes the archive, of this installation or of the JVM that the arguments name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fff.spark.start.cds_archive import Archive


def main(arguments: list[str]) -> int:
    """Make the archive: with no argument for this installation, else the one given; 0 when it is there."""
    if arguments:
        java, classpath, folder, key = arguments
        os.nice(19)
        return 0 if Archive(Path(java), classpath, Path(folder), key).make() else 1
    from fff.spark.session import SparkEngine  # noqa: PLC0415 - the background process has no need of it

    with SparkEngine() as engine:
        engine.wait()
        archive = engine.archive
    return 0 if archive is not None and archive.make() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
