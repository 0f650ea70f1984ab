"""The only module that imports pyspark and py4j: connects to a JVM or a Spark Connect server, and runs SQL there.

Its loggers and warnings stay quiet here, and its exceptions become `SparkError`.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import threading
import warnings
from contextlib import ExitStack, contextmanager, suppress
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.finalizer import ThreadSafeFinalizer
from py4j.java_gateway import java_import
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext, TaskContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.classic import dataframe as _dataframe  # noqa: F401 - imported now, not by the first query
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.conversion import SparkConversionMixin
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType, VariantType

try:  # since Spark 4.2
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:
    ReadAllAvailable = ReadMaxRows = SupportsTriggerAvailableNow = object

from fff.errors import SparkError
from fff.spark.carriers import has_strict_fields, with_nulls
from fff.spark.converters import OnlyFor
from fff.spark.messages import locate, short
from fff.spark.plans import RowsConf, check_is_query, has_script, is_over_few_rows, type_or_complaint
from fff.spark.spool import Spool
from fff.spark.start.jvm import CONNECTION_LOST
from fff.spark.start.remote import reach
from fff.spark.tables import nullable, unsliced
from fff.version import how_to_install

if TYPE_CHECKING:
    import socketserver
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "SESSION_CONF",
    "DataSource",
    "DataSourceReader",
    "DataSourceStreamReader",
    "InputPartition",
    "ReadAllAvailable",
    "ReadMaxRows",
    "Session",
    "SupportsTriggerAvailableNow",
    "TaskContext",
    "active_session",
    "arrow_schema",
    "attach",
    "connect",
    "connect_remote",
    "frame_in",
    "use_this_python",
]

#: The rules every query runs under, whatever session it is given.
SESSION_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
    # Arrow writes the calendar Spark 3 and later use; nothing in our files needs rebasing.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # Listing our own files in a distributed job costs more than it saves.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
}

_IMPORTS = (
    "org.apache.spark.SparkConf",
    "org.apache.spark.api.java.*",
    "org.apache.spark.api.python.*",
    "org.apache.spark.ml.python.*",
    "org.apache.spark.mllib.api.python.*",
    "org.apache.spark.resource.*",
    "org.apache.spark.sql.Encoders",
    "org.apache.spark.sql.OnSuccessCall",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.*",
    "org.apache.spark.sql.api.python.*",
    "org.apache.spark.sql.hive.*",
    "scala.Tuple2",
)

#: How often to ask again a server that has gone, which takes some five seconds in all.
_REMOTE_RETRIES = 4
#: Seconds between two attempts to cancel the jobs of a query that is to end.
_STOP_AGAIN_S = 0.1
#: How many texts are remembered to be queries: one statement is asked again and again for the live view.
_REMEMBERED = 1000


class Session:
    """A Spark session that takes named Arrow data and SQL, and gives Arrow back."""

    def __init__(self, spark: Any, *, reads_files: bool, gateway: Any = None) -> None:
        self.spark = spark
        self._reads_files = reads_files  # executors see this machine's files
        self._gateway = gateway
        self._asked = 0  # queries under way
        self._queries: set[str] = set()  # what is known to be a query
        self._rows_conf = (
            RowsConf(spark) if reads_files else None
        )  # None once somebody runs queries of their own
        with _mapped():
            for name, value in SESSION_CONF.items():
                spark.conf.set(name, value)

    def query(
        self, sql: str, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None = None
    ) -> pa.Table:
        """The result of the SQL over the named data; raises SparkError, soon once `stop` is set, also for what is no query."""
        with self._over(views, stop, sql) as go_on:
            frame = _carried(self._checked(sql))
            go_on()
            if self._rows_conf is not None:
                rows = sum(one.rows if isinstance(one, Spool) else one.num_rows for one in views.values())
                self._rows_conf.suit(few=is_over_few_rows(frame, rows))
            return nullable(frame.toArrow())

    def check(
        self, sql: str, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None = None
    ) -> pa.Table:
        """The columns' names and types of a query over the named data, which is not run. Raises SparkError."""
        with self._over(views, stop, sql):
            if sql not in self._queries:
                self._checked(sql)
            return nullable(self.spark.sql(f"DESCRIBE QUERY {sql}").toArrow())

    def judged(self, expressions: Sequence[str], view: str) -> list[str]:
        """Each expression's type over a view, or the error class of its arguments' types. Raises SparkError."""
        with _mapped():
            state = self.spark._jsparkSession.sessionState()  # noqa: SLF001 - asking one by one takes a hundred times as long
            parsed = state.sqlParser().parsePlan(f"SELECT {', '.join(expressions)} FROM {view}")  # noqa: S608 - parsed, and never run
            analyzed = state.analyzer().execute(parsed).expressions()
            return [type_or_complaint(analyzed.apply(place)) for place in range(analyzed.size())]

    def _checked(self, sql: str) -> Any:
        """The data frame of a query. Spark is asked for nothing else: it runs commands the moment it sees them."""
        if sql in self._queries:
            return self.spark.sql(sql)
        check_is_query(self.spark, sql)
        frame = self.spark.sql(sql)
        if hasattr(frame, "_jdf") and has_script(frame):
            raise SparkError("Spark: TRANSFORM would run a program, and FFF only reads")
        if len(self._queries) == _REMEMBERED:
            self._queries.clear()
        self._queries.add(sql)
        return frame

    @contextmanager
    def _over(
        self, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None, sql: str
    ) -> Iterator[Callable[[], None]]:
        """The named data as views, gone afterwards. What is yielded raises SparkError once `stop` is set."""
        _be_quiet()
        with _mapped(sql), _held(views, self._reads_files) as held, self._stopped_by(stop) as check:
            self._asked += 1
            try:
                for name, data in held.items():
                    check()
                    self._frame(*data).createOrReplaceTempView(f"`{name}`")
                yield check
            finally:
                self._forget(held)
                self._asked -= 1

    @contextmanager
    def _stopped_by(self, stop: threading.Event | None) -> Iterator[Callable[[], None]]:
        """Cancel the jobs of this thread once `stop` is set. What is yielded raises SparkError from then on.

        A job may begin just as the others are cancelled, so they are cancelled again and again until the end.
        """
        if stop is None:
            yield lambda: None
            return
        tag, over = f"fff-{secrets.token_hex(8)}", threading.Event()

        def watch() -> None:
            stop.wait()
            while not over.wait(_STOP_AGAIN_S):
                with suppress(SparkError), _mapped():
                    self.spark.interruptTag(tag)

        def check() -> None:
            if stop.is_set():
                raise SparkError("Spark was told to stop the query")

        check()
        self.spark.addTag(tag)
        threading.Thread(target=watch, name="fff-spark-cut", daemon=True).start()
        try:
            yield check
        finally:
            over.set()
            stop.set()
            with suppress(SparkError), _mapped():
                self.spark.removeTag(tag)

    def frame(self, table: pa.Table) -> Any:
        """A data frame of the rows, of this session; raises SparkError."""
        conf, self._rows_conf = self._rows_conf, None
        if conf is not None:
            with _mapped():
                conf.suit(few=False)
        return frame_in(self.spark, table)

    def part(self) -> None:
        """Before the JVM is killed: let py4j send it nothing more, such as which objects are no longer needed."""
        if self._gateway is not None:
            self._gateway._gateway_client.is_connected = False  # noqa: SLF001 - closing it would ask the JVM first

    def give_back(self) -> bool:
        """Let a JVM that others will use drop all it holds for this process; False where a query is under way or it is gone."""
        if self._asked:
            return False
        client = self._gateway._gateway_client  # noqa: SLF001 - py4j itself would do it one by one, some time
        of_this = f"{client.address}{client.port}"
        held = {
            name.removeprefix(of_this)
            for name in list(ThreadSafeFinalizer.finalizers)
            if name.startswith(of_this)
        }
        dropped = {task[1] for task in list(client.finalizer_deque) if isinstance(task, tuple)}
        try:
            for target in held | dropped:
                client.garbage_collect_object(target, False)
        except (Py4JError, OSError):
            return False
        return True

    def leave_remote(self) -> None:
        """End a session on a server, which is asked once and may be gone."""
        self.spark.client.set_retry_policies([])
        with suppress(SparkError), _mapped():
            self.spark.stop()

    def close(self) -> None:
        """Let go of a JVM that is gone or about to be, so that another may be started in this process."""
        if self._gateway is None:
            return
        gateway, self._gateway = self._gateway, None
        _forget_context(gateway)

    def _frame(self, schema: pa.Schema, source: pa.Table | list[str] | int) -> Any:
        """A data frame with the schema's column names and exactly its types."""
        if isinstance(source, int):  # rows without columns: only their number can be asked for
            return self.spark.range(source).toDF("_")
        if isinstance(source, list):
            return self.spark.read.schema(_types(schema)).parquet(*source).toDF(*schema.names)
        return _frame_of(self.spark, source)

    def _forget(self, views: Mapping[str, Any]) -> None:
        for name in views:
            self.spark.catalog.dropTempView(name)


