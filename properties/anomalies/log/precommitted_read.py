"""An operation polled what it sent itself: it was visible before its transaction was committed.

In most databases a transaction sees its own writes. A consumer at `read_committed` is given nothing
of a transaction before its commit, whoever asks. At `read_uncommitted` it is; such operations are
not judged.

Source: jepsen.tests.kafka precommitted-read-cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import dirty
from properties.anomalies.rendering import told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class PrecommittedRead:
    """A value that one operation both sent and polled."""

    key: str
    value: str
    op: int

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return (self.op,)


def _senders_that_poll(history: History) -> Iterator[int]:
    for number, operation in enumerate(history):
        kinds = {type(micro) for micro in operation.did}
        if {Send, Poll} <= kinds and not dirty(operation):
            yield number


def precommitted_reads(history: History) -> tuple[PrecommittedRead, ...]:
    """One row per operation and value of its own that it polled."""
    rows: list[PrecommittedRead] = []
    for number in _senders_that_poll(history):
        did = history[number].did
        sent = {(m.key, m.value) for m in did if isinstance(m, Send)}
        polled = {(m.key, m.value) for m in did if isinstance(m, Poll)}
        rows += [PrecommittedRead(key=k, value=v, op=number) for k, v in sent & polled]
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many operations sent something and polled something, at read_committed."""
    return len(list(_senders_that_poll(history)))


def explain(row: PrecommittedRead, operations: Mapping[int, Operation]) -> str:
    """What the operation sent and polled."""
    return "\n".join(
        (
            f"key {row.key}: one operation sent the value {row.value} and was given it by a poll "
            "of its own, before it can have been committed.",
            f"  did  {told(operations, row.op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="precommitted-read",
    statement="A transaction does not read what it sent itself.",
    rule=(
        "One operation, however it ended, sent a value to a key and polled it from the key at "
        "read_committed."
    ),
    explanation=(
        "Records of an open transaction were shown to a reader that waits for commits: the last "
        "stable offset was beyond them."
    ),
    permits={},
    source="jepsen.tests.kafka precommitted-read; claims: read_committed_waits",
    observes="operations that sent and polled",
    row=PrecommittedRead,
    find=precommitted_reads,
    observed=observed,
    explain=explain,
)
