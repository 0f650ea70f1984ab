"""`python tests/sql/refused_statements.py FOLDER > FILE`: statements of SQL files that Spark itself refuses.

Each file is read with a database of its own, in a session as FFF has them; what makes tables and views is run, queries are
analyzed, and run where a pattern of moments may be refused. Printed are those refused for what is called in them, one a
line, blanks made one: not those that lack a table, a column or a function, which something else may have made. `scalar_coverage.py --refused FILE` leaves them out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from scalar_coverage import one_line, statements

from fff.spark.session import SparkEngine

_MAKES = re.compile(r"\s*(create|drop|use|declare)\b", re.IGNORECASE)
#: Whose patterns Spark looks at when it runs.
_PATTERNED = re.compile(
    r"date_format|to_char|to_varchar|to_timestamp|to_date|unix_time|unixtime", re.IGNORECASE
)
_PATTERN = re.compile(r"\[(INCONSISTENT_BEHAVIOR_CROSS_VERSION|INVALID_DATETIME_PATTERN)")
_ASKS = re.compile(r"[\s(]*(select|with|values|from|table)\b", re.IGNORECASE)
#: What may be missing because something else was not run here.
_MISSING = re.compile(
    r"\[(TABLE_OR_VIEW_NOT_FOUND|UNRESOLVED_|SCHEMA_NOT_FOUND|MISSING_|ROUTINE_NOT_FOUND|UNBOUND_|CATALOG_)"
)


def refused(session: object, text: str) -> list[str]:
    """The queries of a file that Spark refuses."""
    found = []
    for part in statements(text):
        makes = _MAKES.match(part) is not None
        if not makes and not _ASKS.match(part):
            continue
        try:
            asked = session.sql(part)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - of whatever class, it is told
            if not makes and not _MISSING.search(str(error)):
                found.append(one_line(part))
            continue
        if makes or not _PATTERNED.search(part):
            continue
        try:
            asked.collect()
        except Exception as error:  # noqa: BLE001 - as above
            if _PATTERN.search(str(error)):
                found.append(one_line(part))
    return found


def main() -> None:
    """Prints the statements."""
    with SparkEngine() as spark:
        spark.wait()
        session = spark._session.spark
        for number, path in enumerate(sorted(Path(sys.argv[1]).rglob("*.sql"))):
            own = session.newSession()
            own.sql(f"CREATE DATABASE IF NOT EXISTS db{number}")
            own.sql(f"USE db{number}")
            for one in refused(own, path.read_text(encoding="utf-8", errors="replace")):
                print(one, flush=True)
            print(path.name, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
