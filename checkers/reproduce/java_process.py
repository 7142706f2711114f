"""Starts a Java program of this package with the jars of a Kafka version. Its stdin and stdout are
pipes.

The program is a source file. Java compiles it in memory at each start.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import IO

from checkers.java import choose
from model.faults import InputFault


def start_java(
    program: str, classpath: str, arguments: list[str], log: Path
) -> subprocess.Popen[str]:
    """Starts the program, and appends its stderr to the file `log`. Raises InputFault if there is
    only a Java runtime without a compiler.
    """
    home = choose().home
    if not (home / "bin" / "javac").exists():
        raise InputFault(
            f"{home} is a Java runtime, and this schedule compiles a Java client:"
            " set JAVA_HOME to a JDK of version 17 or 21"
        )
    java = [str(home / "bin" / "java"), "-Xmx128m", "-cp", classpath]
    with log.open("ab") as errors:
        return subprocess.Popen(
            [*java, str(Path(__file__).with_name(program)), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C reaches Urteil only
        )


def pipe_of(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
