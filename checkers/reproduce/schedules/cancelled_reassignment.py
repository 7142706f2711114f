"""A cancelled reassignment leaves one copy of an acknowledged record, with min.insync.replicas=2.

A partition has two replicas, and an operator adds two brokers. One of the added brokers joins the
ISR, and the other added broker is down. After that, one of the two old replicas stops, and records
are acknowledged by an ISR of two. The operator cancels the reassignment, and the added broker
deletes its log. Now only one broker has the records, and it loses its disk.

Source: ReplicationControlManager.cancelPartitionReassignment; PartitionReassignmentRevert.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    cancel_reassignment,
    elect_unclean,
    nothing,
    pause_for,
    read,
    reassign,
    send,
    start,
    to,
)
from checkers.reproduce.checks import acknowledged, done, folders, partition, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Ability, Layout

VALUES: Final = tuple(f"v{number}" for number in range(10))
LAYOUT: Final = Layout(brokers=4, features={"eligible.leader.replicas.version": 1})
CANCELLED: Final = (
    Step(
        "the operator cancels the reassignment: broker 1 alone is in the ISR",
        cancel_reassignment,
        partition(leader=1, isr=(1,), elr=(3,), replicas=(1, 2)),
    ),
    Step("broker 3 deletes its log", nothing, folders(3, r"t-0\..+-delete")),
)
CONTINUED: Final = (
    Step(
        "the reassignment waits for broker 4",
        nothing,
        partition(leader=1, isr=(1, 3), replicas=(1, 2, 3, 4)),
    ),
)

# Broker 3 has joined the ISR, and the reassignment waits for broker 4.
REASSIGNMENT_WAITS: Final[tuple[Step, ...]] = (
    two_replicas(min_insync_replicas="2", unclean_leader_election_enable="false"),
    Step("broker 4 stops", to(Ability.STOP, 4), done),
    Step(
        "the operator adds brokers 3 and 4: broker 3 joins the ISR",
        reassign(1, 2, 3, 4),
        partition(leader=1, isr=(1, 2, 3), replicas=(1, 2, 3, 4)),
    ),
)


def _steps(*, cancelled: bool) -> tuple[Step, ...]:
    return (
        *REASSIGNMENT_WAITS,
        Step(
            "broker 2 stops cleanly", to(Ability.STOP, 2), partition(leader=1, isr=(1, 3), elr=())
        ),
        Step("10 records are acknowledged with acks=all", send(*VALUES), acknowledged(*VALUES)),
        *(CANCELLED if cancelled else CONTINUED),
        Step(
            "broker 1 is killed and loses its disk",
            all_of(to(Ability.KILL, 1), to(Ability.WIPE, 1)),
            partition(leader=NO_LEADER if cancelled else 3),
        ),
        Step(
            "brokers 1 and 2 return: the partition still has no leader after 10 s",
            all_of(start(1, 2), pause_for(10)),
            partition(leader=NO_LEADER, isr=(), elr=(3,), replicas=(1, 2)),
        )
        if cancelled
        else Step(
            "brokers 1 and 2 return: broker 3 leads",
            start(1, 2),
            partition(leader=3, isr=(1, 2, 3)),
        ),
        Step(
            "the operator requests an unclean election, in case there is no leader",
            elect_unclean,
            partition(leader=1 if cancelled else 3),
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="cancelled-reassignment",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=2 survive"
        " the loss of one disk."
    ),
    because=(
        "A cancelled reassignment removes an in-sync replica, although fewer than"
        " min.insync.replicas eligible ones remain."
    ),
    case=Case(about="the reassignment is cancelled", layout=LAYOUT, steps=_steps(cancelled=True)),
    control=Case(
        about="the reassignment is not cancelled", layout=LAYOUT, steps=_steps(cancelled=False)
    ),
    anomalies=("lost-write", "unseen"),
    model=(
        Instance(
            spec="reassignment-abstract",
            variant="elr-of-replicas",
            claim="enough_members_remain",
        ),
    ),
    since=(4, 0),
    page="cancelled-reassignment",
)
