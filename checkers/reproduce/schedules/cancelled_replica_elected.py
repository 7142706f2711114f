"""A replica whose reassignment was cancelled is elected later, with a deleted log.

The cancellation removes broker 3 from the replicas but not from the ELR, and broker 3 deletes its
log. A second reassignment adds broker 3 again. When the leader stops, the controller elects broker
3. This is a counterexample of the spec `reassignment-abstract`, version `kafka-4.3`.

Source: ReplicationControlManager.cancelPartitionReassignment;
PartitionChangeBuilder.maybePopulateTargetElr; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    cancel_reassignment,
    nothing,
    pause_for,
    read,
    reassign,
    send,
    start,
    to,
)
from checkers.reproduce.checks import acknowledged, folders, partition, was_read
from checkers.reproduce.common_steps import elr_case, end_throttle, throttle
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Instance, Reproduction, Step
from checkers.reproduce.schedules.cancelled_reassignment import REASSIGNMENT_WAITS
from checkers.reproduce.schedules.stale_elr_member import LARGE, VALUES
from checkers.systems.system import Ability


def _steps(*, elr: bool) -> tuple[Step, ...]:
    return (
        *REASSIGNMENT_WAITS,
        Step("broker 2 stops cleanly", to(Ability.STOP, 2), partition(leader=1, isr=(1, 3))),
        Step(
            "30 records are acknowledged with acks=all",
            send(*VALUES, key=LARGE),
            acknowledged(*VALUES),
        ),
        Step(
            "the operator cancels the reassignment",
            cancel_reassignment,
            partition(leader=1, isr=(1,), elr=(3,) if elr else (), replicas=(1, 2)),
        ),
        Step("broker 3 deletes its log", nothing, folders(3, r"t-0\..+-delete")),
        throttle(1),
        Step(
            "the operator adds broker 3 again, which copies slowly",
            all_of(reassign(1, 2, 3), pause_for(3)),
            partition(leader=1, isr=(1,), replicas=(1, 2, 3), elr=(3,) if elr else ()),
        ),
        Step(
            "broker 1 stops cleanly: broker 3 is elected"
            if elr
            else "broker 1 stops cleanly: the partition has no leader",
            to(Ability.STOP, 1),
            partition(leader=3, isr=(3,)) if elr else partition(leader=NO_LEADER, isr=(1,)),
        ),
        Step(
            "the throttle ends, and brokers 1 and 2 return",
            all_of(end_throttle, start(1, 2)),
            partition(leader=3 if elr else 1, isr=(1, 2, 3)),
            within_s=60,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="cancelled-replica-elected",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=2, unclean"
        " elections off, survive while no broker fails."
    ),
    because=(
        "A cancelled reassignment leaves a removed replica in the ELR, so it can be elected when it"
        " is added again, after its log was deleted."
    ),
    case=elr_case(1, _steps(elr=True), brokers=4),
    control=elr_case(0, _steps(elr=False), brokers=4),
    anomalies=("lost-write", "unseen"),
    model=(
        Instance(
            spec="reassignment-abstract",
            variant="kafka-4.3",
            settings=("disturbances=2", "stops_uncleanly=false"),
            claim="eligible_replicas_have_committed_records",
        ),
    ),
    since=(4, 1),
    page="stale-elr-member",
)
