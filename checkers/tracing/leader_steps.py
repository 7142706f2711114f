"""The steps of a leader: it records fetches, advances the high watermark, and extends the ISR.

Source: Partition.updateFollowerFetchState, maybeIncrementLeaderHW and maybeExpandIsr.
Simplified: if Kafka elects the same leader again, the leader still knows how far its followers have
fetched (Replica.resetReplicaState). The leader of the spec does not know it. The trace is therefore
undecided from such an election on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Outcome, Refused, at_least, compared
from checkers.tracing.partition import Handler, Partition
from checkers.tracing.replication_lines import Step
from checkers.tracing.role_steps import learn
from properties.refinement.log_entries import last_offset


def advance(partition: Partition, event: Event) -> Outcome:
    r, mark = partition.replicas[event.line.node], event.number("mark")
    now = partition.now
    refused = compared("high watermark before", event.number("before"), now.mark(r))
    if refused is not None:
        return refused
    epoch = now.epoch(r)
    _take_late_fetches(partition, epoch)
    for f in partition.replicas.values():
        is_awaited = partition.behaviour.state["led.maximal_isr", (epoch, f)]
        if is_awaited and partition.now.fetched(epoch, f) < mark:
            partition.do_if_allowed("drop_member", r, f)
    is_replaced = partition.facts.lossy and partition.now.is_replaced(epoch)
    refused = partition.do("commit_too_late" if is_replaced else "advance_high_watermark", r, mark)
    if refused is not None and partition.now.is_elected_again(epoch):
        why = "the leader was elected again, and counts the fetches of its last leader epoch"
        return Refused(why, is_outside=True)
    return refused


def propose(partition: Partition, event: Event) -> Outcome:
    node, member = event.line.node, event.number("member")
    r, f = partition.replicas[node], partition.replicas[member]
    epoch = partition.now.epoch(r)
    refused = compared("leader epoch", event.number("leader_epoch"), epoch) or compared(
        "partition epoch", event.number("partition_epoch"), partition.facts.learned.get(node)
    )
    if refused is not None:
        return refused
    if partition.behaviour.state["led.maximal_isr", (epoch, f)]:
        if member in partition.facts.registrations.current.elr:
            return None  # the spec's leader waits for the ELR anyway
        partition.do_if_allowed("drop_member", r, f)
    _take_late_fetches(partition, epoch)
    return partition.do("propose_member", r, f)


def commit_isr(partition: Partition, event: Event) -> Outcome:
    return learn(partition, event, isr=event.members("isr"), leader=event.line.node)


def record(partition: Partition, event: Event) -> Outcome:
    r, follower = partition.replicas[event.line.node], event.number("follower")
    f, offset, epoch = partition.replicas[follower], event.number("offset"), partition.now.epoch(r)
    sent = partition.facts.sent.get(follower, {}).get(epoch)
    if sent != offset:
        return Refused(
            f"the leader records that broker {follower} fetched from offset {offset}; in leader"
            f" epoch {epoch} it last fetched from {'nowhere' if sent is None else sent}"
        )
    _take_late_fetches(partition, epoch)
    return at_least("fetched offset", partition.now.fetched(epoch, f), offset)


def _take_late_fetches(partition: Partition, epoch: int) -> None:
    # A follower may fetch in a new leader epoch before the leader begins to lead.
    for broker, f in partition.replicas.items():
        offset = partition.facts.sent.get(broker, {}).get(epoch)
        if offset is None or offset != partition.now.end(f):
            continue
        if partition.now.fetched(epoch, f) < offset:
            partition.do_if_allowed("fetch_request", f, last_offset(offset))


STEPS: Final[Mapping[Step, Handler]] = {
    Step.ADVANCE: advance,
    Step.PROPOSE: propose,
    Step.COMMIT_ISR: commit_isr,
    Step.RECORD: record,
}
