"""Actions on Java consumers that are members of a group, and checks of their records, for
reproductions on real brokers.
"""

from __future__ import annotations

import signal
import time
from typing import Final

from checkers.reproduce.actions import Do, committed_values
from checkers.reproduce.checks import Check
from checkers.reproduce.committed_offset import committed_offset, coordinator
from checkers.reproduce.reproduction import Seen
from checkers.reproduce.stage import Stage

OUTPUTS: Final = "outputs"


def start_consumer(name: str, **settings: str) -> Do:
    """Returns an action that starts a Java consumer. In the names of `settings`, `_` stands for
    `.`.
    """
    chosen = {key.replace("_", "."): value for key, value in settings.items()}
    return lambda stage: stage.start_java_consumer(name, chosen)


def poll(name: str) -> Do:
    """Returns an action that polls until the consumer receives a record, for at most 90 s."""
    return lambda stage: stage.java_consumers[name].poll()


def work(name: str, records: int, for_s: float) -> Do:
    """Returns an action that processes at most `records` records, one after another. For each
    record, it polls, and then waits `for_s` seconds as if the application worked on the record. It
    ends early if the group's committed offset is then above the offset of this record.
    """

    def do(stage: Stage) -> None:
        for _ in range(records):
            stage.java_consumers[name].poll()
            time.sleep(for_s)
            if _is_committed(stage, name):
                return

    return do


def pause_consumer(name: str) -> Do:
    """Returns an action that pauses the process of the consumer (SIGSTOP). The paused consumer
    sends no heartbeats.
    """
    return lambda stage: stage.java_consumers[name].process.send_signal(signal.SIGSTOP)


def resume_consumer(name: str) -> Do:
    return lambda stage: stage.java_consumers[name].process.send_signal(signal.SIGCONT)


def output(name: str, *values: str, offset: int) -> Do:
    """Returns an action in which the consumer's application sends outputs and a committed offset in
    a transaction. It stores `NONE`, or the exception of the Java client, in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        command = f"output {OUTPUTS} {','.join(values)} {offset}"
        stage.noted = stage.java_consumers[name].request(command)

    return do


def kill_consumer(name: str) -> Do:
    return lambda stage: stage.java_consumers[name].kill()


def received(name: str, value: str) -> Check:
    """Returns a check that succeeds if `value` is the last record that the consumer received."""

    def check(stage: Stage) -> Seen:
        record = stage.java_consumers[name].received
        text = "no record" if record is None else f"{name} gets {record.value}"
        return Seen(reached=record is not None and record.value == value, text=text)

    return check


def results(*values: str, offset: int) -> Check:
    """Returns a check that succeeds if the outputs have exactly the values `values`, and the
    group's committed offset is `offset`. The outputs are all records below the last stable offset,
    including aborted records.
    """

    def check(stage: Stage) -> Seen:
        found = committed_values(stage, OUTPUTS, 0, stage.up()[0])[1]
        committed = committed_offset(stage, coordinator(stage))
        text = f"outputs [{' '.join(found)}], committed offset {committed}"
        return Seen(reached=(found, committed) == ([*values], offset), text=text)

    return check


def in_work(name: str, *, committed: bool) -> Check:
    """Returns a check on the last record that the consumer received. If `committed` is true, it
    succeeds if the group's committed offset is above the offset of this record. If `committed` is
    false, it succeeds if the committed offset is not above the offset of this record.
    """

    def check(stage: Stage) -> Seen:
        record = stage.java_consumers[name].received
        if record is None:
            return Seen(reached=False, text="no record")
        text = (
            f"{name} works on {record.value}, offset {record.offset};"
            f" committed offset: {committed_offset(stage, coordinator(stage))}"
        )
        return Seen(reached=_is_committed(stage, name) == committed, text=text)

    return check


def takes_over(name: str, other: str, *, skips: bool) -> Check:
    """Returns a check on the last records that the consumers `name` and `other` received. If
    `skips` is false, it succeeds if both consumers received the same record. If `skips` is true, it
    succeeds if the record of `name` directly follows the record of `other`.
    """

    def check(stage: Stage) -> Seen:
        record, last = (stage.java_consumers[it].received for it in (name, other))
        if record is None or last is None:
            return Seen(reached=False, text="no record")
        text = f"{name} gets {record.value}, {other} was working on {last.value}"
        return Seen(reached=record.offset == last.offset + skips, text=text)

    return check


def _is_committed(stage: Stage, name: str) -> bool:
    record = stage.java_consumers[name].received
    return record is not None and committed_offset(stage, coordinator(stage)) > record.offset
