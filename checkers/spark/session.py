"""A Spark session with little logging, for Python functions that Spark runs in mapInArrow.

Workers start with PYTHONSAFEPATH. They import from a location that contains only this project's
packages. Otherwise, they would import a folder `model/` in the user's directory instead of this
project's package. On a cluster, the location is an archive. With a local master, the location is a
folder of links, so that Python finds the compiled files next to the sources.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import checkers
from checkers import java
from checkers.histories.io.locations import ENDPOINTS, REGIONS
from checkers.spark import connect
from checkers.spark.class_archive import archive_of, reading, writing
from model.faults import InputFault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES: Final = ("model", "reference_impl", "properties", "checkers")
CELLS_PER_BATCH: Final = 64  # a cell is a whole table as bytes
LOCAL: Final = "local[*,2]"  # all cores; a task whose worker was killed runs once again
_ROOT: Final = Path(checkers.__file__).absolute().parent.parent
_FOR_KERNELS: Final = (
    ("spark.sql.execution.arrow.maxRecordsPerBatch", str(CELLS_PER_BATCH)),
    ("spark.sql.session.timeZone", "UTC"),
)
# our jobs have two steps and few rows: compiling them costs more than running them
_INTERPRETED: Final = (("spark.sql.codegen.factoryMode", "NO_CODEGEN"),)
_LOG4J: Final = Path(__file__).with_name("log4j2.properties")
# Java only passes bytes on: its second compiler and a parallel garbage collector take more CPU time
# than they save. It loads 18,000 classes: with a lower MetaspaceSize these cause four full garbage
# collections before the first task runs
_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m"
_MASTER: Final = r"yarn|local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?|(spark|k8s)://.+"
_HADOOP: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_MASTER_TIMEOUT_S: Final = 5.0  # to connect to the master of a cluster
_JAVA_EXIT_TIMEOUT_S: Final = 10.0  # after this Java is killed
_ARCHIVE_TIMEOUT_S: Final = 300.0  # the same for a Java that writes the archive of its classes

# Py4J logs the traceback of every interrupt that it forwards, partly to the root logger, which then
# gets a handler. An interrupt is no error.
logging.getLogger("py4j").propagate = False
logging.getLogger().addFilter(
    lambda record: not (record.exc_info and record.exc_info[0] is KeyboardInterrupt)
)


@contextmanager
def session(
    master: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    compiled: bool = False,
    ui: bool = False,
    writes_archive: Path | None = None,
) -> Generator[SparkSession]:
    """Yields a session on the master. If `master` is None, Spark runs on all local cores.

    If a session is already active, it is reused. For a Spark Connect master, only a Spark Connect
    session is reused. `environment` has the variables that select the Java installation. If
    `compiled` is true, Spark compiles its queries, which saves time if there are many rows. If
    `writes_archive` is a path and the master is local, Java writes an archive of its classes to
    this path.

    Raises InputFault if Java is missing or if the master does not answer. Raises SparkLost if a
    process of Spark is killed.
    """
    # Spark's code generation pays for jobs with many rows
    sql = dict(_FOR_KERNELS if compiled else (*_FOR_KERNELS, *_INTERPRETED))
    if master is not None and master.startswith(connect.SCHEME):
        with connect.connected(master, sql, archive) as remote:
            yield remote
        return
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    from checkers.spark.lost import lost_process

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    require_answer(master or LOCAL)
    chosen = java.choose(environment)
    with tempfile.TemporaryDirectory(prefix="urteil-spark-") as kept:
        folder = Path(kept)
        local = (master or LOCAL).startswith("local")
        options = ""
        if local:
            archived = archive_of(chosen)
            options = writing(writes_archive) if writes_archive else reading(archived)
        home = java.launcher_home(chosen, folder / "java", python_has_spark=local)
        conf = SparkConf().setAppName("urteil").setMaster(master or LOCAL)
        conf.setAll([*sql.items(), *_settings(folder, options, local=local, ui=ui)])
        interrupt = signal.getsignal(signal.SIGINT)
        try:
            with _set(_launch(home, local=local)):
                with _interrupts_deferred():  # else a Java could start that is never ended
                    SparkContext._ensure_initialized(conf=conf)
                context = SparkContext.getOrCreate(conf)
            _restore(interrupt)  # Spark's handler would call Java during a call to Java
            spark = SparkSession(context)
            if not local:
                context.addPyFile(str(archive(folder / "urteil.zip")))
            yield spark
        except Exception as error:
            lost = lost_process(error)
            if lost is None:
                raise
            raise lost from error
        finally:
            _stop_context()
            _restore(interrupt)
            _end_java(_ARCHIVE_TIMEOUT_S if writes_archive else _JAVA_EXIT_TIMEOUT_S)


def is_running() -> bool:
    """Returns True if a Spark session is active in this process. In this case, `session` starts
    no Java.
    """
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None


def ui_address(spark: SparkSession) -> str:
    """Returns the address of Spark's web UI. If this process serves no web UI, returns the text
    `not served by this process`.
    """
    address = None if connect.is_connected(spark) else spark.sparkContext.uiWebUrl
    return address or "not served by this process"


def require_answer(master: str) -> None:
    """Raises InputFault for an invalid master, for YARN without a configuration, and for a
    standalone master that does not answer.
    """
    if not re.fullmatch(_MASTER, master):
        forms = "spark://HOST:PORT, sc://HOST:PORT, k8s://…, yarn or local[2]"
        raise InputFault(f"--master {master}: not a master of Spark; write {forms}")
    if master == "yarn" and not any(os.environ.get(name) for name in _HADOOP):
        raise InputFault(
            "--master yarn: Spark finds YARN by Hadoop's configuration; "
            f"set {' or '.join(_HADOOP)} to its folder"
        )
    if not master.startswith("spark://"):
        return
    # without this check, Spark retries for a minute and then fails with a stack trace
    silent = ""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=_MASTER_TIMEOUT_S).close()
        except (OSError, ValueError) as why:
            silent = str(why)
        else:
            return
    raise InputFault(
        f"--master {master}: no Spark master answers there ({silent}); check host and port"
    )


@contextmanager
def _interrupts_deferred() -> Generator[None]:
    interrupts: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    _restore(lambda number, _frame: interrupts.append(number))
    try:
        yield
    finally:
        _restore(before)
    if interrupts:
        raise KeyboardInterrupt


def _restore(handler: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _settings(folder: Path, options: str, *, local: bool, ui: bool) -> Iterator[tuple[str, str]]:
    yield "spark.ui.enabled", "true" if ui else "false"
    yield "spark.ui.showConsoleProgress", "false"
    yield "spark.executorEnv.PYTHONSAFEPATH", "1"
    yield "spark.executorEnv.OPENBLAS_NUM_THREADS", "1"  # NumPy's other threads would only spin
    for name in (*ENDPOINTS, *REGIONS):  # where stores are; credentials are never sent
        if value := os.environ.get(name):
            yield f"spark.executorEnv.{name}", value
    logging_as = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"
    yield "spark.driver.extraJavaOptions", f"{_JAVA} {logging_as} {options}".rstrip()
    yield "spark.sql.warehouse.dir", str(folder / "warehouse")
    if local:
        cores = os.cpu_count() or 1
        yield "spark.sql.shuffle.partitions", str(cores)
        yield "spark.default.parallelism", str(cores)
        yield "spark.local.dir", str(folder / "local")
        yield "spark.driver.host", "127.0.0.1"
        yield "spark.driver.bindAddress", "127.0.0.1"
        yield "spark.executorEnv.PYTHONPATH", str(linked(folder / "packages"))


def linked(folder: Path) -> Path:
    """Creates a folder that contains only links to this project's packages. Returns the folder."""
    folder.mkdir(parents=True)
    for package in PACKAGES:
        (folder / package).symlink_to(_ROOT / package)
    return folder


def archive(path: Path) -> Path:
    """Creates an archive that contains only the Python files of this project's packages. Returns
    its path.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for package in PACKAGES:
            for source in sorted((_ROOT / package).rglob("*.py")):
                file.write(source, source.relative_to(_ROOT))
    return path


def _launch(home: Path, *, local: bool) -> Mapping[str, str | None]:
    here = {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": None,
        "PYSPARK_SUBMIT_ARGS": None,
        "SPARK_LOCAL_HOSTNAME": "localhost",  # that of a container may have no address
        "SPARK_LOCAL_IP": "127.0.0.1",  # where the web UI listens
    }
    return {"JAVA_HOME": str(home), **(here if local else {})}


@contextmanager
def _set(wanted: Mapping[str, str | None]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    _put(wanted)
    try:
        yield
    finally:
        _put(before)


def _put(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _stop_context() -> None:
    from pyspark import SparkContext

    from checkers.spark.lost import is_unanswered

    started = SparkContext._active_spark_context
    if started is None:
        return
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        try:
            started.stop()
        except Exception as error:
            if not is_unanswered(error):
                raise
            started.stop()  # Java is gone; what is left to stop is in this process


def _end_java(timeout_s: float) -> None:
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        try:
            process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None