def connect(port: int, secret: str, *, shared: bool) -> Session:
    """A session in the JVM whose gateway listens there, with the configuration it was started with.

    `shared`: other processes have sessions there as well, and none sees another's views and settings.
    """
    _be_quiet()
    with _mapped():
        gateway = ClientServer(
            java_parameters=JavaParameters(port=port, auth_token=secret, auto_convert=True),
            python_parameters=PythonParameters(port=0, eager_load=False),
        )
        client = gateway._gateway_client  # noqa: SLF001 - there is no other way to its converters
        client.converters = [
            OnlyFor(one, "numpy") if "Numpy" in type(one).__name__ else one for one in client.converters
        ]
        try:
            for name in _IMPORTS:
                java_import(gateway.jvm, name)
            conf, running = SparkConf(_jvm=gateway.jvm), None
            if shared:
                spark_context = getattr(gateway.jvm, "org.apache.spark.SparkContext").getOrCreate(conf._jconf)  # noqa: SLF001
                running = gateway.jvm.JavaSparkContext.fromSparkContext(spark_context)
            context = SparkContext(gateway=gateway, conf=conf, jsc=running)
            spark = SparkSession(context)
            spark = spark.newSession() if shared else spark
        except BaseException:
            SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - else it would be taken for a running one
            gateway.close()
            raise
        return Session(spark, reads_files=context.master.startswith("local"), gateway=gateway)


