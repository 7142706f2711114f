"""Elections while an operator changes min.insync.replicas.

The controller uses a new value at once: it clears the ELR (ClearElrRecord), and builds the next ELR
by the new value. The leader learns the value with the metadata. The leader may learn a new ISR
earlier, from the response to its AlterPartition request. If the leader uses this ISR with an old,
smaller value, it commits records that a replica in the ELR lacks.

This version adds three actions:

    brokers      take_answer, WF learn_min_isr
    operator     change_min_isr

Source: ConfigurationControlManager, ReplicationControlManager and Partition of Kafka 4.3; KIP-966.
Simplified: min.insync.replicas has two values. After a response, the controller accepts the
leader's next request only if the leader has applied the metadata.
"""

from __future__ import annotations

from typing import Annotated

from model.election.state import Faults, Replica
from model.election.versions import Election
from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Scope,
    Set,
    action,
    all_of,
    count,
    exists,
    false,
    greatest_of,
    ite,
    when,
    witness,
)
from model.releases import unreleased
from model.variants import version


class MinIsr(Int):
    """A value of min.insync.replicas. The value 0 stands for no value, for example while no
    response is in flight.
    """


@version(
    "changed-min-isr",
    in_force=unreleased(
        "proposed: the ELR is kept while the ISR is too small, and AlterPartition answers with "
        "min.insync.replicas"
    ),
)
class ChangedMinIsr(Election):
    """Kafka 4.3 with an operator who changes min.insync.replicas, and with three rules that no
    release has.

    By the first rule, a change of min.insync.replicas clears the ELR only if the ISR has enough
    members by the new value. By the second rule, the controller empties the ELR if it elects a
    leader that may commit alone. By the third rule, the response to AlterPartition has the value of
    min.insync.replicas by which the controller built the ELR.
    """

    other_min_isr: Annotated[int, range(1, 6)] = 1
    max_changes: Annotated[int, range(5)] = 2  # of min.insync.replicas
    max_unclean: Annotated[int, range(5)] = 0
    max_losses: Annotated[int, range(5)] = 0
    max_disruptions: Annotated[int, range(5)] = 2

    minimum: MinIsr  # min.insync.replicas at the controller
    known_minimum: Map[Replica, MinIsr]  # at a leader; 0 at other brokers
    answer: Map[Replica, MinIsr]  # in flight to a leader: its request is granted by this setting
    changes: Faults

    def scope(s) -> Scope:
        """Returns the default scope. In this version, the type `Faults` also counts changes of
        min.insync.replicas.
        """
        faults = max(s.max_unclean, s.max_losses, s.max_disruptions, s.max_changes)
        return {
            **super().scope(),
            MinIsr: range(max(s.min_isr, s.other_min_isr) + 1),
            Faults: range(faults + 1),
        }

    def init(s) -> None:
        super().init()
        s.minimum = MinIsr(s.min_isr)
        s.known_minimum[Replica.least()] = MinIsr(s.min_isr)

    # ---- enough replicas

    def copies(s) -> int:
        return min(s.min_isr, s.other_min_isr, s.replicas)

    def has_at_least(s, members: Set[Replica], minimum: MinIsr) -> Bool:
        size = count(members[r] for r in Replica)
        return ite(
            minimum == MinIsr(s.min_isr),
            size >= min(s.min_isr, s.replicas),
            size >= min(s.other_min_isr, s.replicas),
        )

    def is_enough(s, members: Set[Replica]) -> Bool:
        """Returns True if `members` has at least min.insync.replicas members by the controller's
        value of the setting, or has all replicas.
        """
        return s.has_at_least(members, s.minimum)

    def is_enough_for_leader(s, leader: Replica) -> Bool:
        return s.has_at_least(s.broker[leader].isr, s.known_minimum[leader])

    # ---- the operator

    def clears_elr(s) -> Bool:
        """Returns True if a change of min.insync.replicas clears the ELR. It does so if the ISR has
        enough members by the new value.

        If the ELR is cleared while the ISR has some members, but not enough, the claim
        `leader_completeness` breaks (bug `clears-elr-of-small-isr`, 10 steps). If the ELR is
        cleared while the ISR is empty, the claim `somebody_leads` breaks (bug
        `clears-elr`, 7 steps). If the ELR is never cleared, the claim `leader_completeness` breaks
        (bug `never-clears-elr`, 7 steps).
        """
        return s.has_at_least(s.partition_registration.isr, s.next_minimum())

    def next_minimum(s) -> MinIsr:
        first, other = MinIsr(s.min_isr), MinIsr(s.other_min_isr)
        return ite(s.minimum == first, other, first)

    @action
    def change_min_isr(s) -> None:
        """An operator changes min.insync.replicas from one of its two values to the other value.

        Kafka: ConfigurationControlManager.createClearElrRecordsAsNeeded, and
        ReplicationControlManager.removeTopicElrs.
        Simplified: the constant `max_changes` limits the number of changes.

        The guard is only this limit.
        """
        when(s.changes < s.max_changes)
        partition, clears = s.partition_registration, s.clears_elr()
        elr: Set[Replica] = Map(Replica, lambda r: partition.elr[r] & ~clears)
        last_known: Set[Replica] = Map(Replica, lambda r: partition.last_known[r] & ~clears)
        minimum = s.next_minimum()
        s.write_partition_change(partition.leader, partition.isr, elr, last_known)
        s.minimum = minimum
        s.changes = s.changes + 1

    # ---- the controller

    def may_stay_eligible(s, isr: Set[Replica]) -> Bool:
        """Returns True if the ISR `isr` is too small to commit records. Only then may the ELR have
        members.

        A member of the ELR may be elected, and then be able to commit records as the only ISR
        member. If the other members of the ELR stay, the claim `candidate_completeness` breaks (bug
        `keeps-elr-at-election`, 7 steps).
        """
        return ~s.is_enough(isr)

    def write_partition_change(
        s,
        leader: Replica | Nothing,
        isr: Set[Replica],
        elr: Set[Replica],
        last_known: Set[Replica],
        *,
        reassigns: Bool = false,
        removes: Bool = false,
    ) -> None:
        stays = s.may_stay_eligible(isr)
        eligible: Set[Replica] = Map(Replica, lambda r: elr[r] & stays)
        super().write_partition_change(
            leader, isr, eligible, last_known, reassigns=reassigns, removes=removes
        )

    @action(fair="weak")
    def grant_isr(s, leader: Replica) -> None:
        """The controller accepts the leader's AlterPartition request, and its response is in
        flight.

        Kafka: ReplicationControlManager.alterPartition.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        Without the guard that the request is pending, the claim `replication_quorum_superset`
        breaks in 8 steps. Without the guard that the leader is current, the same claim breaks in 9
        steps. Without the check of the members, the claim `fenced_is_out_of_sync` breaks in 6
        steps.
        """
        super().grant_isr(leader)
        s.answer[leader] = s.minimum

    # ---- brokers

    def clear_request(s, r: Replica) -> None:
        super().clear_request(r)
        s.answer[r] = MinIsr(0)

    def setting_with_answer(s, leader: Replica) -> MinIsr:
        """Returns the value of min.insync.replicas that a leader uses after a response. It is the
        larger of the leader's own value and the value in the response.

        If the response has no value, the claim `leader_completeness` breaks (bug
        `answers-without-min-isr`, 7 steps).
        """
        return greatest_of(s.known_minimum[leader], s.answer[leader])

    @action
    def take_answer(s, leader: Replica) -> None:
        """A leader receives the response to its AlterPartition request, and learns that the
        controller has accepted the ISR that it requested.

        Kafka: Partition.handleAlterPartitionUpdate.
        Simplified: the leader learns only the ISR and the value of min.insync.replicas from the
        response.

        Without the guard that there is a response, the claim `leader_completeness` breaks in 7
        steps.
        """
        setting = s.setting_with_answer(leader)
        when(s.answer[leader] != MinIsr(0))
        for r in Replica:
            s.broker[leader].isr[r] = s.broker[leader].proposed[r]
        s.known_minimum[leader] = setting
        s.clear_request(leader)

    @action(fair="weak")
    def learn_min_isr(s, leader: Replica) -> None:
        """A leader that knows the newest state of the partition learns the newest value of
        min.insync.replicas.

        Kafka: UnifiedLog.updateConfig, by the metadata log.
        Simplified: a leader that does not know the newest state of the partition learns this state
        and the value together (`apply_metadata`).

        Without the guard that the leader knows the newest state, the claim `leader_completeness`
        breaks in 8 steps.
        """
        when(
            s.presumes_leadership(leader),
            s.broker[leader].is_current,
            s.known_minimum[leader] != s.minimum,
        )
        s.known_minimum[leader] = s.minimum

    @action(fair="weak")
    def apply_metadata(s, r: Replica) -> None:
        """A broker applies the newest metadata. A leader also learns the newest value of
        min.insync.replicas.

        Kafka: Partition.makeLeader and makeFollower.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        Every claim also holds if one of the two guards is missing.
        """
        leads = s.partition_registration.leader == r
        super().apply_metadata(r)
        s.known_minimum[r] = ite(leads, s.minimum, MinIsr(0))

    def stop(s, r: Replica, *, cleanly: Bool) -> None:
        super().stop(r, cleanly=cleanly)
        s.known_minimum[r] = MinIsr(0)

    # ---- witnesses

    @witness
    def a_leader_uses_an_old_setting(s) -> Bool:
        """Reachable: a leader knows the newest ISR from a response, but uses a smaller
        min.insync.replicas than the controller.
        """
        return exists(
            all_of(
                s.is_true_leader(r),
                s.known_minimum[r] < s.minimum,
                s.broker[r].isr == s.partition_registration.isr,
                ~s.broker[r].is_current,
            )
            for r in Replica
        )
