"""`fff.dbapi`: PEP 249 over sites that another thread serves, alone and under pandas and SQLAlchemy."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

from fff import dbapi
from tests.api.conftest import Publish
from tests.api.sites import JOIN, ROWS, TABLES, site
from tests.engine.site import Site, access

PROJECT = Path(__file__).resolve().parents[2]
EVIL = "x' OR '1'='1"
TEXTS = ["a\\b%'", "a\b%'"]


@pytest.fixture
def spec(publish: Publish) -> Path:
    texts = [(0, "O'Neil?"), (1, EVIL), (2, None)]
    tables = TABLES | {
        "t": access("t", {"a": "int", "c": "string"}) | {"primary_key": ["a"], "description": "Names"}
    }
    here = site()
    return publish(Site(here.tables | {"t": (("a", "c"), texts)}), tables)


def test_the_module_says_what_pep_249_wants() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(dbapi.OperationalError, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert issubclass(dbapi.InterfaceError, dbapi.Error)
    assert not issubclass(dbapi.Warning, dbapi.Error)
    for name in dbapi.__all__:
        assert hasattr(dbapi, name), name
    assert dbapi.DatabaseConnection.ProgrammingError is dbapi.ProgrammingError
    assert dbapi.DateFromTicks(dbapi.Timestamp(2024, 5, 6, 7).timestamp()) == dt.date(2024, 5, 6)


def test_rows_are_fetched_once_in_every_way(spec: Path) -> None:
    with dbapi.connect(spec, seed=1) as connection, connection.cursor() as cursor:
        assert cursor.description is None
        assert cursor.rowcount == -1
        assert cursor.execute(JOIN) is cursor
        assert cursor.rowcount == len(ROWS)
        first, some = cursor.fetchone(), cursor.fetchmany(3)
        assert (len(some), cursor.rownumber) == (3, 4)
        rest = cursor.fetchall()
        assert sorted([first, *some, *rest]) == sorted((a, 10 * b) for a, b in ROWS)
        assert (cursor.fetchone(), cursor.fetchmany(), cursor.fetchall()) == (None, [], [])
        assert sorted(cursor.execute(JOIN)) == sorted((a, 10 * b) for a, b in ROWS)
        connection.commit()
        connection.rollback()


def test_a_value_that_python_has_not_is_an_error_and_costs_no_row(spec: Path) -> None:
    with dbapi.connect(spec) as connection, connection.cursor() as cursor:
        connection.federation.register_table("d", pa.table({"d": pa.array([1, 10**8, 2], pa.date32())}))
        cursor.execute("SELECT d FROM d")
        assert cursor.fetchone() == (dt.date(1970, 1, 2),)
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall):
            with pytest.raises(dbapi.DataError, match="Python has no value"):
                fetch()
        assert cursor.rownumber == 1


def test_columns_are_described(spec: Path) -> None:
    with dbapi.connect(spec) as connection:
        cursor = connection.cursor().execute("SELECT a, c, CAST(a AS DECIMAL(7, 2)) AS d FROM t WHERE a = 0")
    assert cursor.description == (
        ("a", "int", None, None, None, None, None),
        ("c", "string", None, None, None, None, None),
        ("d", "decimal(7,2)", None, None, 7, 2, None),
    )
    kinds = [column[1] for column in cursor.description]
    assert [kind == dbapi.NUMBER for kind in kinds] == [True, False, True]
    assert [kind == dbapi.STRING for kind in kinds] == [False, True, False]
    assert dbapi.NUMBER != dbapi.STRING


@pytest.mark.parametrize(
    ("sql", "parameters", "rows"),
    [
        ("SELECT a FROM t WHERE c = ?", [EVIL], [(1,)]),
        ("SELECT a FROM t WHERE c = ?", ["O'Neil?"], [(0,)]),
        ("SELECT a, '?' AS q FROM t WHERE c=?and a=? -- ?", ("O'Neil?", 0), [(0, "?")]),
        ("SELECT a FROM t WHERE c = :name", {"name": EVIL}, [(1,)]),
        ("SELECT a, ':p1' AS q FROM t WHERE c = ?", ["O'Neil?"], [(0, ":p1")]),
        ("SELECT a FROM t WHERE c = ?", [None], []),
        ("SELECT a FROM t WHERE a IN (?, ?)", [2, 7], [(2,)]),
    ],
)
def test_parameters_are_values(spec: Path, sql: str, parameters: object, rows: list[object]) -> None:
    with dbapi.connect(spec) as connection:
        assert connection.cursor().execute(sql, parameters).fetchall() == rows


def test_errors_are_those_of_pep_249(spec: Path) -> None:
    connection = dbapi.connect(spec)
    cursor = connection.cursor()
    with pytest.raises(dbapi.InterfaceError, match="execute a statement"):
        cursor.fetchone()
    with pytest.raises(dbapi.ProgrammingError, match="nothing") as wrong:
        cursor.execute("SELECT nothing FROM t")
    assert wrong.value.__cause__ is not None
    with pytest.raises(dbapi.ProgrammingError, match=r"2 \?, and there are 1"):
        cursor.execute("SELECT a FROM t WHERE a = ? OR a = ?", [1])
    with pytest.raises(dbapi.ProgrammingError, match="not one string"):
        cursor.execute("SELECT a FROM t WHERE c = ?", "x")
    with pytest.raises(dbapi.NotSupportedError):
        cursor.executemany("SELECT a FROM t WHERE a = ?", [[1]])
    with pytest.raises(dbapi.NotSupportedError):
        cursor.execute("INSERT INTO t VALUES (1, 'x')")
    with pytest.raises(dbapi.InterfaceError, match="execute a statement"):
        cursor.fetchall()  # nothing of an earlier statement is left
    connection.close()
    connection.close()
    for use in (connection.cursor, connection.commit, lambda: cursor.execute("SELECT a FROM t")):
        with pytest.raises(dbapi.InterfaceError, match="closed"):
            use()
    with pytest.raises(dbapi.ProgrammingError, match=r"nowhere\.yaml"):
        dbapi.connect("nowhere.yaml")


def test_an_incomplete_answer_never_looks_complete(spec: Path) -> None:
    with dbapi.connect(spec, max_requests=1) as connection:
        cursor = connection.cursor()
        with pytest.raises(dbapi.OperationalError, match="not complete"):
            cursor.execute("SELECT a, b FROM web.r")
        with pytest.raises(dbapi.InterfaceError):
            cursor.fetchall()
    with dbapi.connect(spec, max_requests=1, on_source_error="partial") as connection:
        with pytest.warns(dbapi.IncompleteAnswer, match="incomplete"):
            cursor = connection.cursor().execute("SELECT a, b FROM web.r")
        assert 0 < len(cursor.fetchall()) < len(ROWS)
        assert not cursor.result.complete
        assert cursor.result.missing[0].table == "web.r"


PARTS = """
import sys
import fff.dbapi
with fff.dbapi.connect(sys.argv[1], max_requests=1, on_source_error="partial") as connection:
    for _ in range(3):
        connection.cursor().execute("SELECT a, b FROM web.r")
