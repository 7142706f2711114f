"""A fetch returned a group offset that an aborted transaction sent and that nothing committed.

If a transaction aborts, the coordinator discards the group offset that the transaction sent. If a
fetch returns this offset nevertheless, the group skips input records whose output was discarded.

A fetch is checked only if a different offset of the group was observed before the fetch. Otherwise
the fetched offset may have been committed before the history began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.groups.group_offset_moved_without_commit import (
    commits_of,
    first_different,
)
from properties.anomalies.groups.offsets import commits, fetches
from properties.anomalies.rendering import in_ms, render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class AbortedOffsetRead:
    """A fetch of an offset that an aborted transaction sent and that nothing committed.

    `aborted_op` is the first aborted transaction that sent the offset.
    """

    group: str
    key: str
    offset: int
    op: int
    aborted_op: int

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return self.aborted_op, self.op


def aborted_offset_reads(history: History) -> tuple[AbortedOffsetRead, ...]:
    rows: list[AbortedOffsetRead] = []
    for fetch in fetches(history):
        tried = commits_of(history, fetch)
        aborted = [c.op for c in tried if c.outcome == "fail" and c.in_transaction]
        if first_different(history, fetch) is None or any(c.outcome != "fail" for c in tried):
            continue
        if aborted:
            group, key = fetch.register
            rows.append(
                AbortedOffsetRead(
                    group=group,
                    key=key,
                    offset=fetch.offset,
                    op=fetch.op,
                    aborted_op=min(aborted),
                )
            )
    return tuple(sorted(set(rows)))


def observed(history: History) -> int:
    answers = fetches(history)
    return sum(
        any(it.register == c.register and it.completed_ns >= c.invoked_ns for it in answers)
        for c in commits(history)
        if c.outcome == "fail" and c.in_transaction
    )


def explain(row: AbortedOffsetRead, operations: Mapping[int, Operation]) -> str:
    aborted, fetch = operations[row.aborted_op], operations[row.op]
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: an offset fetch invoked at "
            f"{in_ms(fetch.invoked_ns)} returned {row.offset}, which was committed only in a "
            f"transaction that had aborted by {in_ms(aborted.completed_ns)}.",
            f"  aborted  {render(operations, row.aborted_op, row.key)}",
            f"  fetch    {render(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="aborted-offset-read",
    statement="Offsets committed in a transaction are discarded when the transaction aborts.",
    rule=(
        "An offset fetch returned an offset although every commit of that offset invoked before "
        "the fetch completed had failed, at least one of them in a transaction, and another "
        "offset had been observed before the fetch began."
    ),
    explanation=(
        "The coordinator treated pending offsets of a transaction as committed, so the group skips "
        "input whose output was discarded."
    ),
    permits={},
    source="claims: offsets_in_transaction, atomic_commit; KIP-98",
    observes="offsets of aborted transactions that a later fetch could return",
    row=AbortedOffsetRead,
    find=aborted_offset_reads,
    observed=observed,
    explain=explain,
)