def attach() -> Session | None:
    """A session of its own in the Spark this process already runs, None when it runs none."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - asking the public way would start one
    if context is None or SparkContext._gateway is None:  # noqa: SLF001
        return None
    _be_quiet()
    with _mapped():
        return Session(SparkSession(context).newSession(), reads_files=context.master.startswith("local"))


def active_session() -> Any:
    """The session that this process's program works with, None without one."""
    if SparkContext._active_spark_context is None:  # noqa: SLF001 - asking the public way would start one
        return None
    with _mapped():
        return SparkSession.getActiveSession() or SparkSession._instantiatedSession  # noqa: SLF001


def frame_in(spark: Any, table: pa.Table) -> Any:
    """A data frame of the rows, of anybody's session, which stays as it is configured; raises SparkError."""
    with _mapped():
        return _frame_of(spark, table)


def use_this_python() -> None:
    """Let the workers of a Spark on this machine be this Python, unless somebody has said which one they shall be.

    Otherwise Spark takes the first python3 in PATH, which may know nothing of this environment.
    """
    context = SparkContext._active_spark_context  # noqa: SLF001 - asking the public way would start one
    if context is None or not context.master.startswith("local"):
        return
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable


def arrow_schema(types: Any) -> Any:
    """The Arrow schema in which Spark takes rows of a struct type from a data source."""
    # UTC has been the default before the argument was introduced.
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(types, **zone)


def connect_remote(url: str) -> Session:
    """A session on a Spark Connect server; raises SparkError also where its client is not installed."""
    _be_quiet()
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - an optional extra
        from pyspark.sql.connect.session import SparkSession as RemoteSession  # noqa: PLC0415
    except ImportError as error:
        raise SparkError(
            f"--spark-remote needs packages that are not installed: {_message(error)}",
            hint=f"install them: {how_to_install('connect')}",
        ) from error
    with _mapped():
        builder = RemoteSession.builder.remote(url)
        reach(url)
        spark = builder.create()
        # Its own patience is ten minutes, in which nobody would know that the server is gone.
        spark.client.set_retry_policies([DefaultPolicy(max_retries=_REMOTE_RETRIES)])
        return Session(spark, reads_files=False)


