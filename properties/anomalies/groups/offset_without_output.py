"""A group's offset is the one that a transaction committed, and output of it is missing.

That the offset took effect is known if a fetch was told it, nobody else can have set it, and
another was known before: then the transaction has committed, whatever its client was told. Once
that fetch has completed all that it sent is in the log, and whoever passes a record of it must be
given it (`missing`). A group whose offset moved without the output has lost its input.

Source: the batch that is dropped while offsets commit, ydb#52731.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.groups.group_offset_moved_without_commit import commits_of, first_other
from properties.anomalies.groups.offsets import Commit, Fetch, fetches
from properties.anomalies.rendering import told
from properties.anomalies.transactions.missing import Lies, missing_of
from properties.anomalies.transactions.visible import sent_by


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetWithoutOutput:
    """A record that readers passed, and a fetch that was told the offset of its transaction."""

    key: str
    value: str
    op: int  # the transaction
    lies: Lies
    offset: int  # where the record lies, or the highest at which it can
    known_op: int  # who told
    read_offset: int  # how far readers came
    reader_op: int
    group: str
    input_key: str
    committed_offset: int
    fetch_op: int  # the first that was told it

    @property
    def size(self) -> int:
        """How far readers went beyond the record."""
        return self.read_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.op, self.fetch_op, self.known_op, self.reader_op


def _told(history: History) -> Iterator[tuple[Fetch, Commit]]:
    """Fetches, and the transaction without which they could not have been told what they were."""
    for fetch in fetches(history):
        possible = [c for c in commits_of(history, fetch) if c.outcome != "fail"]
        alone = len({c.op for c in possible}) == 1 and possible[0].in_transaction
        if alone and first_other(history, fetch) and sent_by(history[possible[0].op]):
            yield fetch, possible[0]


def _first_told(history: History) -> dict[int, tuple[Fetch, Commit]]:
    """For each transaction that is known by an offset the first fetch that tells it."""
    first: dict[int, tuple[Fetch, Commit]] = {}
    for fetch, commit in sorted(_told(history), key=lambda it: (it[0].op, it[0].register)):
        first.setdefault(commit.op, (fetch, commit))
    return first


def _in_log_ns(fetch: Fetch, commit: Commit) -> int:
    return min(fetch.completed_ns, commit.completed_ns)


def offsets_without_output(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[OffsetWithoutOutput, ...]:
    """One row per record that is missing of a transaction whose offset took effect."""
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
            for op, (fetch, commit) in _first_told(history).items()
            for record in missing(op, _in_log_ns(fetch, commit))
        )
    )


def observed(history: History) -> int:
    """How many transactions with output are known to have committed by their offset."""
    return len(_first_told(history))


def explain(row: OffsetWithoutOutput, operations: Mapping[int, Operation]) -> str:
    """Which offset took effect, which record is missing, and who passed it."""
    below = "" if row.lies == "at" else " or below"
    return "\n".join(
        (
            f"group {row.group}, key {row.input_key}: the committed offset became "
            f"{row.committed_offset}, which only transaction {row.op} can have set; it also sent "
            f"{row.value} to {row.key}, which lies at offset {row.offset}{below}. Readers came to "
            f"offset {row.read_offset} and were never given it.",
            f"  missing  {told(operations, row.op, row.key, value=row.value)}",
            f"  told     {told(operations, row.fetch_op, row.input_key)}",
            f"  known    {told(operations, row.known_op, row.key)}",
            f"  beyond   {told(operations, row.reader_op, row.key, offset=row.read_offset)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    """The row of the catalogue."""
    return Anomaly(
        id="offset-without-output",
        statement="Once the offsets that a transaction committed show, so does its output.",
        rule=(
            "A fetch ended ok with an offset that only one operation that did not fail can have "
            "set, a transaction, after another offset had been known; and a record that this "
            "transaction sent is missing as for torn-transaction, counted from the completion of "
            "the fetch."
        ),
        explanation=(
            "The offsets of a transaction took effect and its records were dropped or aborted: its "
            "input is never processed again, and its output is lost."
        ),
        permits={},
        source="claims: atomic_commit, exactly_once_pipeline; ydb#52731",
        observes="transactions with output that are known to have committed by an offset",
        row=OffsetWithoutOutput,
        find=partial(offsets_without_output, declared=declared),
        observed=observed,
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
