"""Many random expressions beside Spark, fast: `python tests/sql/scalar_sweep.py --count 100000 --seed 7`.

Those of `property_scalars`, and others that look at no types: any function over anything, texts to cast, patterns of
LIKE and regular expressions, and whatever is written where numbers are. What the engine takes of them has to be what
Spark says, so that Spark's refusals, too, are differences. Prints each difference, and at the end how many there were.

Spark interprets most of it: making Java of an expression takes a hundred times as long as reckoning with it. Of one
round in `COMPILED` it makes Java. `not_raised` is asked of a share of the expressions that fail.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from property_scalars import Taken, apart, differences, not_raised, taken, written
from property_values import LEFT, rows
from written_texts import written_text

from fff.errors import QueryError
from fff.spark import bridge
from fff.spark.session import SparkEngine
from fff.sql.scalars.functions import FUNCTIONS, SYNONYMS
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.spark_functions import check_arguments

#: Expressions and rows of a round; each has rows of its own.
ROUND, ROWS = 600, 60
COMPILED = 40
#: Of the expressions that fail on some row, one in so many is asked whether Spark fails there, too.
_RAISED = 30
#: Of those that are taken, one in so many is asked about some of the rows alone, too.
_ALONE = 4
_NAMES = (
    *FUNCTIONS,
    *SYNONYMS,
    *("coalesce", "if", "ifnull", "nvl", "nvl2", "nullif", "greatest", "least", "round", "bround", "floor"),
    *("ceil", "sign", "sqrt", "abs", "negative", "size", "concat", "concat_ws", "element_at", "isnull"),
    *("try_element_at", "split", "regexp_extract", "regexp_replace", "array", "array_contains", "isnotnull"),
    *("pmod", "try_add", "try_divide", "try_mod", "date_part", "make_date", "equal_null", "isnan", "mod"),
    *("int", "bigint", "string", "double", "decimal", "date", "timestamp", "boolean", "tinyint", "float"),
    *("array_append", "array_compact", "array_distinct", "array_except", "array_insert", "array_intersect"),
    *(
        "array_join",
        "array_max",
        "array_min",
        "array_position",
        "array_prepend",
        "array_remove",
        "array_repeat",
    ),
    *("array_sort", "array_union", "arrays_overlap", "arrays_zip", "flatten", "get", "sequence", "slice"),
    *("sort_array", "map", "map_concat", "map_contains_key", "map_entries", "map_from_arrays", "map_keys"),
    *("map_from_entries", "map_values", "struct", "make_dt_interval", "width_bucket", "getbit", "typeof"),
)
_FIELDS = tuple(field.name for field in LEFT.columns)
_CONSTANTS = (
    *("NULL", "TRUE", "FALSE", "0", "1", "-1", "2", "7", "-2147483648", "2147483647", "2147483648", "127"),
    *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.0", "0.5", "-0.0", "1e0"),
    *("1e300", "-1e-300", "0.1", "1.50", "99999999999999999999999999999999999999", "1L", "2S", "3Y", "1.5BD"),
    *("1.5D", "1.5F", "''", "' '", "'a'", "'A'", "'5'", "' -5 '", "'1e2'", "'é'", "'ß'", "'2020-02-29'"),
    *("DATE '2020-02-29'", "DATE '0001-01-01'", "DATE '9999-12-31'", "TIMESTAMP '1582-10-10 01:02:03.4Z'"),
    *("TIMESTAMP_NTZ '2020-03-08 02:30:00'", "CAST(NULL AS INT)", "CAST(NULL AS STRING)", "array(1, 2)"),
    *(
        "array(NULL)",
        "array('a', s)",
        "map(1, i)",
        "(i, s)",
        "array(st, NULL)",
        "array(a, array(1))",
        "named_struct('k', 1)",
        "X'61'",
        "'%'",
        "'YEAR'",
        "'MM'",
        "'MO'",
        "CAST(1 AS DECIMAL(38,0))",
    ),
)
_TYPES = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BOOLEAN", "DATE", "TIMESTAMP"),
    *(
        "TIMESTAMP_NTZ",
        "BINARY",
        "DECIMAL",
        "DECIMAL(5,2)",
        "DECIMAL(38,0)",
        "DECIMAL(38,18)",
        "DECIMAL(3,3)",
    ),
    *("DECIMAL(20,4)", "DECIMAL(1,0)", "VARCHAR(3)", "ARRAY<STRING>"),
)
_OPERATORS = (
    *(
        "+",
        "-",
        "*",
        "/",
        "%",
        "div",
        "&",
        "|",
        "^",
        "||",
        "=",
        "==",
        "<>",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "<=>",
    ),
    *(
        "AND",
        "OR",
        "LIKE",
        "RLIKE",
        "ILIKE",
        "IS DISTINCT FROM",
        "IS NOT DISTINCT FROM",
        "NOT LIKE",
        "<<",
        ">>",
    ),
)
_PARTS = ("YEAR", "MONTH", "DAY", "DOW", "DOY", "WEEK", "HOUR", "MINUTE", "SECOND", "QUARTER", "YEAROFWEEK")
_UNITS = (
    "DAY",
    "DAYS",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
    "YEARS",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
)
_REGEX = (
    *(
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        r"\\d",
        r"\\w",
        r"\\s",
        "(a|b)",
        "(a)",
        "(?:ab)",
        "x?",
        "é",
        "5",
        " ",
        "-",
    ),
    *("[a-z]", "[A-Z0-9]", r"\\.", "_", "%", "ß", "A", "(?i)a", "[^\\\\d]", "$", "^", r"\\b", "日"),
)


def _text(rng: random.Random) -> str:
    """A text that some type may be read from, or nearly."""
    digits = lambda most: "".join(rng.choice("0123456789") for _ in range(rng.randint(1, most)))  # noqa: E731
    core = rng.choice(
        (
            lambda: digits(4),
            lambda: digits(25),
            lambda: f"{digits(20)}.{digits(25)}",
            lambda: f"1.{'000000059604644775390625'}{rng.choice(('', '0001', '1'))}",
            lambda: f"{digits(2)}e{rng.choice(('', '-', '+'))}{digits(3)}",
            lambda: f".{digits(3)}",
            lambda: f"{digits(3)}.",
            lambda: f"{digits(5)}-{digits(2)}-{digits(2)}",
            lambda: f"20{rng.randint(10, 30)}-{rng.randint(0, 13)}-{rng.randint(0, 32)}",
            lambda: f"20{rng.randint(10, 30)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}{rng.choice('T x')}10:00",
            lambda: f"{digits(2)}{rng.randint(10, 99)}-{rng.randint(0, 13)}-{rng.randint(0, 31)} {_clock(rng)}",
            lambda: rng.choice(("true", "T", "yes", "n", "off", "1", "0", "tru", "nan", "inf", "Infinity", "now", "epoch")),
            lambda: f"0{rng.choice('xX')}{rng.choice(('', '1', 'f8', '1000001'))}{rng.choice(('', '.', '.8', '.000001', '.fffffff8'))}{rng.choice(('', 'p', 'P'))}{rng.choice(('', '-', '+'))}{digits(3)}{rng.choice(('', 'd', 'F'))}",
            lambda: rng.choice(("0x1p3", "0x1.000001p0", "1_0", "1d", "1F", "1L", "१", "\uff10", "--1", "+-1", "e5", ".", "-", "")),
        )
    )()  # fmt: skip
    around = ("", "", "", " ", "\\t", "\\n", "\\u00a0", "\\u2003", "\\u0000", "\\u007f")
    return f"{rng.choice(around)}{rng.choice(('', '', '+', '-'))}{core}{rng.choice(around)}"


def _clock(rng: random.Random) -> str:
    """A time of day, and where that is so late, or nearly."""
    parts = [f"{rng.randint(0, most):0{rng.choice((1, 2, 2))}d}" for most in (24, 60, 60)]
    zone = ("", "Z", " Z", "UTC", " UTC", "+05:30", "-1:00", " +18:00", "-18:01", "+1:5", "+07", "GMT")
    fraction = rng.choice(("", "", ".", ".5", ".123456789", ".000000", ":1"))
    return ":".join(parts[: rng.choice((1, 2, 3, 3, 3))]) + fraction + rng.choice(zone)


def _pattern(rng: random.Random) -> str:
    return "".join(
        rng.choice(("a", "A", "b", "%", "_", "%", "é", "ß", "5", " ", r"\\%", r"\\_", r"\\\\", "!", "İ"))
        for _ in range(rng.randint(0, 5))
    )


def _regex(rng: random.Random) -> str:
    counts = ("", "", "", "*", "+", "?", "{2}", "{0,1}", "*?", "+?")
    pieces = "".join(rng.choice(_REGEX) + rng.choice(counts) for _ in range(rng.randint(1, 4)))
    return f"{rng.choice(('', '', '^'))}{pieces}{rng.choice(('', '', '$', '|a'))}"


def _anything(rng: random.Random, depth: int) -> str:
    luck = rng.random()
    if luck < 0.25:
        return rng.choice(_CONSTANTS)
    if luck < 0.5 or not depth:
        return rng.choice(_FIELDS)
    return f"({written(rng, depth=depth - 1)})" if luck < 0.8 else f"({untyped(rng, depth - 1)})"


def _compared(rng: random.Random) -> str:
    """A comparison with constants."""
    one, two = rng.choices(_CONSTANTS, k=2)
    form = rng.choice(("{o} {a}", "{o} {a}", "IN ({a}, {b})", "NOT IN ({a}, {b})", "BETWEEN {a} AND {b}"))
    return form.format(o=rng.choice(("=", "<>", "<", "<=", ">", ">=", "<=>")), a=one, b=two)


def untyped(rng: random.Random, depth: int = 2) -> str:
    """An expression of parts that may not fit together."""
    any_of: Callable[[], str] = lambda: _anything(rng, depth)  # noqa: E731
    few = lambda: ", ".join(any_of() for _ in range(rng.choice((1, 1, 2, 2, 3))))  # noqa: E731
    return rng.choice(
        (
            lambda: f"{rng.choice(_NAMES)}({few()})",
            lambda: f"{any_of()} {rng.choice(_OPERATORS)} {any_of()}",
            lambda: f"{rng.choice(('CAST', 'CAST', 'TRY_CAST'))}({any_of()} AS {rng.choice(_TYPES)})",
            lambda: f"{rng.choice(('CAST', 'TRY_CAST'))}(concat('{_text(rng)}', substring(s, 1, 0)) AS {rng.choice(_TYPES)})",
            lambda: f"{rng.choice(('CAST', 'TRY_CAST'))}('{_text(rng)}' AS {rng.choice(_TYPES)})",
            lambda: f"{any_of()} {rng.choice(('', 'NOT '))}{rng.choice(('LIKE', 'ILIKE'))} '{_pattern(rng)}'{rng.choice(('', '', _ESCAPES))}",
            # What a condition says of a column, which the engine may have in other words.
            lambda: f"{rng.choice(('CAST', 'TRY_CAST'))}({rng.choice(_FIELDS)} AS {rng.choice(_TYPES)}) {_compared(rng)}",
            lambda: f"{rng.choice(_NAMES)}({rng.choice(_FIELDS)}) {_compared(rng)}",
            lambda: f"{rng.choice(_FIELDS)} {_compared(rng)}",
            lambda: f"{any_of()} ILIKE '{_pattern(rng)}' ESCAPE '{rng.choice('AaXé')}'",
            lambda: f"{rng.choice(('locate', 'position', 'instr'))}({rng.choice((_A, _EMPTY, any_of()))}, {any_of()}, {rng.choice(_STARTS)})",
            lambda: f"{rng.choice(_TRIED)}({rng.choice(('s', 's2', _A, any_of()))}, {any_of()})",
            lambda: f"{rng.choice(_TRIED)}({any_of()}, {rng.choice(('s', 's2', _A))})",
            lambda: f"decode({any_of()}, {any_of()}, {any_of()})",
            lambda: f"decode({any_of()}, {any_of()}, {any_of()}, {any_of()}, {any_of()})",
            lambda: f"{rng.choice(('timestampadd', 'dateadd'))}({rng.choice(('DAY', 'HOUR', 'YEAR'))}, {any_of()}, {any_of()})",
            lambda: f"{any_of()} RLIKE '{_regex(rng)}'",
            lambda: f"regexp_replace({any_of()}, '{_regex(rng)}', '{rng.choice(('', 'x', '-'))}')",
            lambda: f"regexp_extract({any_of()}, '{_regex(rng)}', {rng.randint(0, 1)})",
            lambda: f"split({any_of()}, '{_regex(rng)}'{rng.choice(('', ', 2', ', 0', ', -1', ', 1'))})",
            lambda: f"{any_of()} {rng.choice(('', 'NOT '))}IN ({few()})",
            lambda: f"{any_of()} {rng.choice(('', 'NOT '))}BETWEEN {any_of()} AND {any_of()}",
            lambda: f"CASE WHEN {any_of()} THEN {any_of()} WHEN {any_of()} THEN {any_of()} ELSE {any_of()} END",
            lambda: f"CASE {any_of()} WHEN {any_of()} THEN {any_of()} ELSE {any_of()} END",
            lambda: f"({any_of()}, {any_of()}) {rng.choice(('=', 'IN', '<=>'))} (({any_of()}, {any_of()}))",
            lambda: f"extract({rng.choice(_PARTS)} FROM {any_of()})",
            lambda: f"{any_of()} {rng.choice('+-')} INTERVAL {rng.randint(0, 40)} {rng.choice(_UNITS)}",
            lambda: f"{rng.choice(('date_trunc', 'trunc'))}({rng.choice(_UNITS)!r}, {any_of()})",
            lambda: f"trunc({any_of()}, {rng.choice(_UNITS)!r})",
            lambda: f"{rng.choice('-~')}{any_of()}",
            lambda: f"NOT {any_of()}",
            lambda: f"{any_of()} IS {rng.choice(('', 'NOT '))}{rng.choice(('NULL', 'TRUE', 'FALSE', 'UNKNOWN'))}",
            lambda: f"{any_of()}[{any_of()}]",
            lambda: f"{rng.choice(('round', 'bround', 'ceil', 'floor'))}({any_of()}, {rng.randint(-3, 12)})",
            lambda: f"{rng.choice(('transform', 'filter', 'exists', 'forall'))}({any_of()}, y -> {any_of()})",
            lambda: f"aggregate({any_of()}, {any_of()}, (y, z) -> {any_of()})",
            lambda: f"{any_of()} {rng.choice('+-*/')} {rng.choice(_SPANS)}",
            lambda: f"({any_of()} - {any_of()}) {rng.choice(('+', '-', '*', '/', '<', '='))} {any_of()}",
            lambda: f"extract({rng.choice(_PARTS)} FROM {any_of()} - {any_of()})",
        )
    )()  # fmt: skip


#: Of expressions without brackets: numbers, with signs and casts of them, and truths, with what binds them.
_NUMBERS = (
    *(
        "i",
        "l",
        "i8",
        "m",
        "d",
        "2",
        "7",
        "1.5",
        "3L",
        "-1",
        "- 2",
        "-i8",
        "- -3",
        "+i",
        "+2",
        "+ m",
        "~i",
        "-~i8",
    ),
    *(
        "-1::int",
        "-5::string",
        "-1::boolean",
        "-2L::int",
        "-1.5::int",
        "i8::bigint",
        "-i8::string",
        "5::decimal(3,1)",
    ),
    *("-.5", "+'5'", "-5::string::int", "length(s)", "a[0]", "-a[1]", "-2147483648::int"),
)
_TRUTHS = (
    *(
        "b",
        "b",
        "TRUE",
        "NULL",
        "NOT b",
        "! b",
        "(NOT b)",
        "i > 1",
        "m IS NULL",
        "NOT i IS NULL",
        "b IS NOT NULL",
    ),
    *(
        "i IN (1, 5)",
        "s LIKE 'a%'",
        "NOT s LIKE '%a'",
        "i8 BETWEEN 0 AND 5",
        "i NOT BETWEEN 1 AND 5 = b",
        "s = 'a'",
    ),
    *("s || 'a' = 'aa'", "i IS DISTINCT FROM 1", "b IS NOT TRUE", "d > 1 = b", "s LIKE 'a' || s"),
)
_ARITHMETIC = ("+", "-", "*", "/", "%", "div", "&", "|", "^", "||", "<<", ">>", ">>>")
_COMPARED = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "!<", "!>")


def unbracketed(rng: random.Random) -> str:
    """Operators side by side, which bind as the grammar has it."""

    def chain(operands: Sequence[str], *signs: Sequence[str]) -> str:
        parts = [rng.choice(operands)]
        for _ in range(rng.choice((1, 2, 2, 3, 4))):
            parts += [rng.choice(rng.choice(signs)), rng.choice(operands)]
        return " ".join(parts)

    return rng.choice(
        (
            lambda: chain(_NUMBERS, _ARITHMETIC),
            lambda: chain(_NUMBERS, _ARITHMETIC[:5]),
            lambda: chain(_NUMBERS, _ARITHMETIC, _COMPARED),
            lambda: chain(("b", "TRUE", "i8 = 1", "NULL", "(i > 1)"), _COMPARED),
            lambda: chain(_TRUTHS, ("AND", "OR")),
            lambda: chain(_TRUTHS, ("AND", "OR"), _COMPARED),
            lambda: (
                f"{rng.choice(('exists', 'filter', 'transform'))}(a, Y -> {chain((*_NUMBERS, 'y', 'Y', '-y'), _COMPARED)})"
            ),
        )
    )()


_ESCAPES = " ESCAPE '!'"
_A, _EMPTY = "'a'", "''"
_TRIED = ("try_add", "try_subtract", "try_multiply", "try_divide", "try_mod")
_STARTS = ("NULL", "-1", "0", "1", "2", "9", "'2'", "i8", "2L")
_SPANS = (
    *(
        "INTERVAL 1 DAY",
        "INTERVAL '1-2' YEAR TO MONTH",
        "INTERVAL '1 02:03' DAY TO MINUTE",
        "INTERVAL 2 WEEKS",
    ),
    *("INTERVAL '1.5' SECOND", "INTERVAL 1 DAY 2 HOURS", "(ts - ts2)", "(dt - dt2)", "INTERVAL -3 HOURS"),
)


#: How Spark interprets whole stages, and projections.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


class Interpreter:
    """Spark, asked without ceremony about rows that it is given once; it compiles nothing unless it is told to."""

    def __init__(self, spark: SparkEngine, data: pa.Table, *, compiled: bool) -> None:
        spark.wait()
        self._session = spark._session.spark
        for name, value in _INTERPRETED.items():
            if compiled:
                self._session.conf.unset(name)
            else:
                self._session.conf.set(name, value)
        spark.frame(data).createOrReplaceTempView("t")

    def leave(self) -> None:
        """Leave Spark as it was."""
        for name in _INTERPRETED:
            self._session.conf.unset(name)
        self._session.catalog.dropTempView("t")

    def run_over(self, sql: str, _: Mapping[str, pa.Table]) -> pa.Table:
        """The result of the SQL over the rows. Raises SparkError."""
        with bridge._mapped():
            # `toArrow` fails on structs that are NULL with parts that cannot be.
            return pa.Table.from_batches(bridge._carried(self._session.sql(sql))._collect_as_arrow())


@dataclass
class Sweep:
    """Expressions that were put to Spark."""

    kinds: Sequence[Callable[[random.Random], str]] = (written, untyped, written_text, unbracketed)
    written: int = 0
    taken: int = 0
    failing: int = 0

    def round(self, spark: SparkEngine, seed: int) -> list[str]:
        """The differences of one round."""
        rng = random.Random(f"sweep {seed}")
        data = rows(rng, ROWS)
        texts = [rng.choice(self.kinds)(rng) for _ in range(ROUND)]
        cases: list[Taken] = []
        wrong: list[str] = []
        for text in texts:
            try:
                check_arguments(parse_statement(f"SELECT {text} AS z FROM t"))
                cases += taken([text], data)
            except QueryError:
                continue  # is refused, or left to Spark's own grammar
            except Exception as error:  # noqa: BLE001 - told like any other difference
                wrong.append(f"{text}: {type(error).__name__}: {error}")
        for case in rng.sample(cases, len(cases) // _ALONE):
            wrong += apart(case, data, rng.choice((1, 7, ROWS - 1)))
        failing = [case for case in cases if case.found.failed is not None]
        self.written += len(texts)
        self.taken += len(cases)
        self.failing += len(failing)
        asked = Interpreter(spark, data, compiled=seed % COMPILED == 0)
        try:
            wrong += differences(asked, data, cases)
            return wrong + not_raised(asked, data, rng.sample(failing, len(failing) // _RAISED))
        finally:
            asked.leave()


def main() -> None:
    """Sweeps, and prints what it found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000, help="of expressions written")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--texts", action="store_true", help="only functions of what is written in texts")
    asked = parser.parse_args()
    kinds = (written_text,) if asked.texts else Sweep.kinds
    sweep, found, began, seed = Sweep(kinds), 0, time.monotonic(), asked.seed
    with SparkEngine() as spark:
        while sweep.written < asked.count:
            for one in sweep.round(spark, seed):
                found += 1
                print(f"seed {seed}: {one}", flush=True)
            seed += 1
    print(
        f"{sweep.written} expressions, {sweep.taken} taken, {sweep.failing} of them fail somewhere; {found} differ from Spark;"
        f" seeds {asked.seed} to {seed - 1}, {time.monotonic() - began:.0f} s"
    )
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
