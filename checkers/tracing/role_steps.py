"""The steps by which a broker becomes leader or follower. The broker loads its log, and then begins
its role.

Source: Partition.makeLeader and makeFollower; ReplicaManager.applyDelta.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkers.tracing.logged_events import Event
from checkers.tracing.losses import Kind, LossyStep
from checkers.tracing.outcomes import Outcome, Refused, compared
from checkers.tracing.partition import Handler, Partition
from checkers.tracing.replication_lines import Step


def lead(partition: Partition, event: Event) -> Outcome:
    node, epoch = event.line.node, event.number("leader_epoch")
    r = partition.replicas[node]
    refused = learn(partition, event, leader=node, isr=event.members("isr"))
    refused = refused or _lose_end(partition, event, r)
    if refused is not None:
        return refused
    if epoch > partition.now.epoch(r):
        refused = _begin(partition, r, epoch)
        if refused is not None:
            return refused
    elif not partition.behaviour.state["replica.is_leader", (r,)]:
        return Refused(f"in leader epoch {epoch} it is already a follower")
    return _log_differs(partition, event, r)


def _begin(partition: Partition, r: int, epoch: int) -> Outcome:
    if not partition.now.may_lack(epoch):
        return partition.do("become_leader", r, epoch)
    return partition.do("become_leader_without", r, epoch, partition.now.kept(r))


def follow(partition: Partition, event: Event) -> Outcome:
    r, epoch = partition.replicas[event.line.node], event.number("leader_epoch")
    refused = learn(partition, event, leader=event.number("leader"))
    refused = refused or _lose_end(partition, event, r)
    if refused is not None:
        return refused
    now = partition.now
    if epoch > now.epoch(r):
        refused = partition.do("become_follower", r, epoch)
        if refused is not None:
            return refused
    elif epoch < now.epoch(r) or partition.behaviour.state["replica.is_leader", (r,)]:
        return Refused(f"it is already in leader epoch {now.epoch(r)}")
    return _log_differs(partition, event, r)


def _lose_end(partition: Partition, event: Event, r: int) -> Outcome:
    node, end, now = event.line.node, event.number("offset"), partition.now
    if node not in partition.facts.restarted:
        return None
    partition.note(restarted=partition.facts.restarted - {node})
    if end >= now.end(r):
        return None
    # The broker has lost its disk, or records that were not flushed.
    step = LossyStep(
        kind=Kind.LOST_END, broker=node, leader_epoch=now.newest, place=event.line.place
    )
    partition.note(lossy=(*partition.facts.lossy, step))
    if end == 0 and now.flushed(r):
        return partition.do("lose_disk", r)
    return partition.do("lose_power", r, end)


def _log_differs(partition: Partition, event: Event, r: int) -> Outcome:
    now, end = partition.now, event.number("offset")
    if end < now.end(r):
        lost = now.missing(r, end)
        return Refused(f"log end: the line has {end}, the spec {now.end(r)}: {lost}")
    found, expected = (end, event.number("mark")), (now.end(r), now.mark(r))
    return compared("log end and high watermark", found, expected)


def learn_more(partition: Partition, event: Event) -> Outcome:
    return learn(partition, event, isr=event.members("isr"))


def learn(partition: Partition, event: Event, **shown: object) -> Outcome:
    """Compares a broker's state of the partition with the controller's registration at the same
    partition epoch.

    Returns a refusal if they differ, or if the broker's partition epoch is lower than in an earlier
    event. `shown` has the values of the log line that are compared.
    """
    node, epoch = event.line.node, event.number("partition_epoch")
    if "leader_epoch" in event.fields:
        shown["leader_epoch"] = event.number("leader_epoch")
    why = partition.facts.registrations.contradiction(event, **shown)
    if why:
        return Refused(why)
    known = partition.facts.learned.get(node, -1)
    if epoch < known:
        return Refused(f"partition epoch {epoch} comes after {known}")
    partition.note(learned={**partition.facts.learned, node: epoch})
    return None


def load(partition: Partition, event: Event) -> Outcome:
    broker, mark, facts = event.line.node, event.number("mark"), partition.facts
    r, is_first = partition.replicas[broker], broker not in facts.loaded
    partition.note(
        loaded=facts.loaded | {broker},
        learned={b: epoch for b, epoch in facts.learned.items() if b != broker},
        heard={b: heard for b, heard in facts.heard.items() if b != broker},
    )
    if is_first and partition.now.end(r) == 0:
        return compared("high watermark", mark, 0)
    partition.note(restarted=facts.restarted | {broker})
    return partition.do("restart", r, mark)


STEPS: Final[Mapping[Step, Handler]] = {
    Step.LEAD: lead,
    Step.FOLLOW: follow,
    Step.LEARN: learn_more,
    Step.LOAD: load,
}
