"""One Spark session, quiet, for kernels under mapInArrow.

Workers import our packages from a place that holds nothing else, and start with PYTHONSAFEPATH: a
folder `model/` in the user's directory would otherwise be imported in place of ours. Of a cluster
that place is an archive; here it is a folder of links, so that what is compiled is found beside the
sources.
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
from checkers.spark import connect, java
from model.faults import InputFault

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES: Final = ("model", "reference_impl", "properties", "checkers")
CELLS_PER_BATCH: Final = 64  # a row is a whole table, as bytes
LOCAL: Final = "local[*]"
_ROOT: Final = Path(checkers.__file__).absolute().parent.parent
_FOR_KERNELS: Final = (
    ("spark.sql.execution.arrow.maxRecordsPerBatch", str(CELLS_PER_BATCH)),
    ("spark.sql.session.timeZone", "UTC"),
)
# a plan of two steps over a few cells, which hold tables: to compile it costs more than to run it
_INTERPRETED: Final = (("spark.sql.codegen.factoryMode", "NO_CODEGEN"),)
_LOG4J: Final = Path(__file__).with_name("log4j2.properties")
# Java hands bytes on and computes nothing: its second compiler, and a collector with threads of
# its own, take more CPU time than they save. It loads 18,000 classes: below this threshold memory
# for them is found by collecting all that there is, four times before the first task runs
_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m"
_ANSWERS_WITHIN_S: Final = 5.0  # the master of a cluster
_ENDS_WITHIN_S: Final = 10.0  # Java, once it is told to end; after that it is killed

# Py4J logs the traceback of every interrupt that it passes on, to the root logger some, which gets
# a handler by that. An interrupt is no error.
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
) -> Generator[SparkSession]:
    """A session on the master, all cores of this machine without one; it ends with the block.

    Its plans are `compiled` for who has many rows in them, and not tables in cells.

    InputFault when there is no Java for it, or no master answers. A session that is already there
    is used and kept. `sc://` is the master of `connect`.
    """
    sql = dict(_FOR_KERNELS if compiled else (*_FOR_KERNELS, *_INTERPRETED))
    if master is not None and master.startswith(connect.SCHEME):
        with connect.connected(master, sql, archive) as remote:
            yield remote
        return
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    refuse_silent(master or LOCAL)
    chosen = java.choose(environment)
    with tempfile.TemporaryDirectory(prefix="urteil-spark-") as kept:
        folder = Path(kept)
        local = (master or LOCAL).startswith("local")
        home = java.launcher_home(chosen, folder / "java", python_has_spark=local)
        conf = SparkConf().setAppName("urteil").setMaster(master or LOCAL)
        conf.setAll([*sql.items(), *_settings(folder, local=local)])
        interrupt = signal.getsignal(signal.SIGINT)
        try:
            with _set(_launch(home, local=local)):
                with _interrupt_comes_after():  # else a Java would start that nobody holds
                    SparkContext._ensure_initialized(conf=conf)
                context = SparkContext.getOrCreate(conf)
            _restore(interrupt)  # Spark's own handler calls Java while Java is being called
            spark = SparkSession(context)
            if not local:
                context.addPyFile(str(archive(folder / "urteil.zip")))
            yield spark
        finally:
            started = SparkContext._active_spark_context
            if started is not None:
                with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
                    started.stop()  # warns if Java does not listen any more: it is ended below
            _restore(interrupt)
            _end_java()


def refuse_silent(master: str) -> None:
    """InputFault for a master that Spark does not know, or a standalone one that does not answer.

    Spark itself tries for a minute, and then says so in a stack trace.
    """
    if not re.fullmatch(r"yarn|local(\[.+\])?|(spark|k8s)://.+", master):
        known = "spark://HOST:PORT, sc://HOST:PORT, k8s://…, yarn or local[2]"
        raise InputFault(f"--master {master}: write {known}")
    if not master.startswith("spark://"):
        return
    silent = ""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=_ANSWERS_WITHIN_S).close()
        except (OSError, ValueError) as why:
            silent = str(why)
        else:
            return
    raise InputFault(
        f"--master {master}: no Spark master answers there ({silent}); check host and port"
    )


@contextmanager
def _interrupt_comes_after() -> Generator[None]:
    """An interrupt of the block is raised at its end."""
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    _restore(lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        _restore(before)
    if came:
        raise KeyboardInterrupt


def _restore(handler: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _settings(folder: Path, *, local: bool) -> Iterator[tuple[str, str]]:
    yield "spark.ui.enabled", "false"
    yield "spark.ui.showConsoleProgress", "false"
    yield "spark.executorEnv.PYTHONSAFEPATH", "1"
    logging_as = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"
    yield "spark.driver.extraJavaOptions", f"{_JAVA} {logging_as}"
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
    """A folder, made at the path, in which are our packages and nothing else."""
    folder.mkdir(parents=True)
    for package in PACKAGES:
        (folder / package).symlink_to(_ROOT / package)
    return folder


def archive(path: Path) -> Path:
    """The Python files of our packages, and nothing else, as an archive at the path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for package in PACKAGES:
            for source in sorted((_ROOT / package).rglob("*.py")):
                file.write(source, source.relative_to(_ROOT))
    return path


def _launch(home: Path, *, local: bool) -> Mapping[str, str | None]:
    """What Spark's launcher and its workers read: our Java; on this machine our Python, our Spark.

    On a cluster PYSPARK_PYTHON is the user's: only he knows where the workers' Python is.
    """
    here = {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": None, "PYSPARK_SUBMIT_ARGS": None}
    return {"JAVA_HOME": str(home), **(here if local else {})}


@contextmanager
def _set(wanted: Mapping[str, str | None]) -> Generator[None]:
    """The environment with these variables; None unsets one. Spark's launcher reads it once."""
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


def _end_java() -> None:
    """Ends the Java that Spark leaves running until this process ends."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        try:
            process.wait(timeout=_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None
