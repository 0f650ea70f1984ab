"""The demo query as a job of a Spark cluster: a program of its own. Prints its rows as JSON.

Arguments: the master, as of `tests.api.enriching_program`, and the spec.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import fff
from fff_sources.demo import QUERY
from tests.api.enriching_program import TASKS, session_on


def main(master: str, spec: str) -> None:
    with tempfile.TemporaryDirectory() as folder, session_on(master, Path(folder)) as session:
        rows = fff.read(QUERY, spark=session, sources=[Path(spec)], partitions=TASKS).collect()
        print(json.dumps([list(row) for row in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
