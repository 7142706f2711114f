"""The steps of the controller. They change the leader, the ISR and the ELR of a partition.

A new leader is a member of the ISR or of the ELR. If both sets are empty, the last known leader may
be elected. An unclean election may elect any replica. In these last two cases, committed records
may be lost.

Source: ReplicationControlManager; PartitionChangeBuilder; KIP-497; KIP-966.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkers.tracing.logged_events import Event
from checkers.tracing.losses import Kind, LossyStep
from checkers.tracing.outcomes import Outcome, Refused
from checkers.tracing.partition import Handler, Partition
from checkers.tracing.registrations import NO_LEADER, REASSIGNMENT, Registration
from checkers.tracing.replication_lines import Step


def create(partition: Partition, event: Event) -> Outcome:
    why = partition.facts.registrations.contradiction(
        event, isr=event.members("isr"), leader=event.number("leader")
    )
    return Refused(why) if why else None


def change(partition: Partition, event: Event) -> Outcome:
    if any(name in event.fields for name in REASSIGNMENT):
        return Refused("the replicas of the partition change: a reassignment", is_outside=True)
    registrations = partition.facts.registrations
    before, epoch = registrations.current, event.number("partitionEpoch")
    if epoch in registrations.of_epoch:  # another controller of the quorum
        known = registrations.of_epoch[epoch]
        same = known.changed(event) == known
        return None if same else Refused(f"two lines disagree on partition epoch {epoch}")
    why = before.disagreement(event)
    if why:
        return Refused(why)
    after = before.changed(event)
    if after.partition_epoch != before.partition_epoch + 1:
        return Refused(f"partition epoch {epoch} does not follow {before.partition_epoch}")
    others = sorted((after.members | {after.leader}) - partition.replicas.keys() - {NO_LEADER})
    if others:
        return Refused(f"broker {others[0]} is no replica of the partition")
    partition.note(registrations=registrations.with_change(after))
    refused: Outcome = None
    members = before.members
    if after.leader_epoch != before.leader_epoch:
        refused = _elect(partition, event, before, after)
        if after.leader not in {*before.members, NO_LEADER}:
            members = frozenset({after.leader})
    elif after.leader != before.leader:
        refused = Refused("the leader changes and the leader epoch does not")
    return refused or partition.do_all(
        (action, (partition.replicas[broker],))
        for action, brokers in (
            ("expand_isr", after.members - members),
            ("shrink_isr", members - after.members),
        )
        for broker in sorted(brokers)
    )


def _elect(
    partition: Partition, event: Event, before: Registration, after: Registration
) -> Outcome:
    epoch = after.leader_epoch
    if after.leader == NO_LEADER:
        return partition.do("elect_nobody", epoch)
    r = partition.replicas[after.leader]
    if after.leader in before.members:
        return partition.do("elect", r, epoch)
    is_last = not before.members and before.last_known == frozenset({after.leader})
    kind = Kind.LAST_KNOWN if is_last else Kind.UNCLEAN
    step = LossyStep(kind=kind, broker=after.leader, leader_epoch=epoch, place=event.line.place)
    partition.note(lossy=(*partition.facts.lossy, step))
    return partition.do("elect_last_known" if is_last else "elect_unclean", r, epoch)


def refuse(partition: Partition, event: Event) -> Outcome:
    del event
    return partition.do("refuse")


STEPS: Final[Mapping[Step, Handler]] = {
    Step.CREATE: create,
    Step.CHANGE: change,
    Step.REFUSE: refuse,
}
