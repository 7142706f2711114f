"""Controls a Java consumer of the Kafka version under test, by lines of text that are sent to its
process. The consumer is a member of a group. Its settings are Kafka's defaults, except `SETTINGS`
and those of the schedule.

The Java consumer has a background thread, which sends the commits and the heartbeats. librdkafka
has other threads and other rules, so it does not have the Java consumer's defects.

Source: KIP-848; KIP-945 for the threads of the consumer.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.reproduce.group_member import GROUP
from checkers.reproduce.programs import close_pipes, java_program, kill, pipe_of, send_line, start

SETTINGS: Final = {"group.id": GROUP, "auto.offset.reset": "earliest", "max.poll.records": "1"}


@dataclass(frozen=True, slots=True)
class Received:
    value: str
    offset: int


@dataclass(slots=True)
class JavaConsumer:
    """A Java consumer in a process of its own."""

    process: subprocess.Popen[str]
    received: Received | None = None  # the record of the last poll

    @classmethod
    def start(
        cls, classpath: str, servers: str, topic: str, settings: Mapping[str, str], log: Path
    ) -> JavaConsumer:
        """Starts a consumer with the jars of a Kafka version. It joins the group at its first poll.
        Raises InputFault if there is only a Java runtime without a compiler.
        """
        chosen = [f"{name}={value}" for name, value in {**SETTINGS, **settings}.items()]
        command = [*java_program("Consumer.java", classpath), servers, topic, *chosen]
        return cls(start(command, log))

    def poll(self) -> None:
        """Polls until the consumer receives a record, for at most 90 s, and stores the record in
        `received`. It is None if no record came.
        """
        value, _, offset = self.request("poll").partition("\t")
        self.received = Received(value, int(offset)) if offset else None

    def request(self, line: str) -> str:
        """Sends a command to the process, and returns its response. Returns an empty text if the
        process has ended.
        """
        send_line(self.process, line)
        return pipe_of(self.process.stdout).readline().rstrip("\n")

    def kill(self) -> None:
        """Ends the process without a request to leave the group (SIGKILL)."""
        kill(self.process)

    def close(self) -> None:
        self.kill()
        close_pipes(self.process)
