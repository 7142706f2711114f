"""Finds the jars of Apache Kafka. Maven downloads the jars of each version one time, or the user
has an unpacked release.

A download goes to a temporary folder. The folder is moved into the cache when the download is
complete, so the cache never contains a part of a version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.cache import cache
from checkers.scratch import scratch
from model.faults import InputFault

DEFAULT_VERSION: Final = "4.3.0"  # the version that the results of docs/ were measured on
OLDEST: Final = (3, 5)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_JAR: Final = re.compile(r"kafka_2\.1[23]-(\d+\.\d+\.\d+)\.jar")
# Kafka 3 does not bring a logger, and Kafka 4 brings one that later versions replace.
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>urteil</groupId>
  <artifactId>apache-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>2.24.3</version>
    </dependency>
  </dependencies>
</project>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jars:
    version: str
    folder: Path

    @property
    def classpath(self) -> str:
        return f"{self.folder}/*"

    @property
    def logs_flushes(self) -> bool:
        """True if a broker of these jars writes a line to its log file for each flush of a
        partition's log. This needs log4j2, which the brokers of Kafka 3 do not use.
        """
        return any(self.folder.glob("log4j-core-2*.jar"))

    @property
    def number(self) -> tuple[int, int]:
        major, minor, _patch = self.version.split(".")
        return int(major), int(minor)


def checked(version: str) -> str:
    """Returns `version` unchanged. Raises InputFault if `version` is malformed or older
    than 3.5.0.
    """
    matched = _VERSION.fullmatch(version)
    if matched is None:
        raise InputFault(
            f"apache-kafka:{version}: a version has three numbers, such as {DEFAULT_VERSION}"
        )
    if (int(matched[1]), int(matched[2])) < OLDEST:
        raise InputFault(
            f"apache-kafka:{version}: the oldest version that Urteil starts is 3.5.0;"
            " start an older cluster yourself and name its HOST:PORT"
        )
    return version


def download(version: str) -> Jars:
    """Returns the jars of a version of Apache Kafka, and downloads them if the cache does not have
    them. Raises InputFault if there is no Maven, or if the download fails.
    """
    folder = cache("apache-kafka") / checked(version)
    if folder.exists():
        return Jars(version=version, folder=folder)
    maven = shutil.which("mvn")
    if maven is None:
        raise InputFault(
            f"apache-kafka:{version} is downloaded with Maven, and there is no `mvn`: install"
            " Maven, or name an unpacked release with --kafka-home"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch(folder.parent) as temporary:
        pom, copied = temporary / "pom.xml", temporary / "jars"
        pom.write_text(_POM.format(version=version), encoding="utf-8")
        goal = ("dependency:copy-dependencies", "-DincludeScope=runtime")
        call = [maven, "-q", "-B", "-f", str(pom), *goal, f"-DoutputDirectory={copied}"]
        ended = subprocess.run(call, capture_output=True, text=True, check=False)
        if ended.returncode:
            errors = [line for line in ended.stdout.splitlines() if "[ERROR]" in line]
            reason = (errors or [ended.stderr.strip() or "no reason given"])[0]
            raise InputFault(
                f"Maven cannot download Apache Kafka {version} ({reason}); check the version and "
                "Maven's settings, or name an unpacked release with --kafka-home"
            )
        if not folder.exists():  # another process may have been faster
            copied.rename(folder)
    return Jars(version=version, folder=folder)


def installed(home: Path) -> Jars:
    """Returns the jars of a release of Apache Kafka that is unpacked in the folder `home`. Raises
    InputFault if `home` contains no such release.
    """
    for jar in sorted((home / "libs").glob("kafka_2.1*.jar")):
        if matched := _JAR.fullmatch(jar.name):
            return Jars(version=checked(matched[1]), folder=home / "libs")
    raise InputFault(
        f"--kafka-home {home}: there is no libs/kafka_2.13-VERSION.jar;"
        " name the folder of an unpacked binary release"
    )
