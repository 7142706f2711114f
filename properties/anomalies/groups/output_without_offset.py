"""A transaction's output was read, but a later fetch did not return the transaction's offset.

The output records and the group offset of a transaction become visible together. A fetch at
read_committed waits while a transaction is undecided (KIP-447). So if a fetch begins after a reader
received the output, the fetch must return the transaction's offset or a later offset. If the fetch
returns a lower offset, the group consumes the input a second time and produces the output twice.

The fetch is not reported if another commit may have set the lower offset after the transaction.
This is possible if the other commit completed after the transaction began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.groups.offsets import NONE, Commit, Fetch, commits, fetches, may_follow
from properties.anomalies.rendering import in_ms, render
from properties.anomalies.transactions.visible import first_readers, sent_by


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OutputWithoutOffset:
    """A fetch that returned a lower group offset than a transaction had committed, although a
    reader had received the output of the transaction before the fetch.
    """

    group: str
    key: str
    offset: int  # that the fetch returned; -1: no committed offset
    op: int
    committed_offset: int
    transaction_op: int
    shown_key: str
    shown_value: str
    shown_op: int

    @property
    def size(self) -> int:
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
    """Yields each offset commit of a transaction, together with the first read of any record that
    the transaction sent.

    A transaction is not included if it failed, or if no reader received any of its records.
    """
    readers = first_readers(history)
    for commit in commits(history):
        if commit.in_transaction and commit.outcome != "fail":
            sent = [(it.key, it.value) for it in sent_by(history[commit.op])]
            read = [(readers[record], *record) for record in sent if record in readers]
            if read:
                yield _Shown(commit, *min(read))


def _before(history: History, fetch: Fetch, shown: _Shown) -> bool:
    read_ns = history[shown.reader].completed_ns
    return read_ns is not None and read_ns < fetch.invoked_ns and _after(fetch, shown.commit)


def _after(fetch: Fetch, commit: Commit) -> bool:
    same = commit.register == fetch.register
    return same and fetch.stable and commit.invoked_ns < fetch.invoked_ns


def outputs_without_offset(history: History) -> tuple[OutputWithoutOffset, ...]:
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
    producing = [
        it
        for it in commits(history)
        if it.in_transaction and it.outcome != "fail" and sent_by(history[it.op])
    ]
    return sum(any(_after(fetch, it) for it in producing) for fetch in fetches(history))


def explain(row: OutputWithoutOffset, operations: Mapping[int, Operation]) -> str:
    shown, fetch = operations[row.shown_op], operations[row.op]
    answer = "no committed offset" if row.offset == NONE else f"{row.offset}"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: transaction {row.transaction_op} committed offset "
            f"{row.committed_offset}, and its output {row.shown_value} was read from "
            f"{row.shown_key} by {in_ms(shown.completed_ns)}; a later offset fetch, invoked at "
            f"{in_ms(fetch.invoked_ns)}, returned {answer}.",
            f"  commit  {render(operations, row.transaction_op, row.key)}",
            f"  output  {render(operations, row.shown_op, row.shown_key, value=row.shown_value)}",
            f"  fetch   {render(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="output-without-offset",
    statement="Once a record of a transaction is visible, so are the offsets that it committed.",
    rule=(
        "A poll at read_committed returned a record of a transaction that committed an offset, a "
        "fetch at read_committed invoked after that poll returned a lower offset, and no commit of "
        "the lower offset can have taken effect after the transaction began."
    ),
    explanation=(
        "The transaction's records were committed but its offsets were not, or were lost, so the "
        "input is consumed again and its output is produced twice."
    ),
    permits={},
    source="claims: atomic_commit, exactly_once_pipeline; redpanda#9571",
    observes="fetches of an offset after the start of a transaction that commits it and has output",
    row=OutputWithoutOffset,
    find=outputs_without_offset,
    observed=observed,
    explain=explain,
)
