"""A partition whose min.insync.replicas an operator changes, up or down and any number of times.

The controller uses a new value at once. The leader of an epoch learns the value later: with the
metadata, or with the response to its AlterPartition request. A response may be old when it arrives:
the controller may have changed the ISR and min.insync.replicas since it sent the response.

This version adds four actions:

    operator     change_min_isr
    controller   respond
    leaders      receive_response, learn_min_isr

Source: KIP-966; ConfigurationControlManager, ReplicationControlManager and Partition of Kafka 4.3.
Simplified: the constant `min_isr` is the largest value. A leader has at most one response in
flight.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Ordered,
    Record,
    Scope,
    Set,
    action,
    all_of,
    at_least,
    exists,
    false,
    forall,
    greatest_of,
    implies,
    least_of,
    lemma,
    true,
    when,
    witness,
)
from model.reassignment_abstract.proof import PartitionLemmas
from model.reassignment_abstract.state import Disturbance, LeaderEpoch, Replica
from model.releases import unreleased
from model.variants import version


class MinIsr(Ordered):
    """A value of min.insync.replicas."""


class Response(Record):
    """The response to an AlterPartition request: the ISR, and the value of min.insync.replicas by
    which the controller built the ELR.
    """

    is_sent: Bool
    isr: Set[Replica]
    minimum: MinIsr


@version(
    "changed-min-isr",
    at={"reassigns": False},  # by default, there are more than four million states
    in_force=unreleased(
        "proposed: the ELR is emptied only if the ISR has min.insync.replicas members, and "
        "AlterPartition answers with min.insync.replicas"
    ),
)
class ChangedMinIsr(PartitionLemmas):
    """An operator changes min.insync.replicas, and the controller follows three rules that no
    release has.

    By the first rule, a change of min.insync.replicas empties the ELR only if the ISR has enough
    members by the new value. By the second rule, the controller empties the ELR if it elects a
    leader that may commit alone. By the third rule, the response to AlterPartition has the value by
    which the controller built the ELR.
    """

    reassigns: bool = True  # False: the operator changes only min.insync.replicas
    responds: bool = True  # False: leaders learn the ISR with the metadata only

    minimum: Map[LeaderEpoch, MinIsr]  # the controller's value, at the end of the epoch
    known_minimum: Map[LeaderEpoch, MinIsr]  # as the epoch's leader knows it
    response: Map[LeaderEpoch, Response]  # in flight to the epoch's leader

    lowest: MinIsr  # history: the lowest value so far

    def scope(s) -> Scope:
        return {**super().scope(), MinIsr: range(1, s.min_isr + 1)}

    def init(s, minimum: MinIsr) -> None:  # type: ignore[override] # each minimum is a choice
        """Initially, min.insync.replicas has any value that the number of replicas allows."""
        first = LeaderEpoch.least()
        s.begin_with_first()
        when(at_least(minimum, (s.is_not_last(r) for r in Replica)))
        s.minimum[first] = minimum
        s.known_minimum[first] = minimum
        s.lowest = minimum

    # ---- enough members

    def has_at_least(s, minimum: MinIsr, members: Set[Replica]) -> Bool:
        return at_least(minimum, (members[r] for r in Replica))

    def is_enough(s, members: Set[Replica]) -> Bool:
        return s.has_at_least(s.minimum[s.newest], members)

    def is_enough_in(s, e: LeaderEpoch) -> Bool:
        return s.has_at_least(s.minimum[e], s.isr[e])

    def is_enough_for_leader(s, e: LeaderEpoch) -> Bool:
        return s.has_at_least(s.known_minimum[e], s.led[e].isr)

    def are_enough_copies(s, brokers: Set[Replica]) -> Bool:
        return s.has_at_least(s.lowest, brokers)

    # ---- the controller

    def begin(s, newer: LeaderEpoch) -> None:
        s.minimum[newer] = s.minimum[s.newest]
        super().begin(newer)

    def count(s, request: Disturbance) -> None:
        when(true if s.reassigns else false)
        super().count(request)

    def clears_elr(s, new: MinIsr) -> Bool:
        """Returns True if a change of min.insync.replicas to the value `new` empties the ELR.

        If each change empties the ELR, as in Kafka, the claim `an_eligible_replica_remains` breaks
        (bug `clears-elr`, 4 steps). If each change empties the ELR unless the ISR is empty, the
        claim `enough_members_remain` breaks (bug `clears-elr-of-small-isr`, 2 steps). If no change
        empties it, the claim `eligible_replicas_have_committed_records` breaks (bug
        `never-clears-elr`, 5 steps).
        """
        return s.has_at_least(new, s.isr[s.newest])

    @action
    def change_min_isr(s, new: MinIsr, request: Disturbance) -> None:
        """An operator changes min.insync.replicas.

        Kafka: ConfigurationControlManager.createClearElrRecordsAsNeeded, and
        ReplicationControlManager.removeTopicElrs.
        Simplified: the leader's request to change the ISR stays valid if it is sent before this
        change and arrives after it.
        """
        now, clears = s.newest, s.clears_elr(new)
        when(s.minimum[now] != new)
        s.disturb(request)
        for r in Replica:
            s.elr[now][r] = s.elr[now][r] & ~clears
        s.minimum[now] = new
        s.lowest = least_of(s.lowest, new)

    @action
    def respond(s) -> None:
        """The controller sends a response to the newest leader, with the present ISR and
        min.insync.replicas.

        Kafka: ReplicationControlManager.alterPartition.
        Simplified: the controller may respond whenever the leader does not know the present ISR,
        unless the leader's newest request is pending.

        Without the guard that the leader's epoch has begun, the lemma
        `a_leader_with_a_response_proposes_nothing` breaks in 2 steps.
        """
        now = s.newest
        when(
            true if s.responds else false,
            s.led[now].begun,
            ~s.response[now].is_sent,
            ~s.knows_the_isr(now),
            forall(~s.led[now].proposed[f] for f in Replica),
        )
        for r in Replica:
            s.response[now].isr[r] = s.isr[now][r]
        s.response[now].minimum = s.minimum[now]
        s.response[now].is_sent = true

    # ---- leaders

    def forget_response(s, e: LeaderEpoch) -> None:
        s.response[e].is_sent = false
        s.response[e].minimum = MinIsr.least()
        for r in Replica:
            s.response[e].isr[r] = False

    def minimum_with_response(s, e: LeaderEpoch) -> MinIsr:
        """Returns the value of min.insync.replicas that a leader uses after a response. It is the
        larger of the leader's own value and the value in the response.

        If the response has no value, the claim `eligible_replicas_have_committed_records` breaks
        (bug `answers-without-min-isr`, 6 steps).
        """
        return greatest_of(s.known_minimum[e], s.response[e].minimum)

    @action
    def receive_response(s, r: Replica) -> None:
        """A leader receives a response, and learns the ISR and min.insync.replicas from it.

        Kafka: Partition.handleAlterPartitionUpdate.
        Simplified: a leader that the controller has replaced also uses the response.

        Without the guard that the controller has responded, the lemma
        `proposals_are_of_the_known_isr` breaks in 3 steps.
        """
        own = s.broker[r].leader_epoch
        minimum = s.minimum_with_response(own)
        when(s.broker[r].is_leader, s.response[own].is_sent)
        for f in Replica:
            member = s.response[own].isr[f]
            s.led[own].isr[f] = member
            s.led[own].maximal_isr[f] = member
        s.known_minimum[own] = minimum
        s.forget_response(own)

    @action
    def learn_min_isr(s, r: Replica) -> None:
        """A leader that knows the present ISR learns the present value of min.insync.replicas.

        Kafka: UnifiedLog.updateConfig, by the metadata log.
        """
        when(
            s.broker[r].is_leader,
            s.broker[r].leader_epoch == s.newest,
            s.knows_the_isr(s.newest),
        )
        s.known_minimum[s.newest] = s.minimum[s.newest]

    def read_isr(s, e: LeaderEpoch) -> None:
        super().read_isr(e)
        s.known_minimum[e] = s.minimum[e]
        s.forget_response(e)

    def may_drop(s, e: LeaderEpoch) -> Bool:
        """Returns True if the leader may stop waiting for a replica that the controller refuses to
        add. The leader must know the present ISR. If the leader may commit, the ELR must be empty.

        To know the present ISR is not enough. The leader may have learned it before a change of
        min.insync.replicas, and the ELR may have other members since this change.

        Kafka: the request has the present partition epoch.
        """
        return all_of(
            super().may_drop(e),
            implies(s.is_enough_for_leader(e), forall(~s.elr[e][r] for r in Replica)),
        )

    @action
    def propose_member(s, r: Replica) -> None:
        """A follower that has caught up fetches, and its leader requests to add the follower to the
        ISR. No response to an earlier request is in flight.

        Kafka: Partition.maybeExpandIsr.
        Simplified: the simplifications of this action in the version `keeps-min-isr` apply.

        Without the guard that no response is in flight, the lemma
        `a_leader_with_a_response_proposes_nothing` breaks in 7 steps.
        """
        when(~s.response[s.broker[r].leader_epoch].is_sent)
        super().propose_member(r)

    @action
    def delete_replica(s, r: Replica) -> None:
        """A broker learns that it is not a replica any more, and deletes its log.

        Kafka: ReplicaManager.stopPartitions with deletion.
        Simplified: the simplifications of this action in the version `keeps-min-isr` apply.
        """
        when(true if s.reassigns else false)
        super().delete_replica(r)

    # ---- lemmas

    @lemma
    def the_lowest_minimum(s) -> Bool:
        """The lowest value of min.insync.replicas so far is at most the present value."""
        return s.lowest <= s.minimum[s.newest]

    @lemma
    def known_members_are_awaited(s) -> Bool:
        """A leader commits a record only after every member of the leader's known ISR has
        acknowledged it.
        """
        return forall(
            implies(s.led[e].isr[r], s.led[e].maximal_isr[r]) for e in LeaderEpoch for r in Replica
        )

    @lemma
    def a_response_has_every_member(s) -> Bool:
        """If a response in flight permits a leader to commit, the ISR in the response has every
        member (`is_member`) of the leader's epoch.
        """
        return forall(
            implies(
                all_of(
                    s.response[e].is_sent,
                    s.is_member(e, r),
                    s.has_at_least(s.response[e].minimum, s.response[e].isr),
                ),
                s.response[e].isr[r],
            )
            for e in LeaderEpoch
            for r in Replica
        )

    @lemma
    def a_leader_with_a_response_proposes_nothing(s) -> Bool:
        """While a response to a leader is in flight, this leader has begun to lead, and has no
        pending request.
        """
        return forall(
            implies(s.response[e].is_sent, s.led[e].begun & ~s.led[e].proposed[r])
            for e in LeaderEpoch
            for r in Replica
        )

    # ---- witnesses

    @witness
    def a_leader_uses_an_old_minimum(s) -> Bool:
        """Reachable: the newest leader knows the present ISR, and uses a smaller
        min.insync.replicas than the controller.
        """
        return exists(
            all_of(
                s.broker[r].is_leader,
                s.broker[r].leader_epoch == s.newest,
                s.knows_the_isr(s.newest),
                s.known_minimum[s.newest] < s.minimum[s.newest],
            )
            for r in Replica
        )

    @witness
    def a_replica_stays_eligible(s) -> Bool:
        """Reachable: the ELR still has a member after min.insync.replicas was lowered, and a leader
        still knows the old value.
        """
        return exists(
            all_of(
                s.elr[s.newest][r],
                s.led[e].begun,
                s.minimum[s.newest] < s.known_minimum[e],
            )
            for e in LeaderEpoch
            for r in Replica
        )
