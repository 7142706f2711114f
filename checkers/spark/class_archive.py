"""The archive of the classes that Spark loads. With this archive, Spark starts with half of the CPU
time.

Java writes the archive when it exits, which takes as long as several starts. So the archive is made
once for each combination of a Java and a Spark. Java ignores an archive that does not fit.

Source: JEP 350, dynamic CDS archives.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from checkers.cache import cache
from checkers.java import Java

QUIET: Final = "-Xlog:disable"  # Java would print warnings to stdout


def archive_of(chosen: Java) -> Path:
    """Returns the path of the archive for this Java and the installed Spark, even if the file does
    not exist.
    """
    spark = find_spec("pyspark")  # importing it takes a second
    parts = (chosen.home, chosen.version, version("pyspark"), spark and spark.origin)
    key = hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:32]
    return cache("spark-classes") / f"{key}.jsa"


def reading(file: Path) -> str:
    """Returns the Java options for using the archive. If the archive does not exist, returns an
    empty text.
    """
    return f'{QUIET} "-XX:SharedArchiveFile={file}"' if file.exists() else ""


def writing(file: Path) -> str:
    return f'{QUIET} "-XX:ArchiveClassesAtExit={file}"'
