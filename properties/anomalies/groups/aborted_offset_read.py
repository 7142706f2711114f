"""A committed offset is one that only transactions that aborted committed.

Offsets sent in a transaction are staged: when it aborts they vanish. If they show all the same, the
group goes on behind input whose output was thrown away: it is skipped.

As in `group_offset_moved_without_commit` the offset must not have stood there before the history
began, and no commit that did not abort may have set it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.groups.group_offset_moved_without_commit import (
    commits_of,
    first_other,
)
from properties.anomalies.groups.offsets import commits, fetches
from properties.anomalies.rendering import at, told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class AbortedOffsetRead:
    """A fetch that was told an offset of an aborted transaction, and the first such transaction."""

    group: str
    key: str
    offset: int
    op: int
    aborted_op: int

    @property
    def size(self) -> int:
        """Every one is as bad."""
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return self.aborted_op, self.op


def aborted_offset_reads(history: History) -> tuple[AbortedOffsetRead, ...]:
    """One row per fetch that was told what only aborted transactions had set."""
    rows: list[AbortedOffsetRead] = []
    for fetch in fetches(history):
        tried = commits_of(history, fetch)
        aborted = [c.op for c in tried if c.outcome == "fail" and c.in_transaction]
        if first_other(history, fetch) is None or any(c.outcome != "fail" for c in tried):
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
    """How many offsets were committed by transactions that aborted."""
    return sum(c.outcome == "fail" and c.in_transaction for c in commits(history))


def explain(row: AbortedOffsetRead, operations: Mapping[int, Operation]) -> str:
    """The transaction that aborted, and the fetch that was told its offset."""
    aborted, fetch = operations[row.aborted_op], operations[row.op]
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: a fetch invoked at {at(fetch.invoked_ns)} was told "
            f"{row.offset}, which only a transaction had committed that was over by "
            f"{at(aborted.completed_ns)} and had failed.",
            f"  aborted  {told(operations, row.aborted_op, row.key)}",
            f"  told     {told(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="aborted-offset-read",
    statement="Offsets that were committed in a transaction vanish when it aborts.",
    rule=(
        "A fetch that ended ok was told an offset; of the commits of that offset invoked before "
        "the fetch completed every one failed, and one is of a transaction; and before the fetch "
        "began another offset was known."
    ),
    explanation=(
        "The coordinator took staged offsets for committed ones: the group goes on behind input "
        "whose output was thrown away."
    ),
    permits={},
    source="claims: offsets_in_transaction, atomic_commit; KIP-98",
    observes="offsets committed by transactions that aborted",
    row=AbortedOffsetRead,
    find=aborted_offset_reads,
    observed=observed,
    explain=explain,
)
