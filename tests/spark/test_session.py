"""Spark itself: types, SQL, errors."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fff.errors import SparkError
from fff.spark import plans
from fff.spark.bridge import Session, attach
from fff.spark.session import _SHARED, SparkEngine
from fff.spark.spool import Spool
from fff.spark.start.jvm import CONNECTION_LOST, GatewayJVM
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from tests.sampling import every, every_row

pytestmark = pytest.mark.spark

UTC = dt.UTC

#: One column of each type FFF knows, with its extremes.
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "yes": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-128, 127, None]),
    "small": (pa.int16(), [-(2**15), 2**15 - 1, None]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, None]),
    "big": (pa.int64(), [-(2**63), 2**63 - 1, None]),
    "float": (pa.float32(), [1.5, float("inf"), None]),
    "double": (pa.float64(), [0.1, 5e-324, None]),
    "text": (pa.string(), ["", "né\x00\U0001f600", None]),
    "bytes": (pa.binary(), [b"", b"\x00\xff", None]),
    "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "at": (
        pa.timestamp("us", tz="UTC"),
        [
            dt.datetime(1582, 10, 4, 1, 2, 3, tzinfo=UTC),
            dt.datetime(2026, 3, 29, 2, 30, 0, 123456, UTC),
            None,
        ],
    ),
    "clock": (
        pa.timestamp("us"),
        [
            dt.datetime.fromisoformat(text) if text else None
            for text in ("1883-11-18T12:00", "2026-03-29T02:30", "")
        ],
    ),
    "money": (
        pa.decimal128(38, 10),
        [Decimal("1234567890123456789012345678.0123456789"), Decimal("-0.0000000001"), None],
    ),
    "cents": (pa.decimal128(9, 2), [Decimal("9999999.99"), Decimal("-0.01"), None]),
    "list": (pa.list_(pa.string()), [["a", None], [], None]),
    "record": (
        pa.struct([("odd-name", pa.int32()), ("at", pa.timestamp("us", tz="UTC"))]),
        [
            {"odd-name": 1, "at": dt.datetime(2000, 1, 1, tzinfo=UTC)},
            {"odd-name": None, "at": None},
            None,
        ],
    ),
    "deep": (
        pa.list_(pa.struct([("x", pa.list_(pa.decimal128(5, 1)))])),
        [[{"x": [Decimal("1.5")]}], [{"x": None}, None], None],
    ),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [], None]),
    "odd name; (a.b) `c`": (pa.string(), ["x", "y", None]),
}
SCHEMA = pa.schema([pa.field(name, kind) for name, (kind, _) in TYPES.items()])


def everything() -> pa.Table:
    return pa.table([pa.array(values, kind) for kind, values in TYPES.values()], schema=SCHEMA)


@pytest.fixture(params=every(2, ["memory", "files"]))
def spool(request: pytest.FixtureRequest) -> Iterator[Spool]:
    """Every type, handed over in memory and through files."""
    with Spool(SCHEMA, file_rows=2 if request.param == "files" else 1000) as spool:
        for part in everything().to_batches(max_chunksize=2):
            spool.append(part)
        assert spool.in_memory == (request.param == "memory")
        yield spool


def test_every_type_survives(spark: SparkEngine, spool: Spool) -> None:
    result = spark.run("SELECT * FROM v", "v", spool)
    for index, name in enumerate(result.schema.names):
        assert result.schema.field(index).type == SCHEMA.field(index).type, name
    assert sorted(map(str, rows_of(result))) == sorted(map(str, rows_of(everything())))


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.slow
def test_an_empty_input_has_its_types(spark: SparkEngine) -> None:
    with Spool(SCHEMA) as empty:
        result = spark.run("SELECT * FROM v", "v", empty)
        assert (result.schema.types, result.num_rows) == (SCHEMA.types, 0)
        result = spark.run(
            "SELECT count(*) AS n, sum(big) AS s, max(money) AS m, sum(cents) AS c FROM v", "v", empty
        )
    assert result.to_pylist() == [{"n": 0, "s": None, "m": None, "c": None}]
    assert result.schema.types == [pa.int64(), pa.int64(), pa.decimal128(38, 10), pa.decimal128(19, 2)]


@pytest.mark.parametrize("file_rows", every(2, [100, 10_000]))
def test_grouping_having_and_order(spark: SparkEngine, file_rows: int) -> None:
    schema = pa.schema([("k", pa.string()), ("v", pa.int64())])
    with Spool(schema, file_rows=file_rows) as spool:
        for start in range(0, 1_000, 50):
            numbers = range(start, start + 50)
            spool.append(
                pa.RecordBatch.from_pydict(
                    {"k": [f"g{n % 7}" for n in numbers], "v": list(numbers)}, schema=schema
                )
            )
        result = spark.run(
            "SELECT k, count(*) AS n, sum(v) AS s, avg(v) AS a FROM joined GROUP BY k HAVING count(*) > 142 ORDER BY s DESC",
            "joined",
            spool,
        )
    groups = {f"g{g}": [n for n in range(1_000) if n % 7 == g] for g in range(7)}
    wanted = [
        {"k": k, "n": len(ns), "s": sum(ns), "a": sum(ns) / len(ns)}
        for k, ns in sorted(groups.items(), key=lambda item: -sum(item[1]))
        if len(ns) > 142
    ]
    assert result.to_pylist() == wanted
    assert len(wanted) == 6


def test_rows_that_came_later_are_seen_by_the_next_query(spark: SparkEngine) -> None:
    schema = pa.schema([("v", pa.int64())])
    with Spool(schema, file_rows=10) as spool:
        for total in (7, 35):
            while spool.rows < total:
                spool.append(pa.RecordBatch.from_pydict({"v": [1] * 7}, schema=schema))
            assert spark.run("SELECT sum(v) AS s FROM v", "v", spool).to_pylist() == [{"s": total}]


def test_several_views_at_once(spark: SparkEngine) -> None:
    left, right = pa.table({"k": [1, 2, 3]}), pa.table({"k": [2, 3, 4], "w": ["b", "c", "d"]})
    result = spark.run_over(
        "SELECT l.k, r.w FROM l LEFT JOIN r USING (k) ORDER BY k", {"l": left, "r": right}
    )
    assert result.to_pylist() == [{"k": 1, "w": None}, {"k": 2, "w": "b"}, {"k": 3, "w": "c"}]
    with pytest.raises(SparkError, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.run("SELECT * FROM l", "v", left)


@pytest.mark.parametrize(
    ("sql", "few"),
    [
        ("SELECT k % 7 AS k, count(*) AS n FROM t GROUP BY 1 ORDER BY 1", True),
        ("SELECT count(*) AS n FROM range(4000000) WHERE id % 7 = 1", False),
        ("SELECT count(*) AS n FROM t CROSS JOIN t AS u", False),
        ("SELECT count(*) AS n FROM t, LATERAL explode(sequence(0, k)) AS x(y)", False),
    ],
)
def test_code_is_compiled_for_many_rows_alone(spark: SparkEngine, sql: str, few: bool) -> None:
    with _session_of(spark) as session:
        before = session.spark.conf.get("spark.sql.shuffle.partitions")
        found = session.query(sql, {"t": pa.table({"k": list(range(1_000))})})
        assert (session.spark.conf.get("spark.sql.codegen.wholeStage") == "false") is few
        assert session.query(sql, {"t": pa.table({"k": list(range(1_000))})}) == found
        session.query("SELECT count(*) AS n FROM t", {"t": pa.table({"k": list(range(200_000))})})
        assert session.spark.conf.get("spark.sql.codegen.wholeStage") == "true"
        assert session.spark.conf.get("spark.sql.shuffle.partitions") == before


def test_a_frame_that_is_given_away_is_run_as_for_many_rows(spark: SparkEngine) -> None:
    with _session_of(spark) as session:
        few = pa.table({"k": [1]})
        for _ in range(2):
            session.query("SELECT sum(k) AS s FROM t", {"t": few})
            conf = session.frame(few).sparkSession.conf
            assert conf.get("spark.sql.codegen.wholeStage") == "true"


#: What Spark makes of an expression depends on where it finds the rows: this must not change with the conf.
SUBTLE = [
    "lower(upper(s))",
    "CAST(d AS STRING)",
    "round(d, 1)",
    "i / 3",
    "i % 0.7",
    "substring(s, -3)",
    "CASE WHEN i > 1 THEN 1 / (i - 1) END",
    "try_divide(i, 0)",
    "CAST(i AS DECIMAL(10, 2)) * 1.005BD",
    "date_add(DATE'2024-02-28', CAST(i AS INT))",
    "named_struct('a', i, 'b', s)",
    "hash(i, s, d)",
]


def test_answers_over_few_rows_are_those_of_compiled_code(
    spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table(
        {
            "i": [0, 1, 2, -3, None] * 2,
            "d": [0.15, -0.0, 1e300, None, 2.5] * 2,
            "s": ["straße", "İi", "", None, "e"] * 2,
        }
    )
    listed = ", ".join(f"{text} AS c{number}" for number, text in enumerate(SUBTLE))
    queries = [
        f"SELECT {listed} FROM t",
        "SELECT lower(upper(s)) AS g, count(*) AS n, sum(i) AS a, avg(d) AS b, max_by(s, i) AS c, collect_set(i) AS e FROM t GROUP BY 1 ORDER BY 1",
        "SELECT i, sum(i) OVER (PARTITION BY s ORDER BY i) AS w, lag(d) OVER (ORDER BY i, s) AS l FROM t",
        "SELECT a.i, b.s FROM t a LEFT JOIN t b ON a.i = b.i + 1 AND a.d > b.d",
    ]
    with _session_of(spark) as session:
        few = [sorted(map(repr, session.query(sql, {"t": table}).to_pylist())) for sql in queries]
        assert session.spark.conf.get("spark.sql.codegen.factoryMode") == "NO_CODEGEN"
        monkeypatch.setattr(plans, "_FEW_ROWS", 0)
        many = [sorted(map(repr, session.query(sql, {"t": table}).to_pylist())) for sql in queries]
        assert many == few
        assert session.spark.conf.get("spark.sql.codegen.factoryMode") == "FALLBACK"


@contextmanager
def _session_of(spark: SparkEngine) -> Iterator[Session]:
    """A session beside the engine's own."""
    spark.wait()
    session = attach()
    assert session is not None
    yield session


