"""A committed offset is lower than it was known to be, and no commit explains it.

Applications may move their offset back: then a commit of the lower offset explains a fetch that is
told it, if it may have taken effect between the two. Without one the group reads again what it had
finished with. `None` after an offset was known is a step back too: to nothing.

Simplified: whether the coordinator let the offset expire (offsets.retention.minutes, of a group
without members) or somebody deleted it the history does not tell; to the group it is the same.
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
from properties.anomalies.rendering import at, told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class GroupOffsetWentBackwards:
    """A fetch that was told less than was known, and the highest offset that was."""

    group: str
    key: str
    offset: int  # -1: none
    op: int
    known_offset: int
    known_op: int

    @property
    def size(self) -> int:
        """How far back it went."""
        return self.known_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


def _unexplained(history: History, fetch: Fetch) -> Iterator[Commit | Fetch]:
    """What was known before the fetch, is higher, and that no commit of its answer can follow."""
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
    """One row per fetch that was told less than was known before it."""
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
    """How many answers told a committed offset."""
    return len(fetches(history))


def explain(row: GroupOffsetWentBackwards, operations: Mapping[int, Operation]) -> str:
    """What was known of the register, and what the later fetch was told."""
    known, fetch = operations[row.known_op], operations[row.op]
    answer = "that there is none" if row.offset == NONE else f"{row.offset}"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: the committed offset was {row.known_offset} by "
            f"{at(known.completed_ns)}; a fetch that began after that, at {at(fetch.invoked_ns)}, "
            f"was told {answer}, and nobody had moved it back.",
            f"  known  {told(operations, row.known_op, row.key, offset=row.known_offset)}",
            f"  told   {told(operations, row.op, row.key)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="group-offset-went-backwards",
    statement="A group's committed offset goes back only if somebody moves it back.",
    rule=(
        "A fetch ended ok and was told less than was known before it began, by a commit or another "
        "fetch that had ended ok (by the commit of a transaction only if the fetch is at "
        "read_committed); and no commit of what it was told that did not fail was invoked before "
        "the fetch completed and can have taken effect after what was known."
    ),
    explanation=(
        "The coordinator lost a commit, dropped an offset that was staged in a transaction, or a "
        "new coordinator answered before it had read its log: the group processes again."
    ),
    permits={},
    source="claims: position_resumes, offsets_in_transaction; KIP-447",
    observes="answers that tell a committed offset",
    row=GroupOffsetWentBackwards,
    find=went_backwards,
    observed=observed,
    explain=explain,
)
