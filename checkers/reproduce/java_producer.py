"""Controls a Java producer of the Kafka version under test, by lines of text that are sent to its
process.

After some errors, the Java client moves to a new producer epoch and sends the records again, but
librdkafka ends with a fatal error. The producer has Kafka's default settings.

Source: KAFKA-5793 and TransactionManager.canRetry for the client's reaction to
OUT_OF_ORDER_SEQUENCE_NUMBER.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from checkers.record.processes import Shared
from checkers.record.store import HistoryWriter
from checkers.reproduce.programs import close_pipes, java_program, kill, pipe_of, send_line, start
from model.histories import Outcome, Send

Ended = Callable[[str, Outcome, int | None, str | None], None]


@dataclass(slots=True)
class JavaProducer:
    """A Java producer in a process of its own. It calls `ended` for each record, when the send
    of the record succeeds or fails.
    """

    process: subprocess.Popen[str]
    ended: Ended
    _reading: threading.Thread = field(init=False)

    @classmethod
    def start(
        cls, classpath: str, servers: str, topic: str, ended: Ended, log: Path
    ) -> JavaProducer:
        """Starts a producer with the jars of a Kafka version. Raises InputFault if there is only
        a Java runtime without a compiler.
        """
        command = [*java_program("Sender.java", classpath), servers, topic]
        return cls(start(command, log), ended)

    def __post_init__(self) -> None:
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def send(self, value: str, timestamp_ms: int | None = None) -> None:
        """Sends a record. If `timestamp_ms` is None, its timestamp is the present time."""
        line = value if timestamp_ms is None else f"{value}\t{timestamp_ms}"
        send_line(self.process, line)

    def close(self) -> None:
        kill(self.process)
        self._reading.join()
        close_pipes(self.process)

    def _read(self) -> None:
        for line in pipe_of(self.process.stdout):
            value, outcome, rest = line.rstrip("\n").split("\t")
            if outcome == "ok":
                self.ended(value, "ok", int(rest), None)
            else:
                self.ended(value, "info", None, rest)


@dataclass(slots=True)
class JavaSends:
    """Records that are sent one after another, as one operation of the history."""

    operation: int
    values: dict[str, Send]
    pending: set[str]
    worst: Outcome = "ok"
    error: str | None = None

    @classmethod
    def begun(cls, sent: Send, shared: Shared) -> JavaSends:
        operation = shared.history.invoke(shared.new_process(), "send", (sent,))
        return cls(operation, {sent.value: sent}, {sent.value})

    def add(self, sent: Send, history: HistoryWriter) -> None:
        self.values[sent.value] = sent
        self.pending.add(sent.value)
        history.update(self.operation, tuple(self.values.values()))

    def end(
        self,
        value: str,
        outcome: Outcome,
        offset: int | None,
        error: str | None,
        history: HistoryWriter,
    ) -> None:
        """Stores the outcome of one record. When all records have an outcome, the operation is
        completed.
        """
        self.values[value] = replace(self.values[value], offset=offset)
        self.pending.discard(value)
        if outcome != "ok":
            self.worst, self.error = outcome, error
        if not self.pending:
            did = tuple(self.values.values())
            history.complete(self.operation, self.worst, did, self.error)
