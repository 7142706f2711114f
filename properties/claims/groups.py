"""Executable definitions of what Kafka's documents claim about the members of a group.

In these definitions, an epoch is the generation of a classic group, or the member epoch of KIP-848.

Source: docs/sources.md DOC0, DOC3; KIP-848.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from properties.claims.breach import Always, Breach, Sometimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """An event: a member begins to process an assigned partition at the committed position."""

    member: str
    epoch: int
    partition: str
    requested_ns: int  # when the member requested the position
    at_ns: int
    position: int  # 0: none was committed


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """An event: a member committed a position, and the coordinator accepted the commit."""

    member: str
    epoch: int
    partition: str
    requested_ns: int
    at_ns: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """The assignments and the commits of one run, in order. `owned` maps each member that is alive
    at the end of the run to its partitions.
    """

    partitions: tuple[str, ...]
    began: tuple[Began, ...]
    committed: tuple[Committed, ...]
    owned: Mapping[str, tuple[str, ...]]


def one_owner(run: Grouped) -> tuple[Breach, ...]:
    """Claim: each partition has at most one owner in each epoch, and exactly one owner at the end
    of the run.

    If a member missed a rebalance, it may continue to process its old partition, but it cannot
    commit. So after another member has begun to process the partition in a newer epoch, the old
    owner commits no position of the partition in the older epoch.
    """
    return tuple(map(partial(Breach, "one_owner"), _owners(run)))


def _owners(run: Grouped) -> Iterator[str]:
    first: dict[tuple[str, int], Began] = {}
    for one in run.began:
        owner = first.setdefault((one.partition, one.epoch), one)
        if owner.member != one.member:
            yield f"{owner.member} and {one.member} own {one.partition} in epoch {one.epoch}"
    for commit in run.committed:
        for one in run.began:
            is_later = one.partition == commit.partition and one.epoch > commit.epoch
            if is_later and one.member != commit.member and one.at_ns < commit.requested_ns:
                yield (
                    f"{commit.member} commits {commit.partition} in epoch {commit.epoch} "
                    f"when {one.member} has it in epoch {one.epoch}"
                )
    for partition in run.partitions:
        owners = [member for member, parts in run.owned.items() if partition in parts]
        if len(owners) != 1:
            yield f"at the end {partition} is owned by {' and '.join(owners) or 'no member'}"


def position_resumes(run: Grouped) -> tuple[Breach, ...]:
    """Claim: a new owner of a partition begins to consume at the highest committed position, or at
    a higher position.

    If a position was committed after the new owner requested its position, the check ignores the
    commit.
    """
    return tuple(map(partial(Breach, "position_resumes"), _resumed(run)))


def _resumed(run: Grouped) -> Iterator[str]:
    for one in run.began:
        here = [commit for commit in run.committed if commit.partition == one.partition]
        over = [commit.position for commit in here if commit.at_ns < one.requested_ns]
        if one.position < max(over, default=0):
            yield (
                f"{one.member} begins {one.partition} at {one.position}, "
                f"though {max(over)} was committed"
            )


def idle_members(run: Grouped) -> tuple[Breach, ...]:
    """Claim: at the end of the run, the partition counts of any two members differ by at most one.

    So if a group has more members than partitions, some members have one partition each, and the
    other members are idle.
    """
    return tuple(map(partial(Breach, "idle_members"), _uneven(run)))


def _uneven(run: Grouped) -> Iterator[str]:
    fewest, more = divmod(len(run.partitions), len(run.owned))
    shares = sorted(len(parts) for parts in run.owned.values())
    if shares != [fewest] * (len(run.owned) - more) + [fewest + 1] * more:
        yield f"{len(run.owned)} members own {shares} of {len(run.partitions)} partitions"


ALWAYS: Final[Always] = {
    "one_owner": one_owner,
    "idle_members": idle_members,
    "position_resumes": position_resumes,
}
SOMETIMES: Final[Sometimes] = {}
