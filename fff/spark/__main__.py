"""`python -m fff.spark`: asks Spark how many arguments each function takes, of which types, whether over a window, by names or in FROM; writes it down.

The answers, `fff/sql/syntax/function_arities.py` and `fff/sql/scalars/argument_types.py`, are checked in:
what is wrong is told before Spark is up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import fff.sql
from fff.errors import SparkError
from fff.spark.argument_types import KINDS, OF_UNITS, PROBED, SEVERAL, Prober
from fff.spark.session import SparkEngine
from fff.sql.refusals.types.kinds import NOTHING, WORDS
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.structs import lazy_pattern

#: Numbers of arguments that are tried: for one of them, functions that do not take any number tell theirs.
_TRIED = (12, 0)
_WRONG_COUNT = lazy_pattern(
    r"WRONG_NUM_ARGS\S* The `(\w+)` requires (?:\[([\d, ]+)\]|(\d+)|(>=?) (\d+)) parameters"
)
_FILE = Path(fff.sql.__file__).parent / "syntax" / "function_arities.py"
_HEAD = '''"""How many arguments Spark's functions take. Written by `python -m fff.spark`; do not edit.

`1,3` is one or three, `2+` two or more. A function that is not named here takes any number, or its grammar is its own.
"""

SPARK_VERSION = "{version}"
ARITIES = """
{lines}
"""
#: Functions that are nothing over a window.
WINDOWLESS = """
{windowless}
"""
#: Functions whose arguments may have names, and those that may stand in FROM.
TAKE_NAMES = """
{take_names}
"""
IN_FROM = """
{in_from}
"""
'''
_TYPES_FILE = Path(fff.sql.__file__).parent / "scalars" / "argument_types.py"
_TYPES_HEAD = '''"""Types that Spark's functions never take. Written by `python -m fff.spark`; do not edit.

