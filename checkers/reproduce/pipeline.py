"""A pipeline: an application in a process of its own that reads records in a consumer group, and
sends its results in transactions. It is controlled by lines of text.

There are two such programs. `Pipeline.java` has the Java client of the Kafka version under test,
and `librdkafka_pipeline.py` has confluent-kafka. Both have the same commands.

Source: KIP-98 and KIP-447 for the order of the requests.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from checkers.reproduce.programs import close_pipes, java_program, kill, pipe_of, send_line, start

OUT: Final = "out"  # the topic of the results
LIBRDKAFKA_PROGRAM: Final = Path(__file__).with_name("librdkafka_pipeline.py")

Library = Literal["java", "librdkafka"]
Command = Literal["process", "offsets", "commit", "close"]


def program(library: Library, classpath: str) -> list[str]:
    """Returns the command line of a pipeline, without its arguments. `classpath` contains the jars
    of a Kafka version. Raises InputFault if the Java program cannot be compiled.
    """
    if library == "librdkafka":
        return [sys.executable, str(LIBRDKAFKA_PROGRAM)]
    return java_program("Pipeline.java", classpath)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """An instance of the application."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, command: Sequence[str], servers: str, topic: str, log: Path) -> Pipeline:
        return cls(start([*command, servers, topic], log))

    def begin(self, command: Command) -> None:
        """Sends a command to the application, and does not wait for the result."""
        send_line(self.process, command)

    def result(self) -> str:
        """Waits for the result of the oldest command whose result has not been returned yet."""
        return pipe_of(self.process.stdout).readline().rstrip("\n") or "the application has ended"

    def close(self) -> None:
        kill(self.process)
        close_pipes(self.process)
