"""The actions of replication in the protocol before KIP-101. The classes in `versions.py` replace
some of these actions.

The table lists all actions (`Next` in TLA+) by role. WF marks a weakly fair action, SF a strongly
fair action.

    controller   controller_elect_leader, controller_shrink_isr
    leaders      WF become_leader, leader_write, SF leader_inc_high_watermark, leader_shrink_isr,
                 leader_expand_isr
    followers    WF become_follower, WF follower_replicate,
                 WF follower_truncate (only kip-320-first-try and fetch-divergence have this action)

Source: hachikuji/kafka-specification d68782b: KafkaReplication, KafkaTruncateToHighWatermark.
Simplified: a fetch and its response are one step. The controller's state is one variable, which the
controller and the leader that it has elected read and write atomically. The spec has two kinds of
data: logs and leader epochs. It has no record batches, no producers and no consumers.

This spec corrects two defects of the public specification. In the public specification, the
controller may empty the ISR. In its module for KIP-101, a follower does not truncate if the leader
answers with an offset beyond the end of the follower's log. The constant `as_published` restores
both defects. With this constant, an exploration finds as many states as the authors of the public
specification published.

This spec omits two claims of the public specification. TypeOk could not be checked, and LeaderInIsr
is false before the first election.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Nothing,
    Set,
    action,
    forall,
    ite,
    least_of,
    nothing,
    when,
)
from model.releases import kafka
from model.replication.claims import ReplicationClaims
from model.replication.state import (
    LeaderAndIsr,
    LeaderEpoch,
    LogRecord,
    Offset,
    Replica,
    ReplicaState,
)
from model.variants import version


@version(
    "truncate-to-hw",
    breaks="weak_isr",
    steps=8,
    at={"max_leader_epoch": 2, "replicas": 2},
    fixed_by="kip-279",
    issue="KAFKA-1211",
    in_force=kafka("0.8", "0.10"),
)
class TruncateToHighWatermark(ReplicationClaims):
    """Before KIP-101, a new follower truncates its log to its own high watermark.

    The follower's high watermark may lag behind the leader's high watermark, so the follower may
    remove a committed record.
    """

    # ---- the controller

    def decide(s, leader: Replica | Nothing, isr: Set[Replica]) -> None:
        leader_epoch = s.registration.leader_epoch + 1
        when(leader_epoch <= s.max_leader_epoch)
        decision = LeaderAndIsr(leader_epoch=leader_epoch, leader=leader, isr=isr)
        s.request[leader_epoch] = decision
        s.registration = decision

    @action
    def controller_elect_leader(s, leader: Replica) -> None:
        """The controller makes another member of the ISR the leader.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: the controller may elect any member of the ISR at any time, even if the present
        leader is alive.
        Without the guard that the new leader is in the ISR, the claim `strong_isr` breaks in 9
        steps.
        """
        when(s.registration.isr[leader], s.registration.leader != leader)
        s.decide(leader, s.registration.isr)

    @action
    def controller_shrink_isr(s, failed: Replica) -> None:
        """The controller removes a failed replica from the ISR. If the replica leads, the partition
        has no leader afterwards.

        Kafka: ReplicationControlManager.handleBrokerFenced.
        Simplified: a failed replica keeps its log, and only the controller notices the failure. The
        last member of the ISR stays in it. Without this guard, the ISR may become empty. In this
        state, the controller cannot elect a leader any more. The constant `as_published` removes
        this guard.
        """
        led = s.registration.leader == failed
        alone = s.registration.isr == {failed}
        when(led | s.registration.isr[failed])
        if not s.as_published:  # published: a member that does not lead may leave the ISR empty
            when(led | ~alone)
        s.decide(
            leader=ite(led, nothing, s.registration.leader),
            isr=ite(led & alone, s.registration.isr, s.registration.isr - {failed}),
        )

    # ---- leaders

    @action(fair="weak")
    def become_leader(s, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns that the controller elected it, and begins to lead. The replica keeps
        its own high watermark, which may be too low.

        Kafka: Partition.makeLeader.
        Simplified: the controller's requests are never lost, and arrive in any order.
        Without the guard `is_newer`, the claim `leader_epochs_grow` breaks (bug
        `obeys-old-requests`, 4 steps).
        """
        when(s.request[leader_epoch].leader == leader, s.is_newer(leader, leader_epoch))
        s.adopt(leader, s.request[leader_epoch], s.replica[leader].high_watermark)

    def is_newer(s, replica: Replica, leader_epoch: LeaderEpoch) -> Bool:
        return s.replica[replica].leader_epoch < leader_epoch

    def adopt(s, replica: Replica, request: LeaderAndIsr, high_watermark: Offset) -> None:
        s.replica[replica] = ReplicaState(
            high_watermark=high_watermark,
            leader_epoch=request.leader_epoch,
            leader=request.leader,
            isr=request.isr,
        )

    @action
    def leader_write(s, leader: Replica) -> None:
        """A replica that believes that it leads appends a record. A deposed leader may append a
        record, too.

        Kafka: Partition.appendRecordsToLeader.
        Simplified: the replica appends one record, and does not check min.insync.replicas. A
        Produce request carries no leader epoch (KIP-359 never shipped).
        Without the guard that the replica believes that it leads, the claim `strong_isr` breaks in
        4 steps.
        """
        when(
            s.presumes_leadership(leader),
            s.next_id < s.max_records,
            s.log[leader].end_offset < s.log_size,
        )
        s.log[leader].append(LogRecord(id=s.next_id, leader_epoch=s.replica[leader].leader_epoch))
        s.next_id = s.next_id + 1

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark by one, past an offset that every member of its ISR
        has.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: the leader reads the followers' logs, waits for no fetch, and compares no leader
        epochs.
        If the leader recomputed the high watermark from the offsets of its followers alone, the
        claim `a_leaders_high_watermark_grows` would break (bug `recomputes-high-watermark`, 9
        steps).
        """
        hw = s.replica[leader].high_watermark
        when(
            s.presumes_leadership(leader),
            hw < s.log_size,
            forall(
                s.is_following(follower, leader) & s.log[follower].has_offset(hw)
                for follower in s.replica[leader].isr
            ),
        )
        s.replica[leader].high_watermark = hw + 1

    def set_isr(s, leader: Replica, isr: Set[Replica]) -> None:
        """Sets the ISR at the controller and at the leader. Adds the guard that the controller's
        newest decision made `leader` the leader, so a deposed leader cannot change the ISR.
        """
        when(s.is_true_leader(leader))
        s.registration.isr = isr
        s.replica[leader].isr = isr

    def is_caught_up(s, follower: Replica, leader: Replica, end: Offset) -> Bool:
        """Returns True if the follower follows the leader, and both logs reach the offset `end`."""
        reached = s.log[leader].has_offset(end - 1) & s.log[follower].has_offset(end - 1)
        return s.is_following(follower, leader) & ((end == 0) | reached)

    @action
    def leader_shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader removes from the ISR a follower that lacks some of the leader's records.

        Kafka: Partition.maybeShrinkIsr.
        Simplified: the leader may remove a follower as soon as the follower lacks a record. The
        spec does not model replica.lag.time.max.ms.
        A removal never loses a record, because only the leader of the newest epoch can change the
        ISR at the controller.
        """
        isr = s.replica[leader].isr
        when(
            isr[follower],
            follower != leader,
            ~s.is_caught_up(follower, leader, s.log[leader].end_offset),
        )
        s.set_isr(leader, isr - {follower})

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader adds to the ISR a follower that has reached the leader's high watermark.

        Kafka: Partition.maybeExpandIsr.
        Simplified: the ISR changes at the leader and at the controller in one step.
        A new leader's high watermark may be too low, so KIP-320 adds the guard
        `has_reached_its_epoch`. Without this guard, the claim `strong_isr` breaks (bug
        `joins-before-epoch`, 11 steps; KAFKA-7128).
        """
        isr = s.replica[leader].isr
        when(~isr[follower], s.is_caught_up(follower, leader, s.replica[leader].high_watermark))
        s.set_isr(leader, isr | {follower})

    # ---- followers

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the offset to which a new follower truncates its log: the follower's own high
        watermark.
        """
        return s.replica[follower].high_watermark

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader, and truncates its own log to the offset
        `truncation_offset`.

        Kafka: Partition.makeFollower and ReplicaFetcherThread.truncate.
        Simplified: the replica follows and truncates in one step. The controller's requests may
        arrive in any order.
        If the replica truncates to its own high watermark, the claim `weak_isr` breaks (version
        `truncate-to-hw`, 8 steps).
        """
        end = s.truncation_offset(follower, leader)
        when(
            s.request[leader_epoch].leader == leader,
            follower != leader,
            s.is_newer(follower, leader_epoch),
            end <= s.log[follower].end_offset,
        )
        s.log[follower].truncate_to(end)
        s.adopt(
            follower, s.request[leader_epoch], least_of(end, s.replica[follower].high_watermark)
        )

    def make_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        when(
            s.request[leader_epoch].leader == leader,
            follower != leader,
            s.is_newer(follower, leader_epoch),
        )
        s.adopt(follower, s.request[leader_epoch], s.replica[follower].high_watermark)

    def replicate(s, follower: Replica, leader: Replica) -> None:
        end = s.log[follower].end_offset
        when(s.log[leader].has_offset(end))
        s.log[follower].append(s.log[leader].record[end])
        s.replica[follower].high_watermark = s.follower_high_watermark(leader, end + 1)

    def follower_high_watermark(s, leader: Replica, end: Offset) -> Offset:
        """Returns the follower's new high watermark: the leader's high watermark, or the end of the
        follower's log (`end`) if this end is lower.

        So the end of the log is a limit of the high watermark. Without this limit, the claim
        `high_watermark_in_log` breaks (bug `takes-leaders-high-watermark`, 9 steps).
        """
        return least_of(s.replica[leader].high_watermark, end)

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the leader's next record, without a comparison of epochs or of earlier
        records.

        Kafka: ReplicaFetcherThread.processPartitionData before KIP-320.
        Simplified: the follower copies one record at a time.
        A leader of an older epoch may serve the fetch, so the leader epochs of the records in a log
        may decrease. With two replicas, the claim `strong_isr` breaks (version `kip-101`, 11
        steps).
        """
        when(s.presumes_leadership(leader), s.is_following(follower, leader))
        s.replicate(follower, leader)
