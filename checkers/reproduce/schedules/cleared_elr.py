"""A change of min.insync.replicas leaves an offline partition without a leader for good.

All members of the ISR stop cleanly and move to the ELR, so the ISR is empty. The change of
min.insync.replicas clears the ELR and the last known leader. After that, no broker can be
elected, although all brokers return with all their records.

Source: ConfigurationControlManager.createClearElrRecordsAsNeeded;
ReplicationControlManager.replayClearTopicElrs; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, nothing, pause_for, send, set_config, to
from checkers.reproduce.checks import acknowledged, done, partition, registered
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.administration import TOPIC_RESOURCE
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(features={"eligible.leader.replicas.version": 1})
WAITED_S: Final = 15.0


def _steps(*, changed: bool) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="2", unclean_leader_election_enable="false"),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step(
            "brokers 2 and 1 stop cleanly: the partition has no leader",
            to(Ability.STOP, 2, 1),
            partition(leader=NO_LEADER, isr=(), elr=(1, 2), at=3),
        ),
        Step(
            "min.insync.replicas is set to 1",
            all_of(set_config(TOPIC_RESOURCE, "t", "min.insync.replicas", "1"), pause_for(1)),
            partition(leader=NO_LEADER, isr=(), elr=(), at=3),
        )
        if changed
        else Step("no configuration is changed", nothing, done),
        *(
            (
                Step(
                    "brokers 1 and 2 return",
                    to(Ability.START, 1, 2),
                    registered(1, 2, 3, at=3),
                    within_s=60,
                ),
                Step(
                    f"after {WAITED_S:.0f} s more, the partition still has no leader",
                    pause_for(WAITED_S),
                    partition(leader=NO_LEADER, isr=(), elr=(), replicas=(1, 2), at=3),
                ),
            )
            if changed
            else (
                Step(
                    "brokers 1 and 2 return: one of them is elected",
                    to(Ability.START, 1, 2),
                    partition(isr=(1, 2), at=3),
                    within_s=60,
                ),
            )
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="cleared-elr",
    promise="Always: a partition has a leader after all of its replicas have returned.",
    because=(
        "A change of min.insync.replicas clears the ELR, also that of a partition whose ISR is"
        " empty."
    ),
    case=Case(
        about="min.insync.replicas is changed while the partition is offline",
        layout=LAYOUT,
        steps=_steps(changed=True),
        breaks=True,
    ),
    control=Case(
        about="no configuration is changed",
        layout=LAYOUT,
        steps=_steps(changed=False),
        breaks=False,
    ),
    model=(
        Instance(
            spec="election",
            variant="clears-elr",
            claim="somebody_leads",
            settings=("max_changes=1",),
        ),
    ),
    since=(4, 0),
    page="cleared-elr",
)