`name:refused/refused:value` is a call of a function with as many arguments as there are places, the letters of the types
(`fff.sql.refusals.types.kinds`) that are refused in each of them, and that of its values, if it is one whatever is given.
`-` stands for no argument.
"""

SPARK_VERSION = "{version}"
ARGUMENT_TYPES = """
{lines}
"""
#: Of each operator and kind on its left, what the kinds on its right make of it: a kind, `!` where Spark
#: refuses it, `?` where more decides. On the right, or as types of a cast, kinds stand in this order.
ON_THE_RIGHT = "{kinds}"
OPERATORS = """
{operators}
"""
'''
#: Words of the grammar, which are asked about in vain.
_NO_CALLS = frozenset(
    {
        "and",
        "or",
        "not",
        "in",
        "between",
        "like",
        "ilike",
        "case",
        "when",
        "cast",
        "try_cast",
        "interval",
        "is",
    }
)


def _extended(name: str, arity: str, refusal: Callable[[str], str]) -> str:
    """The same with further numbers that Spark takes all the same: it does not tell of every form of a function."""
    counts = {int(one.rstrip("+")) for one in arity.split(",")}
    open_ended = arity.endswith("+")
    for count in range(min(counts) if open_ended else max(counts) + 2):
        if count not in counts and "WRONG_NUM_ARGS" not in refusal(_call(name, count)):
            counts.add(count)
    return ",".join(map(str, sorted(counts))) + "+" * open_ended


def _call(name: str, count: int) -> str:
    return f"SELECT {name}({', '.join(['NULL'] * count)})"


def arities(refusal: Callable[[str], str]) -> dict[str, str]:
    """What each function takes; `refusal` gives what Spark says of a query that it refuses."""
    taken = {}
    for name in sorted(SPARK_FUNCTIONS):
        for count in _TRIED:
            mismatch = _WRONG_COUNT.search(refusal(_call(name, count)))
            if mismatch is None or mismatch[1] != name:
                continue
            many = None if mismatch[5] is None else f"{int(mismatch[5]) + (mismatch[4] == '>')}+"
            taken[name] = _extended(name, many or (mismatch[2] or mismatch[3]).replace(" ", ""), refusal)
            break
    return taken


def windowless(counts: Mapping[str, str], refusal: Callable[[str], str]) -> list[str]:
    """The functions that Spark refuses over a window, whatever they are given."""
    refused = []
    for name in sorted(SPARK_FUNCTIONS - _NO_CALLS):
        numbers = [int(one.rstrip("+")) for one in counts.get(name, "1,2,3").split(",")]
        refusals = [refusal(f"{_call(name, number)} OVER (ORDER BY 1)") for number in numbers]
        if all("UNSUPPORTED_EXPR_FOR_WINDOW" in one for one in refusals):
            refused.append(name)
    return refused


def taking(written: str, error: str, counts: Mapping[str, str], refusal: Callable[[str], str]) -> list[str]:
    """The functions of which Spark does not say this error, written so."""
    least = {name: int(re.split(r"[,+]", one)[0]) or 1 for name, one in counts.items()}
    return [
        name
        for name in sorted(SPARK_FUNCTIONS - _NO_CALLS)
        if error not in refusal(written.format(name=name, ones=", ".join("1" * least.get(name, 1))))
    ]


def refusal(engine: SparkEngine, sql: str) -> str:
    """What Spark says of a query that it refuses; nothing where it does not."""
    try:
        engine.check(sql, {})
    except SparkError as error:
        return error.message
    return ""


def argument_types(prober: Prober, counts: Mapping[str, str]) -> list[str]:
    """What functions refuse; `counts` as `arities` gives them."""
    entries = list[str | None]()
    for name in sorted(SPARK_FUNCTIONS - _NO_CALLS):
        arity = counts.get(name, "1,2,3")
        known = {int(one.rstrip("+")) for one in arity.split(",")} | (
            {max(2, int(arity[:-1].split(",")[-1])) + 1} if arity.endswith("+") else set()
        )
        for count in sorted(known - {0} if name in SEVERAL else known & {1}):
            entries.append(prober.entry(name, count))
        if 0 in known or name not in counts:
            [value] = prober.outcomes([f"{name}()"])
            entries.append(f"{name}:{NOTHING}:{value}" if value in WORDS else None)
        if name in OF_UNITS:
            entries.append(prober.entry(name, 2, "DAY"))
    return list(filter(None, entries))


def _lines(entries: Iterable[str]) -> str:
    lines, line = [], ""
    for entry in entries:
        if len(line) + len(entry) > 100:
            lines.append(line)
            line = ""
        line = f"{line} {entry}".strip()
    return "\n".join([*lines, line])


def main() -> None:
    """Write the files."""
    with SparkEngine() as engine:
        engine.wait()
        arity_of = arities(lambda sql: refusal(engine, sql))
        version = engine.run_over("SELECT version()", {}).column(0)[0].as_py().split()[0]
        engine.frame(PROBED).createOrReplaceTempView("probed")
        prober = Prober(lambda calls: engine.judged(calls, "probed"))
        types, operators = argument_types(prober, arity_of), prober.operators()
        alone = windowless(arity_of, lambda sql: refusal(engine, sql))
        named, in_from = (
            taking(written, error, arity_of, lambda sql: refusal(engine, sql))
            for written, error in (
                ("SELECT {name}(fff_none => 1)", "[NAMED_PARAMETERS_NOT_SUPPORTED]"),
                ("SELECT * FROM {name}({ones})", "[NOT_A_TABLE_FUNCTION]"),
            )
        )
    counts = _lines(f"{name}:{counts}" for name, counts in arity_of.items())
    _FILE.write_text(
        _HEAD.format(
            version=version,
            lines=counts,
            windowless=_lines(alone),
            take_names=_lines(named),
            in_from=_lines(in_from),
        ),
        encoding="utf-8",
    )
    _TYPES_FILE.write_text(
        _TYPES_HEAD.format(
            version=version, lines=_lines(types), kinds="".join(KINDS), operators=_lines(operators)
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
