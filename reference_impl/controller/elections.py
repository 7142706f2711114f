"""Elects the leader of a topic partition, and computes its ISR and its eligible leader replicas
(ELR).

Each row of the table has a list of candidates. The first row with a live candidate decides the
election:

    candidates; the first live one is elected                  new ISR          recovering
    ---------------------------------------------------------  ---------------  ----------
    the leader if it is in the ISR, then the rest of the ISR   unchanged        no
    when the ISR is empty: the ELR                             only the leader  no
    when the ELR is empty too: the last known leader           only the leader  yes
    where unclean election is allowed: every replica           only the leader  yes

After an unclean election a partition is *recovering*, until the new leader reports that its
recovery is complete.

A replica that leaves the ISR enters the ELR if the remaining ISR is smaller than
min.insync.replicas. The high watermark does not advance while the ISR is so small, so each replica
in the ELR has all records below the high watermark. Without the ELR feature, the only remaining
member of the ISR never leaves the ISR. It can become the leader even if it has lost the end of its
log.

Every change also completes the partition's reassignment, if the reassignment can complete (module
`assignments`). A change that removes a replica begins a new leader epoch.

This module reproduces two bugs of Kafka 4.3 (docs/findings). In the first bug, a broker remains in
the ELR when it is no longer a replica (stale-elr-member). In the second bug, min.insync.replicas is
limited by the number of replicas of partition 0 (min-isr-of-partition-0).

Source: KIP-966 as shipped in Kafka 4.0 and 4.1, KIP-455, KAFKA-18635, KAFKA-19522;
PartitionChangeBuilder.build; docs/kafka-rules.md B2 to B6.
Simplified: the preferred leader has no priority in an election. There is no balanced recovery.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.controller.assignments import Assignment, Members, assigned, completed, kept
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import NO_BROKER

Alive = Callable[[BrokerId], bool]


class Elected(NamedTuple):
    leader: BrokerId
    isr: Members
    is_unclean: bool = False


def partition_change(
    state: PartitionState,
    isr: Members,
    alive: Alive,
    *,
    elr: bool,
    min_isr: int | None = None,
    unclean_shutdown: Members = (),
    bugs: Bugs = NO_BUGS,
) -> PartitionState:
    """Returns the registration with the new ISR `isr` and the next partition epoch, after an
    election. The election may retain the leader, choose a new leader, or leave the partition
    without leader.

    The brokers in `unclean_shutdown` leave the ELR. If `min_isr` is None, the partition's
    min.insync.replicas is used, but at most its number of replicas.
    """
    return _changed(
        state,
        kept(state, isr),
        alive,
        elr=elr,
        min_isr=_own_min_isr(state) if min_isr is None else min_isr,
        unclean_shutdown=unclean_shutdown,
        allows_unclean=state.unclean_leader_election,
        bugs=bugs,
    )


def reassigned_partition(
    state: PartitionState,
    assignment: Assignment,
    alive: Alive,
    *,
    elr: bool,
    min_isr: int,
    allows_unclean: bool = False,
) -> PartitionState:
    """Returns the registration with the replicas of `assignment`, after an election. If the
    registration does not change, returns `state` itself, with the same partition epoch.
    """
    after = _changed(
        state, assignment, alive, elr=elr, min_isr=min_isr, allows_unclean=allows_unclean
    )
    is_same = replace(after, partition_epoch=state.partition_epoch) == state
    return state if is_same else after


def effective_min_isr(
    states: Mapping[TopicPartition, PartitionState], place: TopicPartition
) -> int:
    """Returns the minimal ISR size of a partition. The ELR can have members only while the ISR is
    smaller than this size.

    Kafka: ReplicationControlManager.getTopicEffectiveMinIsr.
    """
    state = states[place]
    first = states.get(TopicPartition(place.topic, 0), state)
    # As in Kafka, the number of replicas of partition 0 is the limit for every partition.
    return min(state.min_insync_replicas, len(first.replicas))


def _own_min_isr(state: PartitionState) -> int:
    return min(state.min_insync_replicas, len(state.replicas))


def _changed(
    state: PartitionState,
    assignment: Assignment,
    alive: Alive,
    *,
    elr: bool,
    min_isr: int,
    allows_unclean: bool,
    unclean_shutdown: Members = (),
    bugs: Bugs = NO_BUGS,
) -> PartitionState:
    after = assigned(state, completed(assignment))
    eligible = _eligible(state, after.isr, min_isr, unclean_shutdown) if elr else ()
    elected = _elected(after, eligible, alive, bugs, allows_unclean=allows_unclean)
    is_new = elected.leader != state.leader or not set(state.replicas) <= set(after.replicas)
    last_known = NO_BROKER
    if elr and elected.leader == NO_BROKER:
        last_known = state.last_known_leader if state.leader == NO_BROKER else state.leader
    return replace(
        after,
        isr=elected.isr,
        elr=() if elected.is_unclean else tuple(b for b in eligible if b != elected.leader),
        last_known_leader=last_known,
        leader=elected.leader,
        leader_epoch=LeaderEpoch(state.leader_epoch + is_new),
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
        recovering=elected.is_unclean or state.recovering,
    )


def change_without(
    state: PartitionState,
    broker: BrokerId,
    alive: Alive,
    *,
    elr: bool,
    unclean_shutdown: bool,
    min_isr: int | None = None,
    bugs: Bugs = NO_BUGS,
) -> PartitionState:
    """Returns the registration after `broker` has left the ISR. If `unclean_shutdown` is set,
    `broker` leaves the ELR, too.

    If `elr` is False, the partition has no eligible leader replicas. Then the last member of the
    ISR stays in the ISR.
    """
    isr = tuple(member for member in state.isr if member != broker)
    if not isr and not elr:
        # Without the ELR feature, the only remaining member does not leave the ISR.
        isr = state.isr
    lost = (broker,) if unclean_shutdown else ()
    return partition_change(
        state, isr, alive, elr=elr, min_isr=min_isr, unclean_shutdown=lost, bugs=bugs
    )


def with_leader(
    state: PartitionState, broker: BrokerId | None, alive: Alive
) -> PartitionState | None:
    """Returns the registration with `broker` as its new leader. Returns None if `broker` is the
    leader already, or is not a live member of the ISR.

    If `broker` is None, the new leader is the next live member after the present leader, in the
    cyclic order of the ISR.
    """
    after = state.isr.index(state.leader) + 1 if state.leader in state.isr else 0
    members = (*state.isr[after:], *state.isr[:after])
    wanted = members if broker is None else (broker,)
    for leader in wanted:
        if leader in state.isr and leader != state.leader and alive(leader):
            return replace(
                state,
                leader=leader,
                leader_epoch=LeaderEpoch(state.leader_epoch + 1),
                partition_epoch=PartitionEpoch(state.partition_epoch + 1),
            )
    return None


def _eligible(
    state: PartitionState, isr: Members, min_isr: int, unclean_shutdown: Members
) -> Members:
    # The new ELR, ordered by broker id. Kafka: maybePopulateTargetElr.
    if len(isr) >= min_isr:
        return ()
    return tuple(sorted({*state.elr, *state.isr} - {*isr, *unclean_shutdown}))


def _elected(
    state: PartitionState, eligible: Members, alive: Alive, bugs: Bugs, *, allows_unclean: bool
) -> Elected:
    isr = state.isr
    if state.leader in isr and alive(state.leader):
        return Elected(state.leader, isr)
    for leader in filter(alive, isr):
        return Elected(leader, isr)
    if not isr:
        candidates = (broker for broker in state.replicas if broker in eligible)
        for leader in filter(alive, candidates):
            return Elected(leader, (leader,))
        last = state.last_known_leader
        is_assigned = last in state.replicas
        if not eligible and is_assigned and (alive(last) or Bug.DEAD_LEADER_RETURNS in bugs):
            return Elected(last, (last,), is_unclean=True)
    if allows_unclean:
        for leader in filter(alive, state.replicas):
            return Elected(leader, (leader,), is_unclean=True)
    return Elected(NO_BROKER, isr)
