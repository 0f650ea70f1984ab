"""The gateway JVM: started directly, silent, in a session of its own, and gone when this process is.

Starting it without Spark's shell scripts saves two JVMs and a second. It exits by itself when its standard
input closes, which the operating system sees to however this process ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fff.errors import SparkError
from fff.spark.start.cds_archive import Archive, archive_for
from fff.spark.start.java import find_java
from fff.spark.temp_folders import make_scratch, remove_scratch

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Said of a query whose connection to the JVM broke, which may be because the JVM is gone.
CONNECTION_LOST = "the connection was lost"
START_TIMEOUT_S = 180.0
_POLL_S = 0.01
_LEAST_ROOM = 1 << 20  # bytes free on a disk; one with less is full for a JVM
_ENDING_S = 0.2

#: What Spark reaches into and Java has closed since version 17.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)

#: Variables that would point this Spark at another one, or at another way of starting.
_FOREIGN = (
    "SPARK_HOME",
    "SPARK_REMOTE",
    "SPARK_LOCAL_DIRS",
    "SPARK_CONF_DIR",
    "SPARK_MASTER",
    "SPARK_API_MODE",
)

#: A JVM that nobody uses gives memory back, after a minute.
_WHEN_IDLE = ("-XX:G1PeriodicGCInterval=60000", "-XX:MinHeapFreeRatio=5", "-XX:MaxHeapFreeRatio=20")

_QUIET_LOG = "status = off\nrootLogger.level = off\n"
_FILE_LOG = """status = off
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


class _EndedEarlyError(SparkError):
    """The JVM ended by itself before its gateway answered."""


