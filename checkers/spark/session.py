"""One Spark session: on this machine or on a cluster, quiet, Arrow only, with our packages on it.

Workers are started with PYTHONSAFEPATH=1: without it, a `model/` folder in the directory of whoever
calls shadows ours. Our packages reach the executors of a cluster as an archive.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from checkers.spark import java

PACKAGES: Final = ("model", "reference_impl", "properties", "checkers")
HERE: Final = Path(__file__).resolve().parent.parent.parent

SETTINGS: Final[Mapping[str, str]] = {
    "spark.app.name": "urteil",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.executorEnv.PYTHONSAFEPATH": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.adaptive.enabled": "false",  # pieces stay as they were cut
    "spark.python.worker.reuse": "true",
}
LOCAL: Final = "local[*]"
LOCAL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.memory": "1g",
}


def session(master: str | None = None) -> SparkSession:
    """The session of this process: made at the first call; a later call's master has no effect."""
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ["JAVA_HOME"] = str(java.choose().home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONSAFEPATH"] = "1"
    builder = SparkSession.builder.master(master or LOCAL)
    for name, value in {**SETTINGS, **({} if master else LOCAL_SETTINGS)}.items():
        builder = builder.config(name, value)
    made = builder.config("spark.driver.extraJavaOptions", _quiet()).getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    if master is not None:
        made.sparkContext.addPyFile(str(archive()))
    return made


def _quiet() -> str:
    """The launcher's own log would precede every setting: a configuration file silences it."""
    return f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}"


def archive() -> Path:
    """Our four packages as one importable archive."""
    path = Path(tempfile.mkdtemp(prefix="urteil-")) / "urteil.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for package in PACKAGES:
            for file in sorted((HERE / package).rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    made.write(file, file.relative_to(HERE))
    return path
