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
    """Returns an action that polls, and then works `for_s` seconds on the record, for at most
    `records` records. It ends earlier if the group's committed offset is above the offset of the
    record on which the consumer works.
    """

    def do(stage: Stage) -> None:
        for _ in range(records):
            stage.java_consumers[name].poll()
            time.sleep(for_s)
            if _is_committed(stage, name):
                return

    return do


def pause_consumer(name: str) -> Do:
    """Returns an action that pauses the process of the consumer (SIGSTOP), also its heartbeats."""
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
    """Returns a check on the values of the outputs below the last stable offset, also of aborted
    ones, and on the group's committed offset.
    """

    def check(stage: Stage) -> Seen:
        found = committed_values(stage, OUTPUTS, 0, stage.up()[0])[1]
        committed = committed_offset(stage, coordinator(stage))
        text = f"outputs [{' '.join(found)}], committed offset {committed}"
        return Seen(reached=(found, committed) == ([*values], offset), text=text)

    return check


def in_work(name: str, *, committed: bool) -> Check:
    """Returns a check on the last record that the consumer received. It succeeds if the group's
    committed offset is above the offset of this record, or is not above it if `committed` is false.
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
    """Returns a check on the last records that two consumers received. It succeeds if the consumer
    `name` begins at the record after that of `other`, or at the same record if `skips` is false.
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