class GatewayJVM:
    """A JVM with a Py4J gateway.

    Args:
        conf: Spark configuration.
        cluster: Spark runs elsewhere, so the user's Spark and Hadoop configuration applies.
        log_file: where Spark may log; nowhere without one.
        lasting: it stays up when nobody uses it, and then gives memory back.

    Raises:
        SparkError: there is no usable Java, or no temporary folder.
    """

    def __init__(
        self, conf: Mapping[str, str], *, cluster: bool, log_file: Path | None, lasting: bool = False
    ) -> None:
        self._lasting = lasting
        self._stopped = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._cluster = cluster
        self._log_file = log_file.absolute() if log_file is not None else None
        self._jars = spark_jars()
        self.java = find_java()
        self.archive = archive_for(self.java, self._jars)
        try:
            self.scratch = make_scratch("spark")
        except OSError as error:
            raise SparkError(f"no temporary folder for Spark: {error}", hint="Set TMPDIR to one.") from error
        self._conf = {
            **conf,
            "spark.local.dir": str(self.scratch),
            "spark.sql.warehouse.dir": str(self.scratch / "warehouse"),
        }

    def boot(self, patience_s: float = START_TIMEOUT_S) -> tuple[int, str]:
        """Start the JVM; the port its gateway listens on, and the secret it wants to hear.

        It is waited for so long.

        Raises:
            SparkError: it does not start, or `kill` was called meanwhile.
        """
        try:
            self._check_room(self.scratch.parent)  # else it would be waited for in vain
            try:
                return self._boot(self.archive, patience_s)
            except _EndedEarlyError:
                self._check_room(*self._folders)
                if self.archive is None or not self.archive.file.exists():
                    raise
                # Perhaps the archive is damaged in a way the JVM does not notice before it is too late.
                self.archive.discard()
                return self._boot(None, patience_s)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        assert self._process is not None, "boot came first"
        return self._process.pid

    def exit_code(self, *, lost: bool) -> int | None:
        """How the JVM ended, None when it runs on.

        `lost`: the connection is, which breaks a moment before its process is gone.
        """
        if self._process is None:
            return None
        try:
            code = self._process.wait(_ENDING_S if lost else 0)
        except subprocess.TimeoutExpired:
            return None
        if code < 0 and self.archive is not None:
            self.archive.discard()  # it crashed: perhaps over a damaged archive
        return code

    def kill(self) -> None:
        """End the JVM at once and remove its files.

        May be called at any time, from any thread, more than once.
        """
        self._stopped.set()
        self._end_process()
        remove_scratch(self.scratch)

    def leave_archive(self) -> None:
        """After a good run without an archive: see to it that a later start has one."""
        archive = self.archive
        if archive is None or archive.read_only or archive.file.exists():
            return
        if not archive.keep_classes(self._recording):
            archive.make_in_background()

    @property
    def _recording(self) -> Path:
        return self.scratch / "classes"

    def _end_process(self) -> None:
        process = self._process
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # the other end is gone, which was the intention
                process.stdin.close()

    def _boot(self, archive: Archive | None, patience_s: float) -> tuple[int, str]:
        """Start the process and read where its gateway listens."""
        handshake = self.scratch / "gateway"
        handshake.unlink(missing_ok=True)
        command = self._command(archive)
        if self._log_file is None:
            self._process = self._spawn(command, handshake, subprocess.DEVNULL)
        else:
            try:
                # For nobody else to read: it may tell values.
                log = os.open(self._log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    self._process = self._spawn(command, handshake, log)
                finally:
                    os.close(log)
            except OSError as error:
                raise SparkError(f"Spark cannot log to {self._log_file}: {error.strerror}") from error
        deadline = time.monotonic() + patience_s
        while not handshake.exists():
            if self._stopped.wait(_POLL_S):
                raise SparkError("Spark was stopped while it started")
            if (code := self._process.poll()) is not None:
                raise _EndedEarlyError(
                    f"Java ended with code {code} while Spark started ({self.java.binary}, version {self.java.version})",
                    hint=f"{self._look_into_log}; JAVA_HOME chooses another Java.",
                )
            if time.monotonic() > deadline:
                self._end_process()
                self._check_room(*self._folders)
                raise SparkError(
                    f"Spark did not start within {patience_s:.0f} seconds",
                    hint=f"{self._look_into_log}; is there room in {' and in '.join(map(str, self._folders))}?",
                )
        answer = handshake.read_bytes()
        (port, length), secret = struct.unpack(">ii", answer[:8]), answer[8:]
        handshake.unlink()
        assert len(secret) == length, "the gateway renames the file into place when it is complete"
        return port, secret.decode()

    @property
    def _look_into_log(self) -> str:
        none = "Run again with -v and look into the Spark log"
        return none if self._log_file is None else f"Look into {self._log_file}"

    @property
    def _folders(self) -> list[Path]:
        """Where a JVM writes while it starts."""
        kept = [] if self.archive is None or self.archive.read_only else [self.archive.file.parent]
        return [self.scratch.parent, *kept]

    @staticmethod
    def _check_room(*folders: Path) -> None:
        """Raise SparkError where a disk is full."""
        for folder in folders:
            with contextlib.suppress(OSError):  # a folder that is not there is not full
                if shutil.disk_usage(folder).free < _LEAST_ROOM:
                    raise SparkError(
                        f"Spark cannot start: No space left on device in {str(folder)!r}",
                        hint="Make room, or set TMPDIR and XDG_CACHE_HOME to folders with room.",
                    )

    def _spawn(self, command: list[str], handshake: Path, output: int) -> subprocess.Popen[bytes]:
        env = {name: value for name, value in os.environ.items() if self._cluster or name not in _FOREIGN}
        env.pop("SPARK_REMOTE", None)
        env |= {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(handshake)}
        if not self._cluster:
            env["SPARK_LOCAL_IP"] = "127.0.0.1"
        try:
            return subprocess.Popen(  # noqa: S603 - the Java found by find_java
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=env,
                cwd=self.scratch,  # whatever Spark, Derby or a crash writes to the current folder goes with it
                start_new_session=True,  # the terminal's Ctrl-C is ours to handle
            )
        except OSError as error:
            raise SparkError(f"{self.java.binary} cannot be started: {error.strerror}") from error

    def _command(self, archive: Archive | None) -> list[str]:
        logging = self.scratch / "log4j2.properties"
        logging.write_text(_QUIET_LOG if self._log_file is None else _FILE_LOG.format(path=self._log_file))
        classpath = [str(self._jars / "*")]
        if self._cluster:  # the user's Hadoop and Spark configuration says how to reach it
            classpath += [
                path
                for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
                if (path := os.environ.get(name))
            ]
        return [
            str(self.java.binary),
            "-XX:+IgnoreUnrecognizedVMOptions",
            # The second compiler makes the first dozens of queries slower, and hardly one of them is long.
            # With one compiler Java reserves 48 MB for code, which a long session fills.
            "-XX:TieredStopAtLevel=1",
            "-XX:ReservedCodeCacheSize=240m",
            *(_WHEN_IDLE if self._lasting else ()),
            "-XX:MaxRAMPercentage=50",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-UsePerfData",
            f"-XX:ErrorFile={self.scratch / 'hs_err.log'}",
            "-Xlog:disable",
            *(archive.flags(self._recording) if archive is not None else ()),
            *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-Dio.netty.tryReflectionSetAccessible=true",
            f"-Djava.io.tmpdir={self.scratch}",
            f"-Dlog4j2.configurationFile={logging}",
            "-Duser.timezone=UTC",
            "-Duser.language=en",
            "-Duser.country=US",
            "-Dfile.encoding=UTF-8",
            "-cp",
            os.pathsep.join(classpath),
            "org.apache.spark.deploy.SparkSubmit",
            *(part for name, value in self._conf.items() for part in ("--conf", f"{name}={value}")),
            "pyspark-shell",
        ]


def spark_conf(master: str) -> dict[str, str]:
    """Spark's configuration: small and quiet on one machine, and hardly anything of ours on a cluster."""
    conf = {
        "spark.master": master,
        "spark.app.name": "fff",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.structuredLogging.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
        "spark.driver.maxResultSize": "0",
        # The data source fff may need a Spark of its own inside another one's task.
        "spark.executor.allowSparkContext": "true",
    }
    if master.startswith("local"):
        conf |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            # What its pages would show, which nobody sees.
            **{
                f"spark.{what}": "20"
                for what in ("ui.retainedJobs", "ui.retainedStages", "sql.ui.retainedExecutions")
            },
            "spark.sql.shuffle.partitions": str(min(8, os.cpu_count() or 2)),
            # Each table that is sent to all tasks, and each sort, takes a page at least, however small it is,
            # until garbage is collected: 64 MB where nothing is said, 7 GB after a hundred joins.
            "spark.buffer.pageSize": "16m",
        }
    return conf


def spark_jars() -> Path:
    """Spark's jars, as pyspark brings them."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkError("pyspark is not installed", hint="Reinstall fff with its dependencies.")
    jars = Path(spec.origin).parent / "jars"
    # Inside a worker of Spark, pyspark is a zip file, and the jars are those of the Spark that started the
    # worker.
    home = os.environ.get("SPARK_HOME")
    return jars if jars.is_dir() or home is None else Path(home) / "jars"