"""


def test_every_incomplete_answer_is_warned_of_unless_the_user_says_otherwise(spec: Path) -> None:
    for filters, times in (((), 3), (("-W", "once"), 1), (("-W", "ignore"), 0)):
        command = [sys.executable, *filters, "-c", PARTS, str(spec)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert done.stderr.count("IncompleteAnswer: ") == times, (filters, done.stderr)


@pytest.mark.usefixtures("duck_for_spark")
def test_a_warning_tells_what_is_in_doubt(spec: Path) -> None:
    told = pytest.warns(dbapi.IncompleteAnswer, match=r"numbers are bounds, .*web\.r was not read in full")
    with dbapi.connect(spec, max_requests=1, on_source_error="partial") as connection, told:
        connection.cursor().execute("SELECT count(*) AS n FROM web.r")


def test_pandas_reads_it(spec: Path) -> None:
    pandas = pytest.importorskip("pandas")
    with dbapi.connect(spec) as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas knows SQLAlchemy's connections only
        frame = pandas.read_sql("SELECT a, c FROM t WHERE c = ?", connection, params=[EVIL])
    assert frame.to_dict("list") == {"a": [1], "c": [EVIL]}


@pytest.fixture
def engine(spec: Path):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    entry = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    module, _, name = entry["sqlalchemy.dialects"]["fff"].partition(":")
    sqlalchemy.dialects.registry.register("fff", module, name)
    engine = sqlalchemy.create_engine(f"fff:///{spec}")
    yield engine
    engine.dispose()


def test_sqlalchemy_inspects_it(engine) -> None:
    import sqlalchemy as sa

    seen = sa.inspect(engine)
    assert seen.get_schema_names()[0] == "web"
    assert len(seen.get_schema_names()) > 5  # the bundled catalog
    assert sorted(seen.get_table_names()) == sorted(seen.get_table_names("web")) == ["r", "s", "t"]
    assert seen.has_table("t")
    assert seen.has_table("t", schema="web")
    assert not seen.has_table("t", schema="other")
    assert not seen.has_table("nothing")
    columns = seen.get_columns("t", schema="web")
    assert [(one["name"], type(one["type"])) for one in columns] == [("a", sa.Integer), ("c", sa.String)]
    assert seen.get_pk_constraint("t", "web")["constrained_columns"] == ["a"]
    assert seen.get_foreign_keys("t") == seen.get_indexes("t") == seen.get_unique_constraints("t") == []
    assert seen.get_view_names() == seen.get_check_constraints("t") == []
    assert seen.get_table_comment("t")["text"] == "Names"
    with pytest.raises(sa.exc.NoSuchTableError):
        seen.get_columns("nothing")


def test_sqlalchemy_queries_it(engine) -> None:
    import sqlalchemy as sa

    names = sa.Table("t", sa.MetaData(), schema="web", autoload_with=engine)
    with engine.connect() as connection:
        assert connection.execute(sa.select(names.c.a).where(names.c.c == EVIL)).all() == [(1,)]
        first = sa.select(names.c.a, names.c.c).where(names.c.a.in_([0, 8])).limit(1)
        assert connection.execute(first).all() == [(0, "O'Neil?")]
        assert connection.execute(sa.text("SELECT a FROM t WHERE c = :x"), {"x": EVIL}).scalar() == 1
        assert connection.execute(sa.select(sa.literal(1))).scalar() == 1
        with pytest.raises(sa.exc.ProgrammingError, match="nothing"):
            connection.execute(sa.text("SELECT nothing FROM t"))
    with engine.connect() as connection:
        connection.connection.dbapi_connection.federation.register_table(
            "n", pa.table({"n": TEXTS, "i": [7, -7]})
        )
        n, i = sa.column("n"), sa.column("i")
        for condition in (
            n == sa.literal(TEXTS[0], literal_execute=True),
            n.in_([TEXTS[0]]),
            n.like("a\\\\b\\%'", escape="\\"),
            n.startswith("a\\b%", autoescape=True),
        ):
            wanted = sa.select(n).select_from(sa.table("n")).where(condition)
            assert connection.execute(wanted).all() == [(TEXTS[0],)]
            written = str(wanted.compile(engine, compile_kwargs={"literal_binds": True}))
            assert connection.execute(sa.text(written.replace(":", "\\:"))).all() == [(TEXTS[0],)]
        halves = sa.select(i // 2, i / 2).select_from(sa.table("n")).order_by(i)
        assert connection.execute(halves).all() == [(-4, -3.5), (3, 3.5)]
    odd = sa.table("odd name", sa.column("x"))
    text = str(
        sa.select(sa.cast(odd.c.x, sa.Text), sa.cast(odd.c.x, sa.Float))
        .offset(2)
        .compile(dialect=engine.dialect)
    )
    assert "`odd name`" in text
    assert "AS STRING" in text
    assert "AS DOUBLE" in text
    assert "LIMIT" not in text
    assert "OFFSET" in text


@pytest.mark.slow
def test_pandas_reads_it_by_sqlalchemy(engine) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_sql_table("t", engine, schema="web")
    assert sorted(frame["a"]) == [0, 1, 2]
    frame = pandas.read_sql("SELECT a, b FROM s WHERE a = 3", engine)
    assert frame.to_dict("list") == {"a": [3], "b": [30]}


def test_urls_say_options(engine, spec: Path) -> None:
    import sqlalchemy as sa

    few = sa.create_engine(f"fff:///{spec}?max_requests=1&keep=true")
    with few.connect() as connection, pytest.raises(sa.exc.OperationalError, match="not complete"):
        connection.execute(sa.text("SELECT a, b FROM web.r"))
    few.dispose()
    for wrong, words in (("nothing=1", "no option 'nothing'"), ("deadline=soon", "deadline .* 'soon'")):
        with pytest.raises(sa.exc.ArgumentError, match=words):
            sa.create_engine(f"fff:///{spec}?{wrong}").connect()