def _forget_context(gateway: Any) -> None:
    """Undo what pyspark keeps per process about a JVM, without asking the JVM, which is gone."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - pyspark has no way to drop a dead JVM
    if context is not None and SparkContext._gateway is gateway:  # noqa: SLF001
        server: socketserver.BaseServer = context._accumulatorServer  # noqa: SLF001
        context._jsc = None  # noqa: SLF001
        # Its loop looks up twice a second; nobody needs to wait for that.
        threading.Thread(target=_close_server, args=(server,), name="fff-spark-close", daemon=True).start()
        SparkContext._active_spark_context = None  # noqa: SLF001
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001
    gateway.close()


def _close_server(server: socketserver.BaseServer) -> None:
    server.shutdown()
    server.server_close()


def _be_quiet() -> None:
    """Keep what pyspark and py4j have to say to themselves off the terminal."""
    for name in ("py4j", "pyspark"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_from_py4j)  # it reports a lost connection to the root logger
    warnings.filterwarnings("ignore", module=r"(pyspark|py4j)(\.|$)")


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


@contextmanager
def _held(views: Mapping[str, Spool | pa.Table], reads_files: bool) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Each view's schema and rows, kept where they are until the query is over."""
    with ExitStack() as stack:
        held: dict[str, tuple[Any, Any]] = {}
        for name, data in views.items():
            if not data.schema.names:
                held[name] = (data.schema, data.rows if isinstance(data, Spool) else data.num_rows)
            elif not isinstance(data, Spool):
                held[name] = (data.schema, data)
            elif reads_files:
                source = stack.enter_context(data.reading())
                held[name] = (
                    data.schema,
                    [str(path) for path in source] if isinstance(source, list) else source,
                )
            else:
                held[name] = (data.schema, data.table())
        yield held


def _frame_of(spark: Any, table: pa.Table) -> Any:
    """A data frame with the table's column names and exactly its types."""
    types = _types(table.schema)
    # What the session itself has of that name imports pandas first, which takes longer than many a query.
    make = SparkConversionMixin if isinstance(spark, SparkSession) else type(spark)
    frame = make.createDataFrame(spark, unsliced(table).rename_columns(types.fieldNames()), schema=types)
    return frame.toDF(*table.schema.names)


def _types(schema: pa.Schema) -> Any:
    """The schema in Spark's words.

    Any column name at all may come in; Spark's readers are spared the odd ones.
    """
    fields = [pa.field(f"c{index}", kind) for index, kind in enumerate(schema.types)]
    return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)


def _carried(frame: Any) -> Any:
    """The same frame; what Arrow has no type for, as intervals of months and variants, is the text that Spark writes for it.

    An empty `array()` or `map()` is one of elements without a type, a struct one of fields that may be NULL.
    """
    odd = {f"c{at}": field for at, field in enumerate(frame.schema.fields) if not _has_arrow_type(field)}
    if not odd:
        return frame
    renamed = frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))
    kinds = {name: StructField.fromJson(with_nulls(field.jsonValue())) for name, field in odd.items()}
    carriers = {name: kind.dataType if _has_arrow_type(kind) else "string" for name, kind in kinds.items()}
    columns = {name: renamed[name].cast(carrier) for name, carrier in carriers.items()}
    return renamed.withColumns(columns).toDF(*frame.columns)


def _has_arrow_type(field: StructField) -> bool:
    if isinstance(field.dataType, VariantType) or has_strict_fields(field.dataType.jsonValue()):
        return False  # Arrow would get its bytes, or refuse NULLs
    try:
        arrow_schema(StructType([field]))
    except (PySparkException, ValueError):  # Arrow itself refuses what an empty array() is made of
        return False
    return True


@contextmanager
def _mapped(sql: str = "") -> Iterator[None]:
    """Turn what pyspark and py4j raise, of a query where there is one, into SparkError with Spark's own short message."""
    try:
        yield
    except PySparkException as error:
        refused = SparkError(short(_message(error)))
        with suppress(PySparkException, Py4JError, ConnectionError, NotImplementedError):
            locate(refused, error.getQueryContext(), str(error), sql)
        raise refused from error
    except Py4JJavaError as error:
        raise SparkError(short(_cause(error.java_exception))) from error
    except (Py4JError, ConnectionError, EOFError) as error:
        raise SparkError(f"Spark: {CONNECTION_LOST}") from error


def _cause(exception: Any) -> str:
    """What the innermost of a chain of Java exceptions says: the outer ones only tell how it got here."""
    try:
        message = str(exception.getMessage() or exception.getClass().getSimpleName())
        while (exception := exception.getCause()) is not None:
            message = str(exception.getMessage() or message)
    except (Py4JError, ConnectionError):  # asks the JVM, which may be what failed
        return CONNECTION_LOST
    return message


def _message(error: Exception) -> str:
    try:
        message = error.getMessage() if isinstance(error, PySparkException) else None
        return str(message or error)
    except (Py4JError, ConnectionError):  # asks the JVM, which may be what failed
        return CONNECTION_LOST
