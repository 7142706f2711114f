"""A fetch returned a lower group offset than was observed before, and no commit lowered it.

So the group reads some of its input a second time. The fetch is not reported if a commit of the
lower offset may have taken effect after the higher offset was observed. If a fetch returns no
offset, the result is treated as lower than every offset.

Simplified: the coordinator may have expired the offset (offsets.retention.minutes, for a group
without members), or a client may have deleted it. The history does not record an expiry or a
deletion. The effect on the group is the same as if the offset had gone backwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    may_follow,
)
from properties.anomalies.rendering import in_ms, render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class GroupOffsetWentBackwards:
    """A fetch of a group offset that is lower than an offset that was observed before the fetch.

    `known_offset` is the highest offset that was observed before the fetch, and that no later
    commit replaced. The operation `known_op` observed it.
    """

    group: str
    key: str
    offset: int  # -1: no committed offset
    op: int
    known_offset: int
    known_op: int

    @property
    def size(self) -> int:
        return self.known_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


def _unexplained(history: History, fetch: Fetch) -> Iterator[Commit | Fetch]:
    """Yields each commit or fetch which proves that, before `fetch` began, the group's offset was
    higher than the offset that `fetch` returned.

    Yields nothing if a commit explains the lower offset. A commit is an explanation if it has the
    offset that `fetch` returned, and if it may have taken effect after the higher offset was
    observed.
    """
    back = [
        commit
        for commit in commits(history)
        if commit.offset == fetch.offset and commit.invoked_ns <= fetch.completed_ns
    ]
    for fact in facts(history):
        higher = known_to(fetch, fact) and fact.offset > fetch.offset
        if higher and not any(may_follow(commit, fact) for commit in back):
            yield fact


def went_backwards(history: History) -> tuple[GroupOffsetWentBackwards, ...]:
    rows: list[GroupOffsetWentBackwards] = []
    for fetch in fetches(history):
        facts = list(_unexplained(history, fetch))
        if facts:
            known = min(facts, key=lambda it: (-it.offset, it.op))
            group, key = fetch.register
            rows.append(
                GroupOffsetWentBackwards(
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
    known = [fact for fact in facts(history) if fact.offset != NONE]
    return sum(any(known_to(fetch, fact) for fact in known) for fetch in fetches(history))


def explain(row: GroupOffsetWentBackwards, operations: Mapping[int, Operation]) -> str:
    known, fetch = operations[row.known_op], operations[row.op]
    answer = "no committed offset" if row.offset == NONE else f"{row.offset}"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: the committed offset was {row.known_offset} by "
            f"{in_ms(known.completed_ns)}; a later offset fetch, invoked at "
            f"{in_ms(fetch.invoked_ns)}, returned {answer}, although no client had moved the "
            "offset back.",
            f"  before  {render(operations, row.known_op, row.key, offset=row.known_offset)}",
            f"  fetch   {render(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="group-offset-went-backwards",
    statement="A group's committed offset decreases only if a client commits a lower offset.",
    rule=(
        "An offset fetch returned less than a commit or fetch had shown before the fetch began "
        "(a commit in a transaction counts only for a fetch at read_committed), and no commit of "
        "the returned offset can have taken effect in between."
    ),
    explanation=(
        "The coordinator lost a commit, dropped a transaction's pending offset, or answered "
        "before it had loaded its log, so the group processes records again."
    ),
    permits={},
    source="claims: position_resumes, offsets_in_transaction; KIP-447",
    observes="fetches of a committed offset after an offset had been observed",
    row=GroupOffsetWentBackwards,
    find=went_backwards,
    observed=observed,
    explain=explain,
)
