"""A fetch returned a group offset that no client had committed.

The fetch is not reported in two cases:

- A client invoked a commit of this offset before the fetch completed, and the commit may have
  succeeded.
- No other offset of the group was observed before the fetch began. In this case, the fetched offset
  may have been committed before the history began.

If the offset was sent only in transactions that aborted, the fetch is an `aborted-offset-read`
instead.

Simplified: the history does not record automatic commits, and it does not record commits of clients
outside the history. The check ignores such commits.
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
from properties.anomalies.rendering import in_ms, render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class GroupOffsetMovedWithoutCommit:
    """A fetch of a group offset that no client had committed.

    Before the fetch, the group had another offset, `known_offset`. `known_op` is the earliest
    operation that proves this: it committed or fetched `known_offset`, and ended before the fetch
    began.
    """

    group: str
    key: str
    offset: int
    op: int
    known_offset: int  # -1: no committed offset
    known_op: int

    @property
    def size(self) -> int:
        return abs(self.offset - self.known_offset)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


def first_different(history: History, fetch: Fetch) -> Commit | Fetch | None:
    """Returns the earliest commit or fetch that proves another group offset than `fetch` returned.
    It must have ended before `fetch` began.

    The earliest is the one that completed first. Returns None if no other offset is proved. The
    group and the topic partition are the same as those of `fetch`.
    """
    others = [
        fact for fact in facts(history) if known_to(fetch, fact) and fact.offset != fetch.offset
    ]
    return min(others, key=lambda it: (it.completed_ns, it.op, it.offset), default=None)


def commits_of(history: History, fetch: Fetch) -> list[Commit]:
    """Returns all commits that may have set the offset that `fetch` returned, and also failed
    commits of this offset.

    A commit is included if it has the same group, topic partition and offset as `fetch`, and if it
    was invoked before `fetch` completed.
    """
    return [
        commit
        for commit in commits(history)
        if commit.register == fetch.register and commit.offset == fetch.offset
        if commit.invoked_ns <= fetch.completed_ns
    ]


def moved_without_commit(history: History) -> tuple[GroupOffsetMovedWithoutCommit, ...]:
    rows: list[GroupOffsetMovedWithoutCommit] = []
    for fetch in fetches(history):
        known = first_different(history, fetch)
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
    return sum(
        fetch.offset != NONE and first_different(history, fetch) is not None
        for fetch in fetches(history)
    )


def explain(row: GroupOffsetMovedWithoutCommit, operations: Mapping[int, Operation]) -> str:
    known, fetch = operations[row.known_op], operations[row.op]
    none = row.known_offset == NONE
    before = "there was no committed offset" if none else f"offset {row.known_offset} was committed"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: {before} by "
            f"{in_ms(known.completed_ns)}; an offset fetch invoked at {in_ms(fetch.invoked_ns)} "
            f"returned {row.offset}, which no client had committed when the fetch completed.",
            f"  before  {render(operations, row.known_op, row.key)}",
            f"  fetch   {render(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="group-offset-moved-without-commit",
    statement="A group's committed offset changes only when a client commits an offset.",
    rule=(
        "An offset fetch returned an offset although no commit of that offset, apart from failed "
        "ones outside transactions, was invoked before the fetch completed, and a commit or fetch "
        "had shown another offset before the fetch began."
    ),
    explanation=(
        "The coordinator answered for another group or partition, or its cache differs from its "
        "log, so the group skips records or reads them again."
    ),
    permits={},
    source="claims: position_resumes; redpanda#13364",
    observes="fetches of a committed offset after another offset had been observed",
    row=GroupOffsetMovedWithoutCommit,
    find=moved_without_commit,
    observed=observed,
    explain=explain,
)
