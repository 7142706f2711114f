"""A transaction's output was read, and its group's offset is still what it was before.

Output and offset of a transaction become visible together. A fetch at read_committed waits while a
transaction is undecided (KIP-447), so one that began after a reader had been given some output must
be told what the transaction committed, or what was committed after that. If it is told less, the
group consumes the input again, and its output comes twice.

The commit of a lower offset explains it, as for `group-offset-went-backwards`, if it may have taken
effect after the transaction began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.groups.offsets import NONE, Commit, Fetch, commits, fetches, may_follow
from properties.anomalies.rendering import at, told
from properties.anomalies.transactions.visible import first_readers, sent_by


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OutputWithoutOffset:
    """A fetch, the transaction whose offset it was not told, and the output that had been read."""

    group: str
    key: str
    offset: int  # what was told; -1: none
    op: int
    committed_offset: int
    transaction_op: int
    shown_key: str
    shown_value: str
    shown_op: int

    @property
    def size(self) -> int:
        """How far the offset lags behind the output."""
        return self.committed_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.transaction_op, self.shown_op, self.op


@dataclass(frozen=True, slots=True)
class _Shown:
    commit: Commit
    reader: int
    key: str
    value: str


def _shown(history: History) -> Iterator[_Shown]:
    """Commits in transactions that did not fail, of which output was read: the first that was."""
    readers = first_readers(history)
    for commit in commits(history):
        if commit.in_transaction and commit.outcome != "fail":
            sent = [(it.key, it.value) for it in sent_by(history[commit.op])]
            read = [(readers[record], *record) for record in sent if record in readers]
            if read:
                yield _Shown(commit, *min(read))


def _before(history: History, fetch: Fetch, shown: _Shown) -> bool:
    """The output had been read when the fetch began."""
    read_ns = history[shown.reader].completed_ns
    return read_ns is not None and read_ns < fetch.invoked_ns and _after(fetch, shown.commit)


def _after(fetch: Fetch, commit: Commit) -> bool:
    """The fetch, which waits for transactions, began after the transaction of the commit did."""
    same = commit.register == fetch.register
    return same and fetch.stable and commit.invoked_ns < fetch.invoked_ns


def outputs_without_offset(history: History) -> tuple[OutputWithoutOffset, ...]:
    """One row per fetch that was told less than a transaction committed whose output was read."""
    rows: list[OutputWithoutOffset] = []
    everything, visible = commits(history), tuple(_shown(history))
    for fetch in fetches(history):
        back = [
            commit
            for commit in everything
            if commit.offset == fetch.offset and commit.invoked_ns <= fetch.completed_ns
        ]
        lagging = [
            shown
            for shown in visible
            if _before(history, fetch, shown) and shown.commit.offset > fetch.offset
            if not any(may_follow(commit, shown.commit) for commit in back)
        ]
        if lagging:
            shown = min(lagging, key=lambda it: (-it.commit.offset, it.commit.op))
            group, key = fetch.register
            rows.append(
                OutputWithoutOffset(
                    group=group,
                    key=key,
                    offset=fetch.offset,
                    op=fetch.op,
                    committed_offset=shown.commit.offset,
                    transaction_op=shown.commit.op,
                    shown_key=shown.key,
                    shown_value=shown.value,
                    shown_op=shown.reader,
                )
            )
    return tuple(sorted(set(rows)))


def observed(history: History) -> int:
    """How many answers that wait for transactions were told after one with output had begun."""
    producing = [
        it
        for it in commits(history)
        if it.in_transaction and it.outcome != "fail" and sent_by(history[it.op])
    ]
    return sum(any(_after(fetch, it) for it in producing) for fetch in fetches(history))


def explain(row: OutputWithoutOffset, operations: Mapping[int, Operation]) -> str:
    """What was read of the transaction, and what the later fetch was told."""
    shown, fetch = operations[row.shown_op], operations[row.op]
    answer = "that there is none" if row.offset == NONE else f"{row.offset}"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: transaction {row.transaction_op} committed offset "
            f"{row.committed_offset}, and its output {row.shown_value} was read from "
            f"{row.shown_key} by {at(shown.completed_ns)}; a fetch that began after that, at "
            f"{at(fetch.invoked_ns)}, was told {answer}.",
            f"  commits  {told(operations, row.transaction_op, row.key)}",
            f"  shown    {told(operations, row.shown_op, row.shown_key, value=row.shown_value)}",
            f"  told     {told(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="output-without-offset",
    statement="Once the output of a transaction shows, so do the offsets that it committed.",
    rule=(
        "A poll at read_committed ended ok with a record of a transaction that did not fail and "
        "committed an offset; a fetch at read_committed that was invoked after both ended ok with "
        "a lower one; and no commit of what it was told that did not fail was invoked before the "
        "fetch completed and can have taken effect after the transaction began."
    ),
    explanation=(
        "The transaction committed and its offsets did not, or were lost: the input is consumed "
        "again and its output comes twice."
    ),
    permits={},
    source="claims: atomic_commit, exactly_once_pipeline; redpanda#9571",
    observes="fetches of an offset after a transaction with output that commits it had begun",
    row=OutputWithoutOffset,
    find=outputs_without_offset,
    observed=observed,
    explain=explain,
)
