"""The engine's Spark: starts in a thread of its own, answers SQL over Arrow data, and ends at once.

Importing this module is cheap; pyspark is imported while the JVM boots.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa

from fff.errors import SparkError
from fff.spark.start.jvm import CONNECTION_LOST, START_TIMEOUT_S, GatewayJVM, spark_conf
from fff.spark.start.warm import LOCAL, WarmJVM, is_allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fff.spark.bridge import Session
    from fff.spark.spool import Spool
    from fff.spark.start.cds_archive import Archive

_T = TypeVar("_T")

_STOP_TIMEOUT_S = 5.0
#: What a JVM of one's own is waited for at least, however long the Spark that stays was.
_LEAST_PATIENCE_S = 30.0
#: A server ends sessions that nobody ends, if it must.
_LEAVE_TIMEOUT_S = 1.0
#: With this code the JVM ends itself when memory runs out (-XX:+ExitOnOutOfMemoryError).
_OUT_OF_MEMORY = 3
#: Through grouping, sorting and both ways across: what this loads, the first query need not.
_WARM_UP = "SELECT k, count(*) AS n, sum(v) AS s FROM fff_warm_up GROUP BY k ORDER BY n DESC"


class SparkEngine:
    """Runs the part of a query above the eddy. All methods may be called from any thread.

    Args:
        master: where Spark runs (`spark://…`), `local[*]` unless it is said; ignored with `remote`.
        remote: a Spark Connect server, `sc://…`.
        log_file: where Spark may log; nowhere without one.
        warm: use this user's Spark that stays up between commands where there may be one
            (`fff.spark.start.warm`).

    pyspark allows one JVM per process, so engines of the same master share it; the last one to stop ends it.
    Where a Spark job is already running in this process, the engine is a guest in its session's JVM and
    leaves it alone.
    """

    def __init__(
        self,
        master: str | None = None,
        remote: str | None = None,
        log_file: str | os.PathLike[str] | None = None,
        *,
        warm: bool = False,
    ) -> None:
        self.master = master or LOCAL
        self.remote = remote
        # The Spark that stays logs nowhere, and is nobody else's.
        self.warm = warm and remote is None and log_file is None and self.master == LOCAL and is_allowed()
        self.attached = False  # to this user's Spark that stays, which was up
        self.start_s: float | None = None  # seconds from start() until ready
        self._log_file = Path(log_file) if log_file is not None else None
        self._thread: threading.Thread | None = None
        self._began = 0.0
        self._settled = threading.Event()  # started, failed or stopped
        self._error: SparkError | None = None
        self._session: Session | None = None
        self._wanted = False  # somebody waits: no time for warming up
        self._stopping = False
        self._one_query = threading.Lock()

    def start(self, *, warm_up: bool = True) -> None:
        """Begin to start Spark, in the background; returns at once. Further calls do nothing.

        Unless somebody waits already, a first small query loads what the real one will need; `warm_up` False
        leaves it out, for callers whose own first query comes early and may be slow.
        """
        if self._thread is None:
            self._wanted = not warm_up
            self._began = time.monotonic()
            self._thread = threading.Thread(target=self._start, name="fff-spark-start", daemon=True)
            self._thread.start()

    def check_going(self) -> None:
        """Raise SparkError once the engine is to stop."""
        if self._stopping:
            raise SparkError("Spark was stopped while it started")

    def ready(self) -> bool:
        """Whether a query would run without waiting for the start."""
        return self._session is not None and self._settled.is_set()

    def wait(self) -> None:
        """Start if need be, and block until Spark is ready; raises SparkError when it is not going to be."""
        self.start()
        self._wanted = True
        self._settled.wait()
        if self._error is not None:
            raise self._error
        if self._session is None:
            raise SparkError("Spark was stopped")

    def run(self, sql: str, view: str, data: Spool | pa.Table) -> pa.Table:
        """The result of the SQL, to which the data is known as `view`.

        Waits for Spark to be ready, and for an earlier query of this engine. Timestamps are in UTC,
        arithmetic is ANSI, decimals are exact.

        Raises:
            SparkError: Spark refused the SQL or failed, or was stopped meanwhile.
        """
        return self.run_over(sql, {view: data})

    def run_over(
        self, sql: str, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None = None
    ) -> pa.Table:
        """As `run`, over any number of named tables.

        Ends soon, in an error, once `stop` is set; it is set when it ends.
        """
        return self._asked(lambda session, stop: session.query(sql, views, stop), stop)

    def check(
        self, sql: str, views: Mapping[str, Spool | pa.Table], stop: threading.Event | None = None
    ) -> pa.Table:
        """Let Spark judge a query over any number of named tables without running it: the names and types of its columns.

        `stop` as in `run_over`. Raises SparkError.
        """
        return self._asked(lambda session, stop: session.check(sql, views, stop), stop)

    def judged(self, expressions: Sequence[str], view: str) -> list[str]:
        """The types of expressions over a view, or in brackets the class of what is wrong with their arguments' types. Raises SparkError."""
        return self._asked(lambda session, _: session.judged(expressions, view))

    def _asked(
        self, ask: Callable[[Session, threading.Event | None], _T], stop: threading.Event | None = None
    ) -> _T:
        """What the session says, once it is there and nobody else asks it. Raises SparkError.

        Where the Spark that stays has ended meanwhile, one of this process's own is asked once more.
        """
        self.wait()
        with self._one_query:
            session = self._session
            if session is None:
                raise SparkError("Spark was stopped")
            try:
                try:
                    return ask(session, stop)
                except SparkError as error:
                    own = (
                        None if self._stopping or CONNECTION_LOST not in error.message else _SHARED.own(self)
                    )
                    if own is None:
                        raise
                self._session = own
                return ask(own, None)  # `stop` was set as the first attempt ended
            except SparkError as error:
                raise self._explained(error) from error.__cause__

    def frame(self, table: pa.Table) -> Any:
        """The rows as a Spark DataFrame, which is of use until `stop`. Raises SparkError."""
        self.wait()
        session = self._session
        if session is None:
            raise SparkError("Spark was stopped")
        return session.frame(table)

    def stop(self) -> None:
        """End Spark without waiting for it to tidy up; its files go too. A query under way fails."""
        self._stopping = True
        thread, starting = self._thread, not self._settled.is_set()
        session, self._session = self._session, None
        _SHARED.leave(self)
        if session is not None and self.remote is not None:
            # Beside: a query under way, or a server that does not answer, holds nobody up.
            leaving = threading.Thread(target=session.leave_remote, name="fff-spark-leave", daemon=True)
            leaving.start()
            leaving.join(_LEAVE_TIMEOUT_S)
        if thread is not None and starting:
            thread.join(_STOP_TIMEOUT_S)
        self._settled.set()

    @property
    def archive(self) -> Archive | None:
        """Where the archive that makes starting fast is kept, if there is a place for one."""
        return _SHARED.jvm.archive if isinstance(_SHARED.jvm, GatewayJVM) else None

    @property
    def pid(self) -> int | None:
        """The process id of the JVM this process started, None without one."""
        return _SHARED.jvm.pid if _SHARED.jvm is not None and self._session is not None else None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _start(self) -> None:
        """What the start thread does; its outcome is read by `wait`."""
        try:
            session = self._connect()
            self.attached = self.remote is None and _SHARED.attached
            if not self.attached and not self._wanted and not self._stopping:
                session.query(_WARM_UP, {"fff_warm_up": pa.table({"k": ["a", "b"], "v": [1, 2]})})
        except SparkError as error:
            self._error = error
        except BaseException as error:
            self._error = SparkError(f"Spark could not be started: {error}")
            raise
        else:
            if not self._stopping:
                self.start_s = time.monotonic() - self._began
                self._session = session
        finally:
            self._settled.set()

    def _connect(self) -> Session:
        if self.remote is None:
            return _SHARED.join(self, self._log_file)
        from fff.spark.bridge import connect_remote  # noqa: PLC0415 - pyspark only when it is needed

        return connect_remote(self.remote)

    def _explained(self, error: SparkError) -> SparkError:
        """The error, or what is behind it when the JVM is gone."""
        if self._stopping:
            return SparkError("Spark was stopped")
        jvm = _SHARED.jvm
        if jvm is None or self.remote is not None:
            return error
        code = jvm.exit_code(lost=CONNECTION_LOST in error.message)
        if code is None:
            return error
        if code == _OUT_OF_MEMORY:
            return SparkError(
                "Spark ran out of memory",
                hint="Aggregate or filter more, or use a cluster with --spark-master.",
            )
        return SparkError(
            f"the Java process that ran Spark ended with code {code}", hint="Run again with -v for its log."
        )


