"""Starts the programs of this package. Each runs in a process of its own, whose stdin and stdout
are pipes.

A Java program is a source file. Java compiles it in memory at each start.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from checkers.java import choose
from model.faults import InputFault


def java_program(source: str, classpath: str) -> list[str]:
    """Returns the command line of a Java program of this package, without its arguments.
    `classpath` contains the jars of a Kafka version. Raises InputFault if there is only a Java
    runtime without a compiler.
    """
    home = choose().home
    if not (home / "bin" / "javac").exists():
        raise InputFault(
            f"{home} is a Java runtime, and this schedule compiles a Java program:"
            " set JAVA_HOME to a JDK of version 17 or 21"
        )
    java = [str(home / "bin" / "java"), "-Xmx128m", "-cp", classpath]
    return [*java, str(Path(__file__).with_name(source))]


def start(command: Sequence[str], log: Path) -> subprocess.Popen[str]:
    """Starts a program, and appends its stderr to the file `log`."""
    with log.open("ab") as errors:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # Ctrl-C reaches Urteil only
        )


def send_line(process: subprocess.Popen[str], line: str) -> None:
    """Sends a line to a program. Does nothing if the program has ended."""
    with suppress(BrokenPipeError):
        pipe_of(process.stdin).write(f"{line}\n")
        pipe_of(process.stdin).flush()


def kill(process: subprocess.Popen[str]) -> None:
    """Ends a program with SIGKILL."""
    process.kill()
    process.wait()


def close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        with suppress(BrokenPipeError):  # for a line that the program has not read
            pipe_of(pipe).close()


def pipe_of(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
