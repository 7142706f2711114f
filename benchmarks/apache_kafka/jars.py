"""The jars of Apache Kafka, downloaded by Maven once, and the Java that runs them.

`pom.xml` names the version. Maven copies the jars to `build/`, which git ignores. Their folder gets
its name only after the download, by one rename, so it is never incomplete.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from checkers.spark.java import choose
from model.faults import InputFault

POM: Final = Path(__file__).with_name("pom.xml")
BUILD: Final = Path(__file__).parents[2] / "build"
_VERSION: Final = re.compile(r"<artifactId>kafka_2\.13</artifactId>\s*<version>(.+?)</version>")


def version() -> str:
    """Returns the version of Apache Kafka that `pom.xml` names."""
    found = _VERSION.search(POM.read_text())
    assert found, f"{POM} names no version of kafka_2.13"
    return found[1]


def fetched() -> Path:
    """Returns the folder with the jars; raises InputFault if Maven is missing or fails."""
    folder = BUILD / f"apache-kafka-{version()}"
    if folder.exists():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise InputFault("Apache Kafka's jars come by Maven, and there is no `mvn`; install it")
    hidden = folder.with_suffix(".new")
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={hidden}")
    asked = [maven, "-q", "-B", "-f", str(POM), *goal]
    ended = subprocess.run(asked, capture_output=True, text=True, check=False)
    if ended.returncode:
        errors = [line for line in ended.stdout.splitlines() if "[ERROR]" in line]
        raise InputFault(f"Maven can't bring Apache Kafka {version()}: {(errors or ['?'])[0]}")
    hidden.rename(folder)
    return folder


def java() -> Path:
    """Returns a Java of version 17 or 21, chosen as for Spark.

    Raises InputFault if there is none.
    """
    return choose().home / "bin" / "java"
