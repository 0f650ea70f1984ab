"""`python -m fff.spark`: asks Spark how many arguments each of its functions takes, and writes it down.

The answer is `fff/sql/syntax/function_arities.py`, which is checked in, so that a wrong number is told before
Spark is up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import fff.sql
from fff.errors import SparkError
from fff.spark.session import SparkEngine
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS

#: Numbers of arguments that are tried: for one of them, functions that do not take any number say how many
#: they take.
_TRIED = (12, 0)
_TOLD = re.compile(r"WRONG_NUM_ARGS\S* The `(\w+)` requires (?:\[([\d, ]+)\]|(\d+)|(>=?) (\d+)) parameters")
_FILE = Path(fff.sql.__file__).parent / "syntax" / "function_arities.py"
_HEAD = '''"""How many arguments Spark's functions take. Written by `python -m fff.spark`; do not edit.

`1,3` is one or three, `2+` two or more. A function that is not named here takes any number, or its grammar is its own.
"""

SPARK_VERSION = "{version}"
ARITIES = """
{lines}
"""
'''


def _extended(name: str, told: str, refusal: Callable[[str], str]) -> str:
    """The same with further numbers that Spark takes all the same: it does not tell of every form of a function."""
    counts = {int(one.rstrip("+")) for one in told.split(",")}
    open_ended = told.endswith("+")
    for count in range(min(counts) if open_ended else max(counts) + 2):
        if count not in counts and "WRONG_NUM_ARGS" not in refusal(_call(name, count)):
            counts.add(count)
    return ",".join(map(str, sorted(counts))) + "+" * open_ended


def _call(name: str, count: int) -> str:
    return f"SELECT {name}({', '.join(['NULL'] * count)})"


def arities(refusal: Callable[[str], str]) -> dict[str, str]:
    """What each function takes; `refusal` gives what Spark says of a query that it refuses."""
    by_function = {}
    for name in sorted(SPARK_FUNCTIONS):
        for count in _TRIED:
            told = _TOLD.search(refusal(_call(name, count)))
            if told is None or told[1] != name:
                continue
            many = None if told[5] is None else f"{int(told[5]) + (told[4] == '>')}+"
            by_function[name] = _extended(name, many or (told[2] or told[3]).replace(" ", ""), refusal)
            break
    return by_function


def refusal(engine: SparkEngine, sql: str) -> str:
    """What Spark says of a query that it refuses; nothing where it does not."""
    try:
        engine.check(sql, {})
    except SparkError as error:
        return error.message
    return ""


def main() -> None:
    """Write the file."""
    with SparkEngine() as engine:
        engine.wait()
        by_function = arities(lambda sql: refusal(engine, sql))
        version = engine.run_over("SELECT version()", {}).column(0)[0].as_py().split()[0]
    lines, line = [], ""
    for name, counts in by_function.items():
        entry = f"{name}:{counts}"
        if len(line) + len(entry) > 100:
            lines.append(line)
            line = ""
        line = f"{line} {entry}".strip()
    _FILE.write_text(_HEAD.format(version=version, lines="\n".join([*lines, line])), encoding="utf-8")


if __name__ == "__main__":
    main()
