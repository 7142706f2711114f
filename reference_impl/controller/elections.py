"""Leader elections: the leader, the ISR and the eligible leader replicas (ELR) after a change.

The first row with a live candidate decides:

    candidates, in order of the replicas                       new ISR          recovering
    ---------------------------------------------------------  ---------------  ----------
    the leader, if it is in the ISR; the rest of the ISR       unchanged        no
    when the ISR is empty: the ELR                             only the leader  no
    when the ELR is empty too: the last known leader           only the leader  yes
    where unclean election is allowed: every replica           only the leader  yes

After an unclean election a partition is *recovering*. This ends when the new leader reports to the
controller that it has recovered.

A replica that leaves the ISR enters the ELR if the ISR is then smaller than min.insync.replicas.
The high watermark does not advance while the ISR is so small, so the replicas in the ELR have all
records below it. A replica leaves the ELR after an unclean shutdown. The ELR becomes empty when the
ISR is large enough again. Without the ELR feature the last member never leaves the ISR, and may
become leader although it lost the end of its log.

Source: KIP-966 as shipped in Kafka 4.0 and 4.1, KAFKA-18635, KAFKA-19522; docs/kafka-rules.md B2 to
B6.
Simplified: no reassignment, no preferred leader, no balanced recovery.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import NO_BROKER

Members = tuple[BrokerId, ...]
Alive = Callable[[BrokerId], bool]


class Elected(NamedTuple):
    """The result of an election: the leader, the ISR, and whether the election is unclean."""

    leader: BrokerId
    isr: Members
    is_unclean: bool = False


def partition_change(
    state: PartitionState,
    isr: Members,
    alive: Alive,
    *,
    elr: bool,
    unclean_shutdown: Members = (),
    bugs: Bugs = NO_BUGS,
) -> PartitionState:
    """Returns the partition's registration with the ISR `isr` and the leader that the election
    chooses.

    The partition epoch increases. The election may keep the present leader, or choose none.
    The brokers in `unclean_shutdown` leave the ELR, because they may have lost records.
    """
    eligible = _eligible(state, isr, unclean_shutdown) if elr else ()
    elected = _elected(state, isr, eligible, alive, bugs)
    is_new = elected.leader != state.leader
    last_known = NO_BROKER
    if elr and elected.leader == NO_BROKER:
        last_known = state.last_known_leader if state.leader == NO_BROKER else state.leader
    return replace(
        state,
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
    bugs: Bugs = NO_BUGS,
) -> PartitionState:
    """Returns the partition's registration after `broker` has left the ISR, with a new leader if
    needed.

    The broker was fenced or had an unclean shutdown. Without the ELR feature, the last member of
    the ISR stays in it.
    """
    isr = tuple(member for member in state.isr if member != broker)
    if not isr and not elr:
        isr = state.isr
    lost = (broker,) if unclean_shutdown else ()
    return partition_change(state, isr, alive, elr=elr, unclean_shutdown=lost, bugs=bugs)


def with_leader(
    state: PartitionState, broker: BrokerId | None, alive: Alive
) -> PartitionState | None:
    """Returns the registration with another leader, a live member of the ISR.

    This is `broker`, or if `broker` is None, the next live member. Returns None if there is no such
    member, or if `broker` leads already.
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


def _eligible(state: PartitionState, isr: Members, unclean_shutdown: Members) -> Members:
    if len(isr) >= min(state.min_insync_replicas, len(state.replicas)):
        return ()
    candidates = {*state.elr, *state.isr} - {*isr, *unclean_shutdown}
    return tuple(broker for broker in state.replicas if broker in candidates)


def _elected(
    state: PartitionState, isr: Members, eligible: Members, alive: Alive, bugs: Bugs
) -> Elected:
    if state.leader in isr and alive(state.leader):
        return Elected(state.leader, isr)
    for leader in filter(alive, isr):
        return Elected(leader, isr)
    if not isr:
        for leader in filter(alive, eligible):
            return Elected(leader, (leader,))
        last = state.last_known_leader
        may_lead = alive(last) or (Bug.DEAD_LEADER_RETURNS in bugs and last != NO_BROKER)
        if not eligible and may_lead:
            return Elected(last, (last,), is_unclean=True)
    if state.unclean_leader_election:
        for leader in filter(alive, state.replicas):
            return Elected(leader, (leader,), is_unclean=True)
    return Elected(NO_BROKER, isr)
