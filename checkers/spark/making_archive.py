"""Makes the archive of the classes that Spark loads, for `urteil doctor --spark-archive`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from checkers import demo, java
from checkers.spark.class_archive import archive_of
from checkers.spark.run import analyze_on_spark
from checkers.spark.session import session

DEMO: Final = Path(demo.__file__).with_name("three-anomalies.edn")


def make_archive() -> Path:
    """Makes an archive of Java classes, with which Spark starts faster, and returns its file. Java
    collects the classes while Spark analyzes the bundled example.

    Raises InputFault if there is no Java.
    """
    file = archive_of(java.choose())
    file.parent.mkdir(parents=True, exist_ok=True)
    incomplete = file.with_suffix(f".{os.getpid()}")
    try:
        with session(writes_archive=incomplete):
            for rows_per_partition in (None, 4):  # in one task, and in several
                analyze_on_spark(DEMO, rows_per_partition=rows_per_partition)
        incomplete.replace(file)
    finally:
        incomplete.unlink(missing_ok=True)
    return file
