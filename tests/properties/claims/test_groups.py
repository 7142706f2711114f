"""Each claim about members of a consumer group is checked on a few events.

An event: a member begins to own a partition, or commits a position in the partition.
"""

from __future__ import annotations

from collections.abc import Mapping

from properties.claims.groups import (
    Began,
    Committed,
    Grouped,
    idle_members,
    one_owner,
    position_resumes,
)

A, B = "tasks-0", "tasks-1"


def began(at: int, member: str, epoch: int, partition: str = A, position: int = 0) -> Began:
    return Began(
        member=member,
        epoch=epoch,
        partition=partition,
        requested_ns=at,
        at_ns=at + 1,
        position=position,
    )


def committed(at: int, member: str, epoch: int, position: int, partition: str = A) -> Committed:
    return Committed(
        member=member,
        epoch=epoch,
        partition=partition,
        requested_ns=at,
        at_ns=at + 1,
        position=position,
    )


def run(*events: Began | Committed, owned: Mapping[str, tuple[str, ...]] | None = None) -> Grouped:
    return Grouped(
        partitions=(A, B),
        began=tuple(event for event in events if isinstance(event, Began)),
        committed=tuple(event for event in events if isinstance(event, Committed)),
        owned=owned or {"m": (A,), "n": (B,)},
    )


def test_a_partition_that_moves_has_one_owner_at_a_time() -> None:
    moved = run(
        began(0, "m", 1), committed(10, "m", 1, 3), began(20, "n", 2, position=3),
        committed(30, "n", 2, 4), began(40, "m", 3, position=4),
    )  # fmt: skip
    assert one_owner(moved) == ()
    assert position_resumes(moved) == ()


def test_two_owners_in_one_epoch_are_a_breach() -> None:
    (breach,) = one_owner(run(began(0, "m", 1), began(10, "n", 1)))
    assert breach.why == "m and n own tasks-0 in epoch 1"
    assert one_owner(run(began(0, "m", 1), began(10, "m", 1))) == ()


def test_a_commit_of_a_former_owner_is_a_breach() -> None:
    zombie = run(began(0, "m", 1), began(10, "n", 2), committed(20, "m", 1, 5))
    (breach,) = one_owner(zombie)
    assert breach.why == "m commits tasks-0 in epoch 1 when n has it in epoch 2"
    in_time = run(began(0, "m", 1), committed(5, "m", 1, 5), began(10, "n", 2, position=5))
    assert one_owner(in_time) == ()


def test_at_the_end_each_partition_has_one_owner() -> None:
    assert [breach.why for breach in one_owner(run(owned={"m": (A,), "n": (A,)}))] == [
        "at the end tasks-0 is owned by m and n",
        "at the end tasks-1 is owned by no member",
    ]


def test_an_owner_that_begins_below_the_committed_position_is_a_breach() -> None:
    (breach,) = position_resumes(run(committed(0, "m", 1, 3), began(10, "n", 2, position=2)))
    assert breach.why == "n begins tasks-0 at 2, though 3 was committed"
    meanwhile = run(committed(10, "m", 1, 3), began(10, "n", 2, position=2))
    assert position_resumes(meanwhile) == ()  # the commit was not complete at the request of n


def test_members_own_even_shares() -> None:
    assert idle_members(run(owned={"m": (A,), "n": (B,), "o": ()})) == ()
    assert idle_members(run(owned={"m": (A, B)})) == ()
    (breach,) = idle_members(run(owned={"m": (A, B), "n": ()}))
    assert breach.why == "2 members own [0, 2] of 2 partitions"
