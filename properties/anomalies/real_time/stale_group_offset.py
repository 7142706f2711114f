"""A group was told an offset that no order of its commits and fetches, true to time, explains.

For each group and key the committed offset is a register: a fetch is told what the last commit
before it set, and both take effect at one instant between invocation and completion. A commit that
ended `info` or never may take effect at any time behind its invocation, or never; one that failed
never does. What the register held before the first of them nobody knows. A commit may lower the
offset: that is the application's choice.

The search decides (`properties.linearizability`), since an offset may be committed twice. Fetches
are taken in the order of their completions; one that fits no order is told and then left out.

A commit inside a transaction takes effect where it is staged, and a fetch at `read_committed` waits
until its transaction is decided. One at `read_uncommitted` does not, so it may be told what held
before: of registers that a transaction commits to such fetches are left out.

Source: Herlihy and Wing, linearizability; KIP-447.
Simplified: a group's offsets expire after offsets.retention.minutes without members; the history
does not tell, so an answer `none` after that looks like a lost offset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.groups.offsets import (
    FOREVER_NS,
    NONE,
    Commit,
    Fetch,
    Register,
    commits,
    fetches,
)
from properties.anomalies.rendering import at, told
from properties.linearizability import (
    UNTOLD,
    Call,
    Read,
    RegisterAction,
    Stuck,
    Write,
    register,
    stuck,
)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class StaleGroupOffset:
    """A fetch that no order explains, what it could have been told, and who set or saw that."""

    group: str
    key: str
    offset: int  # NONE: it was told that there is none
    op: int
    possible: tuple[int, ...]  # ascending
    known_op: int  # the last to complete before it did

    @property
    def size(self) -> int:
        """How far the answer lies from what was possible."""
        return min(abs(self.offset - offset) for offset in self.possible)

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.known_op, self.op)))


def calls(some: Collection[Commit | Fetch]) -> list[Call[RegisterAction]]:
    """The commits and fetches of one register as calls, in their order."""
    return [
        Call(
            one.op,
            Read(one.offset) if isinstance(one, Fetch) else Write(one.offset),
            one.invoked_ns,
            None if one.completed_ns == FOREVER_NS else one.completed_ns,
        )
        for one in some
    ]


def registers(history: History) -> dict[Register, list[Commit | Fetch]]:
    """Of each register that is fetched what is held to an order, by operations.

    A commit that may never have been, of an offset that nobody was told, changes nothing.
    """
    found: dict[Register, list[Commit | Fetch]] = {}
    in_transactions = {one.register for one in commits(history) if one.in_transaction}
    for commit in commits(history):
        if commit.outcome != "fail":
            found.setdefault(commit.register, []).append(commit)
    for fetch in fetches(history):
        if fetch.stable or fetch.register not in in_transactions:
            found.setdefault(fetch.register, []).append(fetch)
    return {where: made for where, some in found.items() if (made := _relevant(some))}


def _relevant(some: Collection[Commit | Fetch]) -> list[Commit | Fetch]:
    answers = {one.offset for one in some if isinstance(one, Fetch)}
    relevant = [one for one in some if one.completed_ns < FOREVER_NS or one.offset in answers]
    return sorted(relevant, key=lambda one: (one.op, isinstance(one, Fetch))) if answers else []


def row_of(
    where: Register, some: Collection[Call[RegisterAction]], found: Stuck[int, RegisterAction]
) -> StaleGroupOffset:
    """The row of a fetch that fits no order of these calls of its register."""
    before = [
        (call.completed_ns, call.op)
        for call in some
        if call.completed_ns is not None and call is not found.call
        if (call.completed_ns, call.op) <= (found.call.completed_ns or 0, found.call.op)
    ]
    assert isinstance(found.call.action, Read)
    return StaleGroupOffset(
        group=where[0],
        key=where[1],
        offset=found.call.action.value,
        op=found.call.op,
        possible=tuple(sorted(found.states)),
        known_op=max(before)[1],
    )


def stale_group_offsets(history: History) -> tuple[StaleGroupOffset, ...]:
    """One row per fetch that fits no order of those before it."""
    return tuple(sorted(_stale(history)))


def _stale(history: History) -> Iterator[StaleGroupOffset]:
    for where, some in registers(history).items():
        of_register = calls(some)
        for found in stuck(of_register, UNTOLD, register):
            yield row_of(where, of_register, found)


def observed(history: History) -> int:
    """How many fetches are held to an order."""
    return sum(isinstance(one, Fetch) for some in registers(history).values() for one in some)


def explain(row: StaleGroupOffset, operations: Mapping[int, Operation]) -> str:
    """What the group was told, and what it could have been told."""
    fetch, known = operations[row.op], operations[row.known_op]
    possible = " or ".join(map(_shown, row.possible))
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: a fetch from {at(fetch.invoked_ns)} to "
            f"{at(fetch.completed_ns)} was told {_shown(row.offset)}; no order of what was "
            f"committed and told before leaves anything but {possible}.",
            f"  known  {told(operations, row.known_op, row.key)}",
            f"  fetch  {told(operations, row.op, row.key)}",
            f"The first of these completed at {at(known.completed_ns)}.",
        )
    )


def _shown(offset: int) -> str:
    return "that none is committed" if offset == NONE else f"{offset:,}"


ANOMALY: Final = Anomaly(
    id="stale-group-offset",
    statement="The committed offsets of a group are linearizable registers.",
    rule=(
        "The commits and fetches of a group and key that completed so far, and those that may have "
        "taken effect, have no order that is true to time and in which the fetch is told what the "
        "last commit before it set."
    ),
    explanation=(
        "A member of the group took up its work at an offset that was out of date or that nobody "
        "can have set then: the coordinator lost a commit, answered from an old copy, or let an "
        "old commit win. Its input is processed again, or left out."
    ),
    permits={},
    source="claims: linearizable_offsets; Herlihy and Wing; KIP-447",
    observes="fetches of a group's offset",
    row=StaleGroupOffset,
    find=stale_group_offsets,
    observed=observed,
    explain=explain,
)
