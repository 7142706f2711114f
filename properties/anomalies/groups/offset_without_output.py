"""A transaction's committed offset took effect, but a record of its output is missing.

A transaction commits the group's offset and the output records together. If a fetch returns the
group's offset, the fetch proves that the transaction committed, provided that two conditions are
true:

- No other operation can have set the fetched offset.
- A different offset was observed before the fetch. Otherwise the fetched offset may have been
  committed before the history began.

If the transaction committed, its output is in the log. So each reader that reads beyond an output
record must receive the record. If a transaction has an output record that no reader received, the
group consumed its input without producing the output.

Source: ydb#52731, where a batch is dropped while offsets are committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.groups.group_offset_moved_without_commit import (
    commits_of,
    first_different,
)
from properties.anomalies.groups.offsets import Commit, Fetch, fetches
from properties.anomalies.rendering import render
from properties.anomalies.transactions.missing import Lies, missing_of, passed_of
from properties.anomalies.transactions.visible import sent_by


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetWithoutOutput:
    """A missing output record of a transaction. A fetch returned the group offset that the
    transaction committed, so the record should be in the log.
    """

    key: str
    value: str
    op: int  # the transaction
    lies: Lies
    offset: int  # of the record, or the highest offset that it can have
    known_op: int  # the operation that shows this offset
    read_offset: int  # the highest offset that readers polled
    reader_op: int
    group: str
    input_key: str
    committed_offset: int
    fetch_op: int  # the first that returned the committed offset

    @property
    def size(self) -> int:
        return self.read_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.op, self.fetch_op, self.known_op, self.reader_op


def _proofs(history: History) -> Iterator[tuple[Fetch, Commit]]:
    """Yields (fetch, commit) for each fetch that proves the commit of a transaction that has
    output.

    The fetch returned an offset that only `commit` can have set. The commit is part of a
    transaction that also sent records.
    """
    for fetch in fetches(history):
        possible = [c for c in commits_of(history, fetch) if c.outcome != "fail"]
        alone = len({c.op for c in possible}) == 1 and possible[0].in_transaction
        if alone and first_different(history, fetch) and sent_by(history[possible[0].op]):
            yield fetch, possible[0]


def _first_proofs(history: History) -> dict[int, tuple[Fetch, Commit]]:
    first: dict[int, tuple[Fetch, Commit]] = {}
    for fetch, commit in sorted(_proofs(history), key=lambda it: (it[0].op, it[0].register)):
        first.setdefault(commit.op, (fetch, commit))
    return first


def _in_log_ns(fetch: Fetch, commit: Commit) -> int:
    return min(fetch.completed_ns, commit.completed_ns)


def offsets_without_output(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[OffsetWithoutOutput, ...]:
    missing = missing_of(history, declared)
    return tuple(
        sorted(
            OffsetWithoutOutput(
                key=record.key,
                value=record.value,
                op=op,
                lies=record.lies,
                offset=record.offset,
                known_op=record.known_op,
                read_offset=record.read_offset,
                reader_op=record.reader_op,
                group=fetch.register[0],
                input_key=fetch.register[1],
                committed_offset=fetch.offset,
                fetch_op=fetch.op,
            )
            for op, (fetch, commit) in _first_proofs(history).items()
            for record in missing(op, _in_log_ns(fetch, commit))
        )
    )


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    passed = passed_of(history, declared)
    proofs = _first_proofs(history).items()
    return sum(passed(op, _in_log_ns(fetch, commit)) > 0 for op, (fetch, commit) in proofs)


def explain(row: OffsetWithoutOutput, operations: Mapping[int, Operation]) -> str:
    below = "" if row.lies == "at" else " or below"
    return "\n".join(
        (
            f"group {row.group}, key {row.input_key}: the committed offset became "
            f"{row.committed_offset}, which only transaction {row.op} can have set; it also sent "
            f"{row.value} to {row.key}, at offset {row.offset}{below}. Readers polled up to offset "
            f"{row.read_offset} and never received {row.value}.",
            f"  missing  {render(operations, row.op, row.key, value=row.value)}",
            f"  fetch    {render(operations, row.fetch_op, row.input_key)}",
            f"  bound    {render(operations, row.known_op, row.key)}",
            f"  beyond   {render(operations, row.reader_op, row.key, offset=row.read_offset)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    return Anomaly(
        id="offset-without-output",
        statement="Once the offsets of a transaction are visible, so are the records that it sent.",
        rule=(
            "A fetch returned an offset that only one transaction can have set, after another "
            "offset had been observed, and readers passed a record that this transaction sent "
            "without receiving it, as in torn-transaction."
        ),
        explanation=(
            "The offsets of a transaction took effect but its records were dropped or aborted, so "
            "its input is never processed again and its output is lost."
        ),
        permits={},
        source="claims: atomic_commit, exactly_once_pipeline; ydb#52731",
        observes="transactions whose committed offset was fetched and whose output readers passed",
        row=OffsetWithoutOutput,
        find=partial(offsets_without_output, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
