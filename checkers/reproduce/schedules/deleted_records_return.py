"""Records that DeleteRecords has deleted are read again after a clean election.

DeleteRecords waits only for live replicas. Broker 2 is down but in the ELR. When broker 1 stops,
broker 2 is elected, and its log still begins at offset 0.

Source: Partition.lowWatermarkIfLeader; KIP-107; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import delete_all, list_offsets, pause_for, send, to
from checkers.reproduce.checks import acknowledged, is_noted, partition
from checkers.reproduce.common_steps import elr_case, two_replicas
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Reproduction, Step
from checkers.systems.system import Ability

VALUES: Final = tuple(f"v{number}" for number in range(3))
EARLIEST: Final = -2


def _steps(*, elr: bool) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="2", unclean_leader_election_enable="false"),
        Step("3 records are acknowledged with acks=all", send(*VALUES), acknowledged(*VALUES)),
        Step("broker 2 has heard the high watermark", pause_for(2), partition(isr=(1, 2))),
        Step(
            "broker 2 stops cleanly",
            to(Ability.STOP, 2),
            partition(leader=1, isr=(1,), elr=(2,) if elr else ()),
        ),
        Step(
            "broker 1 answers that the records before offset 3 are deleted",
            delete_all(3, at=1),
            is_noted("NONE, low watermark 3"),
        ),
        Step(
            "broker 1 stops cleanly: the partition has no leader",
            to(Ability.STOP, 1),
            partition(leader=NO_LEADER, isr=() if elr else (1,), at=3),
        ),
        Step(
            "broker 2 returns: it is elected",
            to(Ability.START, 2),
            partition(leader=2, isr=(2,), at=3),
            within_s=60,
        )
        if elr
        else Step(
            "brokers 2 and 1 return: broker 1 is elected",
            to(Ability.START, 2, 1),
            partition(leader=1, isr=(1, 2), at=3),
            within_s=60,
        ),
        Step(
            f"the log begins at offset {0 if elr else 3}",
            list_offsets(EARLIEST, at=2 if elr else 1),
            is_noted(f"offset {0 if elr else 3}"),
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="deleted-records-return",
    promise="Always: a record that DeleteRecords has deleted is read by no consumer again.",
    because=(
        "DeleteRecords waits for live replicas only, and a replica that is down may be elected from"
        " the ELR."
    ),
    case=elr_case(1, _steps(elr=True), breaks=True),
    control=elr_case(0, _steps(elr=False), breaks=False),
    since=(4, 0),
    page="deleted-records-return",
)