class _SharedJVM:
    """The one JVM this process may have, and the engines that use it."""

    def __init__(self) -> None:
        self.jvm: GatewayJVM | WarmJVM | None = None
        self._lock = threading.Lock()  # held while joining, which takes as long as starting does
        self.attached = False  # to a JVM that was up before
        self._users: set[SparkEngine] = set()
        self._session: Session | None = None
        self._master: str | None = None

    def join(self, engine: SparkEngine, log_file: Path | None) -> Session:
        """A session for the engine, in the JVM that is there or a new one; raises SparkError."""
        with self._lock:
            if self._session is not None and self._users:
                if engine.master != self._master:
                    raise SparkError(f"Spark already runs with master {self._master} in this process")
                from fff.spark.bridge import attach  # noqa: PLC0415 - pyspark only when it is needed

                session = attach()
                assert session is not None, "there are users, so there is a JVM"
                self._users.add(engine)
                return session
            return self._boot(engine, log_file)

    def leave(self, engine: SparkEngine) -> None:
        """The engine needs its session no more. Ends a JVM without users, also one that is still starting."""
        starting = self._users == {engine} and self._session is None
        if starting and self.jvm is not None:
            self.jvm.kill()  # the thread that holds the lock fails, and lets go of it
            return
        with self._lock:
            if engine not in self._users:
                return
            self._users.remove(engine)
            if not self._users and self.jvm is not None and self._session is not None:
                if isinstance(self.jvm, GatewayJVM):
                    self.jvm.leave_archive()
                self._end(self.jvm)

    def _boot(self, engine: SparkEngine, log_file: Path | None) -> Session:
        guest = _guest()
        if guest is not None:
            return guest
        # With it set, pyspark takes every session of the process for a remote one. FFF's own option is
        # --spark-remote.
        os.environ.pop("SPARK_REMOTE", None)
        self._users, self._master = {engine}, engine.master
        try:
            # Python's side is imported while Java boots.
            importing = threading.Thread(target=_import_bridge, name="fff-spark-import", daemon=True)
            importing.start()
            began = time.monotonic()
            self._session = self._borrowed() if engine.warm else None
            if self._session is None:
                engine.check_going()
                local = engine.master.startswith("local")
                self.jvm = GatewayJVM(spark_conf(engine.master), cluster=not local, log_file=log_file)
                # A start that was waited for in vain is not waited for once more as long.
                left = START_TIMEOUT_S - (time.monotonic() - began)
                port, secret = self.jvm.boot(max(left, _LEAST_PATIENCE_S))
                importing.join()
                from fff.spark.bridge import connect  # noqa: PLC0415 - pyspark only when it is needed

                self._session = connect(port, secret, shared=False)
        except BaseException:
            self._users = set()
            if self.jvm is not None:
                self._end(self.jvm)
            raise
        return self._session

    def _borrowed(self) -> Session | None:
        """A session in the Spark that stays; None where there is none for this process."""
        self.jvm = warm = WarmJVM()
        try:
            port, secret = warm.boot()
            from fff.spark.bridge import connect  # noqa: PLC0415 - pyspark only when it is needed

            warm.use()
            session = connect(port, secret, shared=True)
        except SparkError:
            warm.kill()
            self.jvm = None
            return None
        self.attached = warm.was_up
        return session

    def own(self, engine: SparkEngine) -> Session | None:
        """A session in a JVM of this process's own in place of the Spark that stays; None where that is not what ended."""
        with self._lock:
            if not isinstance(self.jvm, WarmJVM) or self.jvm.exit_code(lost=True) is None:
                return None
            self._end(self.jvm)
            engine.warm = False
            return self._boot(engine, None)

    def _end(self, jvm: GatewayJVM | WarmJVM) -> None:
        if self._session is not None:
            if isinstance(jvm, WarmJVM) and self._session.give_back():
                jvm.give_back()
            self._session.part()
        jvm.kill()
        if self._session is not None:
            self._session.close()
        self.jvm = self._session = self._master = None
        self.attached = False


_SHARED = _SharedJVM()


def users_session() -> Any:
    """The Spark session that this process's program works with; None without one, or where the JVM is FFF's own."""
    if "pyspark" not in sys.modules or _SHARED.jvm is not None:
        return None
    from fff.spark.bridge import active_session  # noqa: PLC0415 - pyspark is imported already

    return active_session()


def _import_bridge() -> None:
    import fff.spark.bridge  # noqa: F401, PLC0415 - for its effect on sys.modules


def _guest() -> Session | None:
    """A session in the Spark that somebody else started in this process, if there is one."""
    if "pyspark" not in sys.modules:
        return None
    from fff.spark.bridge import attach  # noqa: PLC0415 - pyspark is imported already

    return attach()
