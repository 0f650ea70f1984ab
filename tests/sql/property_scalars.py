"""Random scalar expressions over hard values, and the engine's values beside Spark's."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import property_collections
import pyarrow as pa
from property_values import LEFT

from fff.dataflow.plan.expressions import Column, Evaluated, evaluate_rows
from fff.errors import Span, SparkError
from fff.spark.start.java import find_java
from fff.sql.analysis.predicates import Translator
from fff.sql.binder.names import Relation, Scope
from fff.sql.scalars.coercion import MONTHS
from fff.sql.scalars.java import running_on
from fff.sql.scalars.typed import LeftToSparkError, Typed
from fff.sql.syntax.parse import parse_statement

SCOPE = Scope.of(Relation("t", LEFT, 0, Span(0, 0), renamed=False))
#: Expressions of one Spark job.
BATCH = 150

#: By the family of the result: what makes one, with the families of its parts in braces.
SHAPES: dict[str, tuple[str, ...]] = {
    "number": (
        *(
            "pmod({number}, {number})",
            "pmod({whole}, 7)",
            "try_add({number}, {number})",
            "try_subtract({number}, {number})",
            "try_multiply({whole}, {whole})",
            "try_divide({number}, {number})",
            "try_mod({number}, {number})",
            "try_add({text}, {number})",
            "try_subtract({number}, {text})",
            "try_multiply({text}, 3)",
            "try_divide({number}, {text})",
            "try_mod({whole}, {text})",
            "try_add('x', {number})",
            "decode({whole}, 5, {number})",
            "decode({text}, 'a', {number}, {text}, {whole})",
            "CAST(/* 7L */ 7 AS BIGINT) * {exact}",
            "{exact} / {exact}",
            "{exact} % {exact}",
            "pmod({exact}, {exact})",
            "{exact} div {exact}",
            "{exact} * 2L",
            "-3S + {exact}",
            "zeroifnull({number})",
            "nullifzero({number})",
            "nanvl(d, d2)",
            "degrees({number})",
            "radians(d)",
            "exp({number})",
            "exp({few} / 300)",
            "ln({number})",
            "log(d, {number})",
            "log10({number})",
            "log2({number})",
            "pow({number}, {number})",
            "pow(d, {few} / 4)",
            "power(1 + {few} / 1e9, {number})",
            "width_bucket({number}, '0.5', 100, 7)",
            "negative({number})",
            "rint({number})",
            "factorial({few})",
            "CAST({text} AS FLOAT)",
            "positive({number})",
            "+{number}",
            "-1.5::double * {number}",
            "-{few}::bigint",
        ),
        *("{number} + {number}", "{number} - {number}", "{number} * {number}", "{number} / {number}"),
        *("{number} % {number}", "{whole} div {whole}", "-{number}", "abs({number})", "floor({number})"),
        *("ceil({number})", "round({number}, 2)", "bround({number}, 1)", "sign({number})", "sqrt({number})"),
        *("greatest({number}, {number})", "least({number}, {number})", "CAST({number} AS DOUBLE)"),
        *("coalesce({number}, {number})", "if({truth}, {number}, {number})", "nullif({number}, {number})"),
        *(
            "CASE WHEN {truth} THEN {number} WHEN {truth} THEN {number} END",
            "{whole}",
            "d",
            "f",
            "m",
            "n",
            "1.5",
        ),
    ),
    "whole": (
        *(
            "{whole} & {whole}",
            "{whole} | {whole}",
            "{whole} ^ 5",
            "~{whole}",
            "shiftleft({whole}, 3)",
            "shiftright({whole}, 33)",
            "ascii({text})",
            "bit_length({text})",
            "size(split({text}, 'a'))",
            "array({whole}, -1S, NULL)[1]",
            "element_at(a, {few})",
            "try_element_at(a, -1)",
            "element_at(mp, 'a')",
            "extract(DOW FROM {date})",
            "extract(YEAROFWEEK FROM {date})",
            "date_part('DAYOFWEEK_ISO', {date})",
            "unix_date({date})",
            "unix_seconds({moment})",
            "unix_millis({moment})",
            "unix_micros({moment})",
            "unix_timestamp({moment})",
            "to_unix_timestamp({date})",
            "bit_count({whole})",
            "bit_count({truth})",
            "crc32({text})",
            "crc32(x)",
            "find_in_set({text}, 'a,b,,ab')",
            "find_in_set({text}, {text})",
            "levenshtein({text}, {text})",
            "instr({text}, {text})",
            "locate({text}, {text})",
            "locate('a', {text}, 2)",
            "locate('', {text}, 3)",
            "locate({text}, {text}, 1)",
            "position('b', {text}, NULL)",
            "extract(MONTH FROM INTERVAL '1-2' YEAR TO MONTH)",
            "regexp_count({text}, '[ab5]')",
        ),
        *(
            "i",
            "l",
            "i8",
            "i16",
            "0",
            "1",
            "-3",
            "100",
            "length({text})",
            "instr({text}, 'a')",
            "year({date})",
        ),
        *("month({date})", "dayofyear({date})", "weekday({date})", "quarter({date})", "hour({moment})"),
        *("minute({moment})", "second({moment})", "datediff({date}, {date})", "CAST({number} AS INT)"),
        *(
            "TRY_CAST({text} AS BIGINT)",
            "CAST({truth} AS INT)",
            "{whole} + {whole}",
            "size(a)",
            "a[0]",
            "st.k",
        ),
        *("weekofyear({date})", "dayofweek({date})", "mp['a']", "octet_length({text})"),
    ),
    "text": (
        *(
            "regexp_extract({text}, '([a-z]+)', 1)",
            "regexp_extract({text}, '^(.*?)(a|b)', 2)",
            "regexp_extract({text}, r'(\\d+)-?(\\d*)$', 2)",
            "regexp_extract({text}, '[^a]+', 0)",
            "regexp_replace({text}, '[a-z]+', 'x')",
            "regexp_replace({text}, r'[^\\w]', '-')",
            "element_at(split({text}, '-'), -1)",
            "try_element_at(split({text}, '[ab]', 2), 2)",
            "split({text}, 'a')[0]",
            "conv({text}, 36, 10)",
            "conv({whole}, 10, -16)",
            "conv(hex({text}), 16, 7)",
            "conv(concat('-', {whole}), 10, 2)",
            "decode({whole}, 5, {text})",
            "decode({whole}, 5, NULL)",
            "decode({text}, 'a', {text}, NULL, 'none')",
            "dayname({date})",
            "monthname({date})",
            "date_format({moment}, 'yyyy-MM-dd HH:mm:ss.SSS')",
            "date_format({date}, 'EEEE, d MMMM yyyy')",
            "date_format({moment}, 'E dd.M.yyyy H')",
            "date_format({date}, 'MMM')",
            "element_at(array({text}, s2), 2)",
            "substring({text}, instr({text}, 'a'), {few})",
            "substring({text}, {few} - 2)",
            "left({text}, {few})",
            "left({text}, '2')",
            "right({text}, length({text}) - 1)",
            "replace({text}, {text}, {text})",
            "substring_index({text}, {text}, {few})",
            "translate({text}, {text}, 'xyz')",
            "overlay({text}, {text}, {few})",
            "md5({text})",
            "sha(x)",
            "sha1({text})",
            "sha2({text}, 384)",
            "sha2(x, 0)",
            "base64({text})",
            "base64(x)",
            "hex({text})",
            "hex({whole})",
            "hex(x)",
            "hex(unhex({text}))",
            "unhex({text})",
            "bin({whole})",
            "chr({whole})",
            "char({few})",
            "soundex({text})",
            "overlay({text} PLACING 'éx' FROM 2)",
            "overlay({text}, 'x', -2, 1)",
            "overlay({text}, 'abc', 0, 2)",
            "url_encode({text})",
            "from_unixtime({whole})",
            "typeof({number})",
            "typeof({moment})",
            "CAST({text} AS BINARY)",
        ),
        *("s", "s2", "v", "'a'", "'é5'", "upper({text})", "lower({text})", "initcap({text})", "trim({text})"),
        *("ltrim({text})", "rtrim({text})", "trim(BOTH 'a' FROM {text})", "reverse({text})", "st.n"),
        *("concat({text}, {text})", "{text} || {whole}", "concat_ws('-', {text}, {text})", "left({text}, 2)"),
        *(
            "right({text}, 3)",
            "substring({text}, 2, 3)",
            "substring({text}, -2)",
            "replace({text}, 'a', 'bc')",
        ),
        *("lpad({text}, 5, 'xy')", "rpad({text}, 4)", "repeat({text}, 2)", "split_part({text}, 'a', 2)"),
        *("substring_index({text}, 'a', -1)", "translate({text}, 'aA', 'x')", "CAST({whole} AS STRING)"),
        *(
            "CAST({date} AS STRING)",
            "CAST({moment} AS STRING)",
            "coalesce({text}, {text})",
            "CAST(m AS STRING)",
        ),
        *("CASE {whole} WHEN 1 THEN {text} WHEN 5 THEN 'five' ELSE {text} END", "greatest({text}, {text})"),
    ),
    "date": (
        *("make_date({few}, {few}, {few})", "make_date({whole}, 2, {few})", "make_date(2020, {few}, 31)"),
        *("next_day({date}, 'TU')", "date_from_unix_date({few})"),
        *(
            "dt",
            "dt2",
            "DATE '2020-02-29'",
            "date_add({date}, {few})",
            "date_sub({date}, 3)",
            "{date} + {few}",
        ),
        *("add_months({date}, {few})", "last_day({date})", "trunc({date}, 'MM')", "trunc({date}, 'YEAR')"),
        *(
            "trunc({date}, 'WEEK')",
            "CAST({moment} AS DATE)",
            "TRY_CAST({text} AS DATE)",
            "{date} - INTERVAL 3 DAY",
        ),
        *("{date} + INTERVAL '1' MONTH", "coalesce({date}, {date})", "if({truth}, {date}, {date})"),
    ),
    "moment": (
        *(
            "timestampadd(DAY, {few}, {moment})",
            "timestampadd(HOUR, {whole}, {date})",
            "timestampadd(MONTH, 2, {moment})",
            "dateadd(DAY, CAST({text} AS INT), {date})",
            "timestamp_seconds({whole})",
            "timestamp_millis({whole})",
            "timestamp_micros({whole})",
            "CAST('2020-01-01 10:00:00.5' AS TIMESTAMP)",
        ),
        *(
            "{moment} + INTERVAL 5 HOURS",
            "{moment} - INTERVAL 1 MONTH",
            "{moment} + INTERVAL '3' DAY",
            "{moment} - INTERVAL 7 SECONDS",
            "{moment} + INTERVAL 1 YEAR",
        ),
        *(
            "ts",
            "ts2",
            "TIMESTAMP '2020-03-08 07:00:00Z'",
            "date_trunc('HOUR', {moment})",
            "CAST({date} AS TIMESTAMP)",
        ),
        *("date_trunc('MONTH', {moment})", "coalesce({moment}, {moment})", "CAST(tn AS TIMESTAMP)"),
    ),
    "exact": (
        "m",
        "n",
        "q",
        "i",
        "l",
        "i8",
        "m2",
        "7",
        "0.3",
        "{exact} + m",
        "CAST({number} AS DECIMAL(12,3))",
    ),
    "few": ("i8", "i16", "1", "-1", "12", "400"),
    "truth": (
        *(
            "isnan({number})",
            "{text} ILIKE 'Xa%X_' ESCAPE 'X'",
            "{text} ILIKE '%A!%_' ESCAPE '!'",
            "{text} ILIKE {text} ESCAPE 'A'",
            "CAST({moment} AS TIMESTAMP WITHOUT TIME ZONE) < tn",
            "{text} LIKE ANY ('a%', '%b', '_')",
            "{text} NOT LIKE ANY ('a%', NULL)",
            "{text} LIKE ALL ('%a%', '%b%')",
            "{text} NOT ILIKE ALL ('a_', '%B')",
            "equal_null({text}, {text})",
            "array_contains(a, {whole})",
            "array_contains(split({text}, 'a'), {text})",
            "{text} RLIKE 'a|b.'",
            "regexp_like({text}, r'\\d')",
            "startswith(x, X'61')",
            "contains(CAST({text} AS BINARY), X'35')",
            "{moment} > '2020-3-8 1:2:3.5+05:30'",
        ),
        *(
            "b",
            "{number} = {number}",
            "{number} < {whole}",
            "{text} = {text}",
            "{text} >= {text}",
            "{date} < {date}",
        ),
        *(
            "{moment} <= {moment}",
            "{date} = {moment}",
            "{text} LIKE 'a%'",
            "{text} LIKE '%a_'",
            "{text} ILIKE '%A%'",
        ),
        *(
            "{text} RLIKE '^[a-z]+$'",
            "startswith({text}, 'a')",
            "contains({text}, 'b')",
            "contains({text}, {text})",
            "startswith({text}, {text})",
            "endswith({text}, left({text}, {few}))",
            "{whole} IN (1, 5, NULL)",
        ),
        *(
            "{text} IN ('a', {text})",
            "{whole} BETWEEN 1 AND {number}",
            "{truth} AND {truth}",
            "{truth} OR {truth}",
        ),
        *(
            "NOT {truth}",
            "{number} IS NULL",
            "{text} IS NOT NULL",
            "({truth}) IS TRUE",
            "({truth}) IS NOT FALSE",
            "({truth}) = ({truth})",
            "({truth}) <=> ({truth})",
            "({truth}) > ({truth})",
            "{number} <=> {number}",
        ),
        *(
            "{text} IS DISTINCT FROM {text}",
            "CAST({text} AS BOOLEAN)",
            "{text} = {whole}",
            "{whole} <> 0 AND 7 / {whole} > 1",
        ),
    ),
}

SHAPES |= property_collections.SHAPES


def written(rng: random.Random, family: str = "", depth: int = 3) -> str:
    """A random expression."""
    family = family or rng.choice([one for one in SHAPES if one not in {"few", "exact"}])
    shapes = SHAPES[family] if depth else [one for one in SHAPES[family] if "{" not in one]
    text = rng.choice(shapes)
    for inner in SHAPES:
        while (mark := "{" + inner + "}") in text:
            part = written(rng, inner, depth - 1)
            text = text.replace(mark, f"({part})" if " " in part or part[0] == "-" else part, 1)
    return text


def translated(text: str, java: int | None = None) -> Typed:
    """An expression over the table of hard values as the engine takes it beside a Spark on this Java, or on the one that is found.

    Raises LeftToSparkError.
    """
    statement = parse_statement(f"SELECT {text} AS z FROM t")
    with running_on(lambda: java or find_java().version):
        return Translator(statement, SCOPE).value(statement.tree.expressions[0].this)


@dataclass(frozen=True)
class Taken:
    """An expression that the engine takes, and what it says of it."""

    text: str
    value: Typed
    found: Evaluated


def taken(texts: Iterable[str], data: pa.Table, java: int | None = None) -> Iterator[Taken]:
    """Those of some expressions that the engine takes beside a Spark on this Java, or on the one that is found."""
    columns = [column.combine_chunks() for column in data.columns]

    def resolve(column: Column) -> pa.Array:
        return columns[column.index]

    for text in texts:
        try:
            value = translated(text, java)
        except LeftToSparkError:
            continue
        if value.type == MONTHS:  # for which no result has a type
            continue
        yield Taken(text, value, evaluate_rows(value.expr, resolve, data.num_rows))


def apart(case: Taken, data: pa.Table, cut: int) -> list[str]:
    """Where an expression says other things of some rows than it says of them among all: of none, of the first few, of the others."""
    columns = [column.combine_chunks() for column in data.columns]
    wrong = []
    for start, end in ((0, 0), (0, cut), (cut, data.num_rows)):
        own = [column.slice(start, end - start) for column in columns]
        try:
            found = evaluate_rows(case.value.expr, lambda column, own=own: own[column.index], end - start)
        except Exception as error:  # noqa: BLE001 - told like any other difference
            wrong.append(f"{case.text}: of rows {start} to {end}: {type(error).__name__}: {error}")
            continue
        said, among_all = (
            _said(one, *part) for one, part in ((found, (0, end - start)), (case.found, (start, end)))
        )
        if said != among_all:
            wrong.append(f"{case.text}: of rows {start} to {end}: {said} instead of {among_all}")
    return wrong


ROWS_SHOWN = 1_000


def _said(found: Evaluated, start: int, end: int) -> str:
    failed = [] if found.failed is None else found.failed.rows[start:end].tolist()
    values = found.values[start:end].to_string(window=ROWS_SHOWN, container_window=ROWS_SHOWN)
    return f"{values}{failed if any(failed) else ''}"


class Asked(Protocol):
    """Spark, as far as it is asked here."""

    def run_over(self, sql: str, views: Mapping[str, pa.Table]) -> pa.Table:
        """The result of a query over named tables. Raises SparkError."""


def differences(spark: Asked, data: pa.Table, cases: Sequence[Taken]) -> list[str]:
    """Where Spark gives other values or another type, or raises an error on a row that is not known to fail."""
    wrong = [
        f"{one.text}: fails, though it may not"
        for one in cases
        if one.found.failed is not None and not one.value.may_fail
    ]
    for start in range(0, len(cases), BATCH):
        wrong += _compared(spark, data, cases[start : start + BATCH])
    return wrong


def _compared(spark: Asked, data: pa.Table, cases: Sequence[Taken]) -> list[str]:
    asked = ", ".join(f"{_guarded(one)} AS c{number}" for number, one in enumerate(cases))
    try:
        answer = spark.run_over(f"SELECT id, {asked} FROM t", {"t": data}).sort_by("id")
    except SparkError as error:
        if len(cases) == 1:
            return [f"{cases[0].text}: {error}"]
        half = len(cases) // 2
        return _compared(spark, data, cases[:half]) + _compared(spark, data, cases[half:])
    wrong = []
    for number, one in enumerate(cases):
        theirs = answer.column(number + 1).combine_chunks()
        ours = one.found.values
        if _nullable(ours.type) != _nullable(theirs.type):
            wrong.append(f"{one.text}: engine {ours.type}, Spark {theirs.type}")
        elif plain(ours) != plain(theirs):
            row = next(
                row
                for row, pair in enumerate(zip(plain(ours), plain(theirs), strict=True))
                if pair[0] != pair[1]
            )
            wrong.append(f"{one.text}: row {row}: engine {plain(ours)[row]!r}, Spark {plain(theirs)[row]!r}")
    return wrong


def _nullable(kind: pa.DataType) -> pa.DataType:
    """The type without what is known of the parts of arrays, maps and structs."""
    if pa.types.is_list(kind):
        return pa.list_(_nullable(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_nullable(kind.key_type), _nullable(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _nullable(field.type)) for field in kind])
    return kind


def _guarded(one: Taken) -> str:
    """The expression for Spark, without the rows on which it is to fail.

    In a branch, even where none is to: elsewhere Spark computes what BETWEEN and NULLIF look at twice beforehand, and
    fails where what stands left of them has decided.
    """
    failing = [] if one.found.failed is None else np.flatnonzero(one.found.failed.rows)
    rows = ", ".join(map(str, failing)) or "-1"
    return f"CASE WHEN id IN ({rows}) THEN NULL ELSE ({one.text}) END"


def plain(values: pa.Array) -> list[object]:
    """Values to compare: doubles by their bits, NaNs alike; days and microseconds, which Python's dates do not reach."""
    if pa.types.is_floating(values.type):
        return [None if one is None else float(one).hex() for one in values.to_pylist()]
    if pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type):
        values = values.cast(pa.int64())
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    if pa.types.is_struct(values.type):
        parts = [plain(part) for part in values.flatten()]
        rows = zip(*parts, strict=True) if parts else ((),) * len(values)
        return [
            row if there else None for there, row in zip(values.is_valid().to_pylist(), rows, strict=True)
        ]
    if pa.types.is_map(values.type):
        kind = pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])
        values = values.cast(pa.list_(kind))
    if pa.types.is_list(values.type):
        items, ends = plain(values.values), values.offsets.to_pylist()
        parts = zip(values.is_valid().to_pylist(), ends[:-1], ends[1:], strict=True)
        return [items[start:end] if there else None for there, start, end in parts]
    listed: list[object] = values.to_pylist()
    return listed


def not_raised(spark: Asked, data: pa.Table, cases: Sequence[Taken]) -> list[str]:
    """Of the first rows on which expressions are known to fail, those on which Spark raises no such error."""
    wrong = []
    for one in cases:
        if one.found.failed is None:
            continue
        row = int(np.argmax(one.found.failed.rows))
        known = one.found.failed.message.partition("]")[0].strip("[").partition(".")[0]
        try:
            answer = spark.run_over(f"SELECT {one.text} AS c FROM t WHERE id = {row}", {"t": data})
        except SparkError as error:
            if known not in str(error) and "overflow" not in str(error):
                wrong.append(f"{one.text}: row {row}: engine {known}, Spark {error}")
        else:
            wrong.append(
                f"{one.text}: row {row}: engine {known}, Spark {plain(answer.column(0).combine_chunks())}"
            )
    return wrong
