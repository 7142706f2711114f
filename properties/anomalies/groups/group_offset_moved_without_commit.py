"""A committed offset is one that nobody ever committed.

Every answer that a fetch gets was set by a commit that did not fail and was invoked before the
fetch completed, or it stood there before the history began. That it did is refuted by what was
known before the fetch began: another offset. From then on somebody must have set it.

An offset that only transactions that aborted committed is an `aborted-offset-read`.

Simplified: commits that the history does not have (automatic ones, or of other clients) look like
none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.groups.offsets import (
    NONE,
    Commit,
    Fetch,
    commits,
    facts,
    fetches,
    known_to,
)
from properties.anomalies.rendering import at, told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class GroupOffsetMovedWithoutCommit:
    """A fetch that was told an offset of nobody, and what was known first of the register."""

    group: str
    key: str
    offset: int
    op: int
    known_offset: int  # -1: none
    known_op: int

    @property
    def size(self) -> int:
        """How far the offset moved."""
        return abs(self.offset - self.known_offset)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


def first_other(history: History, fetch: Fetch) -> Commit | Fetch | None:
    """The first that told another offset before the fetch began: what refutes that it stood."""
    others = [
        fact for fact in facts(history) if known_to(fetch, fact) and fact.offset != fetch.offset
    ]
    return min(others, key=lambda it: (it.completed_ns, it.op, it.offset), default=None)


def commits_of(history: History, fetch: Fetch) -> list[Commit]:
    """The commits, failed ones too, that could have set what the fetch was told."""
    return [
        commit
        for commit in commits(history)
        if commit.register == fetch.register and commit.offset == fetch.offset
        if commit.invoked_ns <= fetch.completed_ns
    ]


def moved_without_commit(history: History) -> tuple[GroupOffsetMovedWithoutCommit, ...]:
    """One row per fetch that was told what nobody had set."""
    rows: list[GroupOffsetMovedWithoutCommit] = []
    for fetch in fetches(history):
        known = first_other(history, fetch)
        if fetch.offset == NONE or known is None:
            continue
        if any(c.outcome != "fail" or c.in_transaction for c in commits_of(history, fetch)):
            continue
        group, key = fetch.register
        rows.append(
            GroupOffsetMovedWithoutCommit(
                group=group,
                key=key,
                offset=fetch.offset,
                op=fetch.op,
                known_offset=known.offset,
                known_op=known.op,
            )
        )
    return tuple(sorted(set(rows)))


def observed(history: History) -> int:
    """How many answers told a committed offset when another had been known."""
    return sum(
        fetch.offset != NONE and first_other(history, fetch) is not None
        for fetch in fetches(history)
    )


def explain(row: GroupOffsetMovedWithoutCommit, operations: Mapping[int, Operation]) -> str:
    """What was known of the register, and the answer that came from nowhere."""
    known, fetch = operations[row.known_op], operations[row.op]
    before = "none" if row.known_offset == NONE else f"{row.known_offset}"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: the committed offset was {before} by "
            f"{at(known.completed_ns)}; a fetch invoked at {at(fetch.invoked_ns)} was told "
            f"{row.offset}, and until it completed nobody had committed that.",
            f"  known  {told(operations, row.known_op, row.key)}",
            f"  told   {told(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="group-offset-moved-without-commit",
    statement="A group's committed offset moves only when somebody commits it.",
    rule=(
        "A fetch that ended ok was told an offset; no commit of that offset that did not fail, nor "
        "one of a transaction, was invoked before the fetch completed; and before it began another "
        "offset was known, by a commit or a fetch that had ended ok."
    ),
    explanation=(
        "The coordinator answers for another group or partition, or its log and what it holds in "
        "memory have come apart: the group skips records, or reads them again."
    ),
    permits={},
    source="claims: position_resumes; redpanda#13364",
    observes="answers that tell a committed offset when another had been known",
    row=GroupOffsetMovedWithoutCommit,
    find=moved_without_commit,
    observed=observed,
    explain=explain,
)
