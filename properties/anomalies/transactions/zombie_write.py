"""A producer wrote successfully after a newer producer had replaced it.

The operation `init_producer` makes its process an instance of a transactional id, and fences every
older instance. A write of an older instance must fail if the end of the write was requested after
the newer instance was made. A write is a transaction, or a send outside of transactions. In this
drawing, time runs to the right:

    older instance made | newer instance made | end requested        -->  a zombie's write

For a transaction, the end is requested by its commit or abort. For a send outside of transactions,
the invocation of the send is the request. A write succeeded in each of these cases:

- Its operation ended `ok` and contains a send or an offset commit.
- A reader at read_committed received one of its records.

A process is checked only if its last `init_producer` ended `ok`.

Source: KIP-98, zombie fencing; KIP-360.
Simplified: if the records of a write were seen only at read_uncommitted, the write is treated as
failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import CommitOffset, History, Operation, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.rendering import in_ms, render_whole
from properties.anomalies.transactions.visible import (
    end_requested_ns,
    first_readers,
    sent_by,
    writers,
)

INIT: Final = "init_producer"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ZombieWrite:
    """A write that succeeded although its end was requested after a newer producer had replaced the
    writer.

    `older_op` is the `init_producer` operation of the writer, and `newer_op` is the `init_producer`
    operation of the newer producer.
    """

    transactional_id: str
    op: int
    older_op: int
    newer_op: int
    late_ns: int  # from the newer init_producer's end to the request to end the operation
    shown_by: tuple[int, ...]  # the first reader of a record, if the operation did not end `ok`

    @property
    def size(self) -> int:
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
    """Yields (operation, transactional id, `init_producer`) for each operation that a producer with
    a transactional id ran.

    The third item is the operation that made the process an instance of the transactional id: the
    newest `init_producer` that the same process called before the operation. If this
    `init_producer` did not end `ok`, the operation is not included.
    """
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
    """Returns the first `init_producer` operation that replaced an older producer with the
    transactional id `name`.

    `made` is the `init_producer` operation of the older producer. The returned operation was
    invoked after `made` completed, and it ended `ok` before the time `asked`. Returns None if there
    is no such operation.
    """
    made_ns = history[made].completed_ns
    newer = [
        (completed_ns, init)
        for init in _inits(history, name)
        if history[init].outcome == "ok"
        if (completed_ns := history[init].completed_ns) is not None
        if made_ns is not None and history[init].invoked_ns > made_ns
        if completed_ns < asked
    ]
    return min(newer)[1] if newer else None


def _writes_of_replaced(history: History) -> Iterator[tuple[int, str, int, int]]:
    """Yields each write whose end was requested after a newer producer had replaced the writer.

    Each item has four parts: the operation number of the write, the transactional id, the
    `init_producer` of the writer, and the `init_producer` of the newer producer.
    """
    # A write is included even if it had no effect.
    for number, name, made in _instances(history):
        operation = history[number]
        newer = _replaced_by(history, name, made, end_requested_ns(operation))
        wrote = any(isinstance(it, Send | CommitOffset) for it in operation.did)
        if newer is not None and wrote:
            yield number, name, made, newer


def zombie_writes(history: History) -> tuple[ZombieWrite, ...]:
    readers, wrote = first_readers(history), writers(history)
    rows: list[ZombieWrite] = []
    for number, name, made, newer in _writes_of_replaced(history):
        operation = history[number]
        shown = [
            readers[it.key, it.value]
            for it in sent_by(operation)
            if (it.key, it.value) in readers and wrote[it.key, it.value] == number
        ]
        if not (operation.outcome == "ok" or shown):
            continue
        rows.append(
            ZombieWrite(
                transactional_id=name,
                op=number,
                older_op=made,
                newer_op=newer,
                late_ns=end_requested_ns(operation) - (history[newer].completed_ns or 0),
                shown_by=() if operation.outcome == "ok" else (min(shown),),
            )
        )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    return len(list(_writes_of_replaced(history)))


def explain(row: ZombieWrite, operations: Mapping[int, Operation]) -> str:
    write, newer = operations[row.op], operations[row.newer_op]
    effect = "ended ok" if not row.shown_by else "was read"
    return "\n".join(
        (
            f"transactional id {row.transactional_id}: process {newer.process} had become its "
            f"producer by {in_ms(newer.completed_ns)}; after that, at "
            f"{in_ms(end_requested_ns(write))}, process {write.process} wrote as the older "
            f"producer, and the write {effect}.",
            f"  older  {render_whole(operations, row.older_op)}",
            f"  newer  {render_whole(operations, row.newer_op)}",
            f"  wrote  {render_whole(operations, row.op)}",
            *(f"  read   {render_whole(operations, op)}" for op in row.shown_by),
        )
    )


ANOMALY: Final = Anomaly(
    id="zombie-write",
    statement="A producer that was replaced under its transactional id can no longer write.",
    rule=(
        "A write with a transactional id ended ok or was read at read_committed, although another "
        "init_producer of that id, newer than the one of the writing process, had ended ok before "
        "the end of the write was requested (or, if that time is unknown, before it was invoked)."
    ),
    explanation=(
        "The new producer got no higher epoch, or a coordinator or leader that had not seen the "
        "new epoch accepted the old producer, so both producers write."
    ),
    permits={},
    source="KIP-98, zombie fencing; claims: retry_resumes",
    observes="writes that a replaced producer tried",
    row=ZombieWrite,
    find=zombie_writes,
    observed=observed,
    explain=explain,
)
