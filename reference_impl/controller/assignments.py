"""The replicas of a topic partition while an administrator reassigns them. The list of replicas
changes as follows:

    replicas   [1 2]    a reassignment to [2 3] begins
    replicas   [2 3 1]  adding [3], removing [1]: broker 3 fetches, and joins the ISR
    replicas   [2 3]    the reassignment is complete

A reassignment completes when all added replicas are in the ISR. The ISR must also have a member
that the reassignment does not remove. If the reassignment removes more replicas than it adds, all
remaining replicas must be in the ISR.

Source: KIP-455; PartitionReassignmentReplicas, PartitionReassignmentRevert,
PartitionChangeBuilder.completeReassignmentIfNeeded of Apache Kafka 4.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from model.vocabulary import BrokerId
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.controller import PartitionState

Members = tuple[BrokerId, ...]


class Assignment(NamedTuple):
    isr: Members
    replicas: Members
    adding: Members = ()
    removing: Members = ()


def kept(state: PartitionState, isr: Members) -> Assignment:
    return Assignment(isr, state.replicas, state.adding, state.removing)


def reassigned(state: PartitionState, target: Members, bugs: Bugs = NO_BUGS) -> Assignment:
    """Returns the assignment at the start of a reassignment to the replicas `target`.

    Kafka: ReplicationControlManager.changePartitionReassignment.
    """
    removing = tuple(sorted(set(state.replicas) - set(target)))
    adding = tuple(sorted(set(target) - set(state.replicas)))
    isr = (*state.isr, *adding) if Bug.ADDED_REPLICA_COUNTS in bugs else state.isr
    # As in Kafka, if the new reassignment adds no replica, `adding` of the earlier reassignment
    # remains. If it removes no replica, `removing` of the earlier reassignment remains.
    return Assignment(isr, (*target, *removing), adding or state.adding, removing or state.removing)


def completed(wanted: Assignment) -> Assignment:
    """Returns the final assignment of the reassignment `wanted`, if it can complete now. Otherwise
    returns `wanted` unchanged.
    """
    if not (wanted.adding or wanted.removing):
        return wanted
    isr = _without(wanted.isr, wanted.removing)
    replicas = _without(wanted.replicas, wanted.removing)
    is_smaller = len(wanted.adding) < len(wanted.removing)
    awaited = (*wanted.adding, *(replicas if is_smaller else ()))
    is_empty = bool(wanted.removing) and not (isr and replicas)
    return wanted if is_empty or not set(awaited) <= set(isr) else Assignment(isr, replicas)


def reverted(state: PartitionState) -> tuple[Assignment, bool]:
    """Returns the assignment that undoes a reassignment, and True if the assignment requires an
    unclean election.

    An unclean election is required if all members of the ISR are replicas that the reassignment
    added.
    """
    replicas = _without(state.replicas, state.adding)
    isr = _without(state.isr, state.adding)
    # If only added replicas are in the ISR, the first replica becomes the ISR's only member.
    return Assignment(isr or replicas[:1], replicas), not isr


def assigned(state: PartitionState, assignment: Assignment) -> PartitionState:
    """Returns the partition's registration with the replicas of `assignment`. The ISR is in the
    order of the replicas.
    """
    isr, replicas, adding, removing = assignment
    in_order = tuple(broker for broker in replicas if broker in isr)
    return replace(state, isr=in_order, replicas=replicas, adding=adding, removing=removing)


def _without(members: Members, others: Members) -> Members:
    return tuple(broker for broker in members if broker not in others)
