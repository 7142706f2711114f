"""The archive of the classes that Spark loads: with it, Spark starts with half of the CPU time.

Java writes the archive when it exits, which takes as long as several starts. So the archive is made
once, by `urteil doctor --spark-archive`, for one Java and one Spark. Java ignores an archive that
does not fit.

Source: JEP 350, dynamic CDS archives.
"""

from __future__ import annotations

import hashlib
import os
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from checkers import demo, java
from checkers.cache import cache
from checkers.java import Java

DEMO: Final = Path(demo.__file__).with_name("three-anomalies.edn")
QUIET: Final = "-Xlog:disable"  # Java would print warnings to stdout


def archive_of(chosen: Java) -> Path:
    """Returns the path of the class archive for this Java and the installed Spark.

    The file may not exist yet.
    """
    spark = find_spec("pyspark")  # importing it takes a second
    parts = (chosen.home, chosen.version, version("pyspark"), spark and spark.origin)
    key = hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:32]
    return cache("spark-classes") / f"{key}.jsa"


def reading(file: Path) -> str:
    """Returns the Java options for using the archive; empty if there is no archive."""
    return f'{QUIET} "-XX:SharedArchiveFile={file}"' if file.exists() else ""


def writing(file: Path) -> str:
    """Returns the Java options that make Java write the archive when it exits."""
    return f'{QUIET} "-XX:ArchiveClassesAtExit={file}"'


def make_archive() -> Path:
    """Makes the archive for the selected Java, and returns its file.

    It starts Spark and analyzes the bundled example. Raises InputFault if there is no Java.
    """
    from checkers.spark.run import analyze_on_spark
    from checkers.spark.session import session

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
