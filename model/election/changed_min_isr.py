"""Elections while an operator changes min.insync.replicas.

The controller uses a new setting at once: it clears the ELR (ClearElrRecord), and builds the next
ELR by the new setting. The leader learns the setting with the metadata. It may learn an ISR before,
by the answer to its AlterPartition request. If the leader uses that ISR with an old, smaller
setting, it commits records that a replica in the ELR lacks.

This version has three actions more:

    brokers      take_answer, WF learn_min_isr
    operator     change_min_isr

Source: ConfigurationControlManager, ReplicationControlManager and Partition of Kafka 4.3; KIP-966.
Simplified: two values of min.insync.replicas. After an answer, the controller accepts the leader's
next request only if the leader has applied the metadata.
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
    ite,
    when,
    witness,
)
from model.releases import unreleased
from model.variants import version


class MinIsr(Int):
    """A value of min.insync.replicas; 0 is none."""


@version(
    "changed-min-isr",
    in_force=unreleased(
        "proposed: the ELR is kept while the ISR is empty, and AlterPartition answers with "
        "min.insync.replicas"
    ),
)
class ChangedMinIsr(Election):
    """Kafka 4.3 with an operator who changes min.insync.replicas, and with three rules that no
    release has.

    The ELR is kept while the ISR is empty. It is emptied when a leader is elected that may commit
    alone. The answer to AlterPartition carries the setting by which the controller built the ELR.
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
        """Returns the size of each type: `Faults` also counts changes."""
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
        """True if the set has min.insync.replicas members by the controller's setting, or has all
        replicas.
        """
        return s.has_at_least(members, s.minimum)

    def is_enough_for_leader(s, leader: Replica) -> Bool:
        return s.has_at_least(s.broker[leader].isr, s.known_minimum[leader])

    # ---- the operator

    def clears_elr(s) -> Bool:
        """True if a change of min.insync.replicas clears the ELR: the ISR is not empty.

        If the ELR is cleared while the ISR is empty, the claim `somebody_leads` breaks (bug
        `clears-elr`, 7 steps). If the ELR is never cleared, the claim `leader_completeness` breaks
        (bug `never-clears-elr`, 7 steps).
        """
        return ~s.is_empty(s.partition_registration.isr)

    @action
    def change_min_isr(s) -> None:
        """An operator sets min.insync.replicas to the other value.

        Kafka: ConfigurationControlManager.createClearElrRecordsAsNeeded, and
        ReplicationControlManager.removeTopicElrs. Simplified: at most `max_changes` changes.
        """
        when(s.changes < s.max_changes)
        partition, clears = s.partition_registration, s.clears_elr()
        elr: Set[Replica] = Map(Replica, lambda r: partition.elr[r] & ~clears)
        last_known: Set[Replica] = Map(Replica, lambda r: partition.last_known[r] & ~clears)
        first, other = MinIsr(s.min_isr), MinIsr(s.other_min_isr)
        s.write_partition_change(partition.leader, partition.isr, elr, last_known)
        s.minimum = ite(s.minimum == first, other, first)
        s.changes = s.changes + 1

    # ---- the controller

    def may_stay_eligible(s, isr: Set[Replica]) -> Bool:
        """True if the ELR may have members beside this ISR: the ISR cannot commit.

        If the ELR keeps its members when one of them is elected and may commit alone, the claim
        `candidate_completeness` breaks (bug `keeps-elr-at-election`, 7 steps).
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
        """The controller accepts the leader's AlterPartition request, and its answer is in flight.

        Kafka: ReplicationControlManager.alterPartition. Simplified: as in `kafka-4.1`.
        """
        super().grant_isr(leader)
        s.answer[leader] = s.minimum

    # ---- brokers

    def clear_request(s, r: Replica) -> None:
        super().clear_request(r)
        s.answer[r] = MinIsr(0)

    def setting_with_answer(s, leader: Replica) -> MinIsr:
        """Returns the setting that a leader uses after an answer: the larger of its own and the
        answer's.

        If the answer has no setting, the claim `leader_completeness` breaks (bug
        `answers-without-min-isr`, 7 steps).
        """
        own, answered = s.known_minimum[leader], s.answer[leader]
        return ite(own < answered, answered, own)

    @action
    def take_answer(s, leader: Replica) -> None:
        """A leader learns by the answer to its AlterPartition request that its ISR is granted.

        Kafka: Partition.handleAlterPartitionUpdate. Simplified: the answer carries only the ISR.
        Without the guard that there is an answer, the claim `leader_completeness` breaks in 7
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
        """A leader that knows the newest state of the partition learns the newest setting.

        Kafka: UnifiedLog.updateConfig, by the metadata log. Simplified: a leader that also lacks a
        change of the partition learns both together (`apply_metadata`). Without the guard that it
        lacks none, the claim `leader_completeness` breaks in 8 steps.
        """
        when(
            s.presumes_leadership(leader),
            s.broker[leader].is_current,
            s.known_minimum[leader] != s.minimum,
        )
        s.known_minimum[leader] = s.minimum

    @action(fair="weak")
    def apply_metadata(s, r: Replica) -> None:
        """A broker applies the newest metadata; a leader also learns the newest setting.

        Kafka: Partition.makeLeader and makeFollower. Simplified: as in `kafka-4.1`.
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
        """Reachable: a leader has a smaller min.insync.replicas than the controller, and knows an
        ISR that the controller has granted since.
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
