"""A producer that a newer one had replaced wrote, and what it wrote took effect.

`init_producer` makes its process an instance of a transactional id, and fences every instance that
was made before. An operation of an instance took effect if it ended `ok` with something sent or an
offset committed, or if a record of it was given to a reader at read_committed. It must not, if a
younger instance was made before its end was asked for (of a plain send: before it was invoked):

    older instance made | younger instance made | end asked for        -->  a zombie's write

An instance is younger if it was invoked after the older one was made. A process is the instance of
its last `init_producer`; of one that has none, or whose last did not end `ok`, nothing is known.

Simplified: a record that only a poll at read_uncommitted was given took no effect.
Source: KIP-98, zombie fencing; KIP-360.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import CommitOffset, History, Operation, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.rendering import at, whole
from properties.anomalies.transactions.visible import asked_ns, first_readers, sent_by, writers

INIT: Final = "init_producer"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ZombieWrite:
    """An operation, when its process was made a producer, and the first that replaced it."""

    transactional_id: str
    op: int
    older_op: int
    newer_op: int
    late_ns: int  # how long the newer one was there when the operation's end was asked for
    shown_by: tuple[int, ...]  # the first reader of a record, if the operation did not end `ok`

    @property
    def size(self) -> int:
        """How long the producer had been replaced, ns."""
        return self.late_ns

    @property
    def ops(self) -> tuple[int, ...]:
        return self.older_op, self.newer_op, self.op, *self.shown_by


def _inits(history: History, transactional_id: str) -> list[int]:
    return [
        number
        for number, operation in enumerate(history)
        if operation.f == INIT and operation.transactional_id == transactional_id
    ]


def _instances(history: History) -> Iterator[tuple[int, str, int]]:
    """Operations of a known instance: the number, the transactional id, what made the instance."""
    for number, operation in enumerate(history):
        name = operation.transactional_id
        if operation.f == INIT or name is None:
            continue
        own = [
            init
            for init in _inits(history, name)
            if history[init].process == operation.process
            if history[init].invoked_ns < operation.invoked_ns
        ]
        if own:
            last = max(own, key=lambda init: (history[init].invoked_ns, init))
            if history[last].outcome == "ok":
                yield number, name, last


def _replaced_by(history: History, name: str, made: int, asked: int) -> int | None:
    """The first that was made a producer after `made`, if before that time."""
    made_ns = history[made].completed_ns
    younger = [
        (completed_ns, init)
        for init in _inits(history, name)
        if history[init].outcome == "ok"
        if (completed_ns := history[init].completed_ns) is not None
        if made_ns is not None and history[init].invoked_ns > made_ns
        if completed_ns < asked
    ]
    return min(younger)[1] if younger else None


def zombie_writes(history: History) -> tuple[ZombieWrite, ...]:
    """One row per operation of a producer that had been replaced."""
    readers, wrote = first_readers(history), writers(history)
    rows: list[ZombieWrite] = []
    for number, name, made in _instances(history):
        operation = history[number]
        newer = _replaced_by(history, name, made, asked_ns(operation))
        wrote_something = any(isinstance(it, Send | CommitOffset) for it in operation.did)
        shown = [
            readers[it.key, it.value]
            for it in sent_by(operation)
            if (it.key, it.value) in readers and wrote[it.key, it.value] == number
        ]
        if newer is None or not wrote_something or not (operation.outcome == "ok" or shown):
            continue
        rows.append(
            ZombieWrite(
                transactional_id=name,
                op=number,
                older_op=made,
                newer_op=newer,
                late_ns=asked_ns(operation) - (history[newer].completed_ns or 0),
                shown_by=() if operation.outcome == "ok" else (min(shown),),
            )
        )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many operations had a transactional id and a producer whose making is known."""
    return len(list(_instances(history)))


def explain(row: ZombieWrite, operations: Mapping[int, Operation]) -> str:
    """When the producer was replaced, and what it did afterwards."""
    write, newer = operations[row.op], operations[row.newer_op]
    effect = "ended ok" if not row.shown_by else "was read"
    return "\n".join(
        (
            f"transactional id {row.transactional_id}: process {newer.process} was its producer by "
            f"{at(newer.completed_ns)}; after that, at {at(asked_ns(write))}, process "
            f"{write.process} went on as the producer that it was before, and what it wrote "
            f"{effect}.",
            f"  older  {whole(operations, row.older_op)}",
            f"  newer  {whole(operations, row.newer_op)}",
            f"  wrote  {whole(operations, row.op)}",
            *(f"  read   {whole(operations, op)}" for op in row.shown_by),
        )
    )


ANOMALY: Final = Anomaly(
    id="zombie-write",
    statement="A producer that was replaced under its transactional id has no effect any more.",
    rule=(
        "An operation with a transactional id ended ok with something written, or was read at "
        "read_committed; its end was asked for (if that is not known: it was invoked) after an "
        "init_producer of the id had ended ok, which was invoked after the last init_producer of "
        "its own process had ended ok."
    ),
    explanation=(
        "The new producer got no higher epoch, or the coordinator or a leader that had not seen "
        "the epoch let the old one in: both believe that they work alone, and work is done twice."
    ),
    permits={},
    source="KIP-98, zombie fencing; claims: retry_resumes",
    observes="operations of producers whose init_producer is known",
    row=ZombieWrite,
    find=zombie_writes,
    observed=observed,
    explain=explain,
)
