"""A fetch returned an illegal group offset: no order of commits and fetches that respects real time
explains it.

The committed offset of a group for one topic partition is a register: a fetch returns the offset of
the last commit that took effect before the fetch. Each commit and each fetch takes effect at one
instant between its invocation and its completion. A commit that ended `info` may take effect later,
or never. A failed commit never takes effect. The initial offset is unknown, and a commit may lower
the offset.

`properties.linearizability` searches for an order that explains all fetches. It checks the fetches
in the order of their completion. If a fetch fits into no order, the search reports the fetch and
continues without it. A fetch at `read_uncommitted` does not wait for transactions. So if any
transaction commits an offset of the register, such fetches are not checked.

Source: Herlihy and Wing, linearizability; KIP-447.
Simplified: if a group has no members, its offsets expire after offsets.retention.minutes. The
history does not record the expiry. So if a fetch returns no offset because of an expiry, the fetch
is reported.
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
from properties.anomalies.rendering import in_ms, render
from properties.linearizability import (
    UNKNOWN,
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
    """A fetch that returned an illegal offset, and the offsets that it could legally have returned.
    An offset is illegal if no order of commits and fetches that respects real time explains it.
    """

    group: str
    key: str
    offset: int  # NONE: the fetch returned no committed offset
    op: int
    possible: tuple[int, ...]  # ascending
    known_op: int  # the last operation to complete before it, among those that fit an order

    @property
    def size(self) -> int:
        return min(abs(self.offset - offset) for offset in self.possible)

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.known_op, self.op)))


def calls(some: Collection[Commit | Fetch]) -> list[Call[RegisterAction]]:
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
    """Maps each register (a group and a topic partition) to the commits and fetches that must be
    linearizable.

    The result does not include:

    - registers without a fetch;
    - commits that failed;
    - commits of unknown outcome whose offset no fetch returned;
    - fetches at `read_uncommitted`, if a transaction commits an offset of the same register.
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


def rows_of(where: Register, some: Collection[Call[RegisterAction]]) -> Iterator[StaleGroupOffset]:
    """Returns one violation for each fetch in `some` that no legal order of `some` can contain.

    `some` has commits and fetches of the register `where` (a group and a topic partition).
    """
    misfits = list(stuck(some, UNKNOWN, register))
    fitting = set(some) - {found.call for found in misfits}
    return (_row(where, fitting, found) for found in misfits)


def _row(
    where: Register, fitting: Collection[Call[RegisterAction]], found: Stuck[int, RegisterAction]
) -> StaleGroupOffset:
    ended_ns = found.call.completed_ns
    assert ended_ns is not None, "only a fetch that ended ok can be stale"
    before = [
        (call.completed_ns, call.op)
        for call in fitting
        if call.completed_ns is not None
        if (call.completed_ns, call.op) <= (ended_ns, found.call.op)
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
    return tuple(sorted(_stale(history)))


def _stale(history: History) -> Iterator[StaleGroupOffset]:
    for where, some in registers(history).items():
        yield from rows_of(where, calls(some))


def observed(history: History) -> int:
    return sum(map(_later_fetches, registers(history).values()))


def _later_fetches(some: Collection[Commit | Fetch]) -> int:
    """Returns how many fetches in `some` could contradict an earlier operation. `some` has the
    commits and fetches of one register (a group and a topic partition).

    If the first operation to complete is a fetch, this fetch is not counted. It contradicts
    nothing, because the initial offset is unknown.
    """
    first = min(some, key=lambda one: (one.completed_ns, one.op, isinstance(one, Fetch)))
    return sum(isinstance(one, Fetch) for one in some) - isinstance(first, Fetch)


def explain(row: StaleGroupOffset, operations: Mapping[int, Operation]) -> str:
    fetch, known = operations[row.op], operations[row.known_op]
    possible = " or ".join(map(_shown, row.possible))
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: an offset fetch from {in_ms(fetch.invoked_ns)} to "
            f"{in_ms(fetch.completed_ns)} returned {_shown(row.offset)}; in every legal order "
            f"of the earlier commits and fetches the offset is {possible}.",
            f"  before  {render(operations, row.known_op, row.key)}",
            f"  fetch   {render(operations, row.op, row.key)}",
            f"The first of these completed at {in_ms(known.completed_ns)}.",
        )
    )


def _shown(offset: int) -> str:
    return "no committed offset" if offset == NONE else f"{offset:,}"


ANOMALY: Final = Anomaly(
    id="stale-group-offset",
    statement="The committed offset of a group and key is a linearizable register.",
    rule=(
        "No order of the commits and fetches of a group and key agrees with real time and has "
        "every fetch return the offset of the last commit before it."
    ),
    explanation=(
        "The coordinator lost a commit, answered from a stale copy, or let an old commit override "
        "a newer one, so the group processes input again or skips it."
    ),
    permits={},
    source="claims: linearizable_offsets; Herlihy and Wing; KIP-447",
    observes="fetches of a group's offset after a commit or another fetch",
    row=StaleGroupOffset,
    find=stale_group_offsets,
    observed=observed,
    explain=explain,
)