def test_a_struct_that_is_null_may_have_fields_that_never_are(spark: SparkEngine) -> None:
    rows = {"t": pa.table({"a": pa.array([1, 2, None], pa.int64())})}
    sql = """SELECT q.s, array(q.s) AS l, map('k', q.s) AS m FROM t LEFT JOIN
    (SELECT a, struct(count(*) AS n) AS s FROM t WHERE a > 1 GROUP BY a) q ON q.a = t.a ORDER BY t.a"""
    found = spark.run_over(sql, rows)
    assert found.column("s").to_pylist() == [None, None, {"n": 1}]
    assert found.column("l").to_pylist() == [[None], [None], [{"n": 1}]]
    assert found.column("m").to_pylist() == [[("k", None)], [("k", None)], [("k", {"n": 1})]]


def test_rows_without_columns_can_be_counted(spark: SparkEngine) -> None:
    with Spool(pa.schema([])) as spool:
        spool.append(pa.RecordBatch.from_pydict({"x": list(range(9))}).select([]))
        assert spark.run("SELECT count(*) AS n FROM v", "v", spool).to_pylist() == [{"n": 9}]


@pytest.mark.parametrize(
    ("message", "lost"), [("Spark: [DIVIDE_BY_ZERO] no", False), (f"Spark: {CONNECTION_LOST}", True)]
)
def test_what_spark_says_is_passed_on_without_waiting_for_its_end(
    message: str, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the JVM ends is waited for only where the connection to it broke."""
    asked: list[bool] = []

    class Running:
        def exit_code(self, *, lost: bool) -> None:
            asked.append(lost)

    monkeypatch.setattr(_SHARED, "jvm", Running())
    error = SparkError(message)
    assert SparkEngine()._explained(error) is error
    assert asked == [lost]


def test_the_session_speaks_utc_and_ansi(spark: SparkEngine) -> None:
    one = pa.table({"x": [1]})
    result = spark.run(
        "SELECT current_timezone() AS z, CAST('2026-07-01 12:00:00' AS timestamp) AS t, x, x, NULL AS nothing FROM v",
        "v",
        one,
    )
    assert result.column(0).to_pylist() == ["UTC"]
    assert result.column(1).to_pylist() == [dt.datetime(2026, 7, 1, 12, tzinfo=UTC)]
    assert result.schema.names == ["z", "t", "x", "x", "nothing"]
    assert all(field.nullable for field in result.schema)


@pytest.mark.parametrize(
    ("sql", "message"),
    every_row(4, [
        (
            "SELECT nope FROM v",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `nope`",
        ),
        ("SELECT x FROM v GROUP BY", "PARSE_SYNTAX_ERROR"),
        ("SELECT x FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhere` cannot be found"),
        ("SELECT x, count(*) FROM v", "MISSING_GROUP_BY"),
        ("SELECT x / (x - x) FROM v", "DIVIDE_BY_ZERO] Division by zero"),
        ("SELECT CAST(concat('a', x) AS int) FROM v", "CAST_INVALID_INPUT] The value 'a1'"),
        ("SELECT x + 9223372036854775807 FROM v", "ARITHMETIC_OVERFLOW"),
        ("SELECT raise_error('boo') FROM v", "USER_RAISED_EXCEPTION] boo"),
        ("SELECT sum(CAST(x AS string) > 'a') FROM v", "DATATYPE_MISMATCH"),
    ]),
)  # fmt: skip
def test_errors_are_sparks_own_first_line(
    spark: SparkEngine, sql: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SparkError) as caught:
        spark.run(sql, "v", pa.table({"x": [1, 2, 3]}))
    text = str(caught.value)
    assert text.startswith("Spark: [")
    assert message in text
    for noise in ("\n", "\tat ", "JVM stacktrace", "SQLSTATE", "org.apache.spark", "'Project"):
        assert noise not in text
    assert capfd.readouterr() == ("", "")


def test_engines_of_one_process_share_a_jvm(spark: SparkEngine) -> None:
    spark.wait()
    with SparkEngine() as other:
        other.wait()
        assert other.pid == spark.pid
        assert other.run("SELECT 1 AS one", "v", pa.table({"x": [1]})).to_pylist() == [{"one": 1}]
        with pytest.raises(SparkError, match="TABLE_OR_VIEW_NOT_FOUND"):
            other.run("SELECT * FROM v", "w", pa.table({"x": [1]}))
    assert spark.run("SELECT 2 AS two", "v", pa.table({"x": [1]})).to_pylist() == [{"two": 2}]
    with SparkEngine(master="local[1]") as third, pytest.raises(SparkError, match="already runs with master"):
        third.wait()


def test_a_stopped_engine_says_so(spark: SparkEngine) -> None:
    spark.wait()
    other = SparkEngine()
    other.wait()
    other.stop()
    with pytest.raises(SparkError, match="stopped"):
        other.run("SELECT 1", "v", pa.table({"x": [1]}))
    assert not other.ready()


def test_a_log_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    jvm = GatewayJVM({}, cluster=False, log_file=tmp_path / "no" / "where.log")
    with pytest.raises(SparkError, match="cannot log to"):
        jvm.boot()
    assert not jvm.scratch.exists()


def test_py4j_cannot_log_to_the_root_logger(spark: SparkEngine, logged: list[logging.LogRecord]) -> None:
    spark.wait()
    root = logging.getLogger()
    for path in ("/x/py4j/java_gateway.py", "/x/mine.py"):
        root.handle(root.makeRecord("root", logging.ERROR, path, 1, "from %s", (path,), None))
    assert [record.getMessage() for record in logged if record.name == "root"] == ["from /x/mine.py"]


def test_the_functions_known_before_spark_is_up_are_those_it_has(spark: SparkEngine) -> None:
    spark.wait()
    names = [row[0] for row in spark._session.spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    assert {name for name in names if name.replace("_", "").isalnum()} <= SPARK_FUNCTIONS
