"""The actions of replication, in the protocol before KIP-101; `versions.py` replaces some of them.

The table lists all actions (`Next` in TLA+) by role. WF: weakly fair; SF: strongly fair.

    controller   controller_elect_leader, controller_shrink_isr
    leaders      WF become_leader, leader_write, SF leader_inc_high_watermark, leader_shrink_isr,
                 leader_expand_isr
    followers    WF become_follower, WF follower_replicate,
                 WF follower_truncate (only kip-320-first-try and fetch-divergence have this action)

Source: hachikuji/kafka-specification d68782b: KafkaReplication, KafkaTruncateToHighWatermark.
Simplified: a fetch and its response are one step. The controller's state is one variable, which the
controller and the leader that it has elected read and write atomically. Only logs and epochs are
modelled: no batches, no producers, no consumers.

Two defects of the source are corrected: its controller may empty the ISR, and in KIP-101, a
follower does not truncate if the leader's answer is beyond the follower's end. With the constant
`as_published`, both defects are back, and an exploration counts as many states as the source
published. Two claims of the source are left out: TypeOk, which could not be checked, and
LeaderInIsr, which is false before the first election.
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
    """Before KIP-101: a new follower truncates its log to its own high watermark.

    The follower's high watermark may lag, so the follower may remove a committed record.
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

        Kafka: PartitionChangeBuilder.electLeader. Simplified: any member may be elected at any
        time; the current leader needs not fail first. Without the guard that the leader is in the
        ISR, the claim `strong_isr` breaks in 9 steps.
        """
        when(s.registration.isr[leader], s.registration.leader != leader)
        s.decide(leader, s.registration.isr)

    @action
    def controller_shrink_isr(s, failed: Replica) -> None:
        """The controller removes a failed replica from the ISR, and from leadership if it leads.

        Kafka: ReplicationControlManager.handleBrokerFenced. Simplified: a failed replica keeps its
        log, and only the controller notices the failure. Without the guard that the only member
        stays, the ISR may become empty, and no leader can be elected again (constant
        `as_published`).
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
        """A replica learns that it leads, and keeps its own high watermark, which may be out of
        date.

        Kafka: Partition.makeLeader. Simplified: requests are never lost, and arrive in any order.
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
        """A replica that believes it leads appends a record; a deposed leader may append too.

        Kafka: Partition.appendRecordsToLeader. Simplified: one record, and no check of
        min.insync.replicas. A Produce request carries no leader epoch (KIP-359 never shipped).
        Without the guard that the replica believes it leads, the claim `strong_isr` breaks in 4
        steps.
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
        """The leader raises its high watermark past an offset that every member of its ISR has.

        Kafka: Partition.maybeIncrementLeaderHW. Simplified: the leader reads the followers' logs,
        waits for no fetch, and compares no leader epoch. If the leader recomputed the high
        watermark from scratch, the claim `a_leaders_high_watermark_grows` would break (bug
        `recomputes-high-watermark`, 9 steps).
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
        """Sets the ISR at the controller and at the leader; a deposed leader cannot do this."""
        when(s.is_true_leader(leader))
        s.registration.isr = isr
        s.replica[leader].isr = isr

    def is_caught_up(s, follower: Replica, leader: Replica, end: Offset) -> Bool:
        """True if the follower follows the leader, and both logs reach the offset `end`."""
        reached = s.log[leader].has_offset(end - 1) & s.log[follower].has_offset(end - 1)
        return s.is_following(follower, leader) & ((end == 0) | reached)

    @action
    def leader_shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader removes from the ISR a follower that lacks some of the leader's records.

        Kafka: Partition.maybeShrinkIsr. Simplified: a follower may be removed as soon as it lags;
        replica.lag.time.max.ms is not modelled. A removal never loses a record, because only the
        leader of the newest epoch can change the ISR at the controller.
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
        """A follower that has reached the leader's high watermark joins the ISR.

        Kafka: Partition.maybeExpandIsr. Simplified: the ISR changes at the leader and the
        controller in one step. A new leader's high watermark may be too low, so KIP-320 adds the
        guard `has_reached_its_epoch`. Without this guard, the claim `strong_isr` breaks (bug
        `joins-before-epoch`, 11 steps; KAFKA-7128).
        """
        isr = s.replica[leader].isr
        when(~isr[follower], s.is_caught_up(follower, leader, s.replica[leader].high_watermark))
        s.set_isr(leader, isr | {follower})

    # ---- followers

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the offset to which a new follower truncates: its own high watermark."""
        return s.replica[follower].high_watermark

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and truncates its own log to `truncation_offset`.

        Kafka: Partition.makeFollower and ReplicaFetcherThread.truncate. Simplified: the replica
        follows and truncates in one step, and requests may arrive in any order. If the replica
        truncates to its own high watermark, the claim `weak_isr` breaks (version `truncate-to-hw`,
        8 steps).
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
        """Returns the leader's high watermark or the end of the follower's log, whichever is lower.

        Without this limit, the claim `high_watermark_in_log` breaks (bug
        `takes-leaders-high-watermark`, 9 steps).
        """
        return least_of(s.replica[leader].high_watermark, end)

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the leader's next record, without comparing epochs or earlier records.

        Kafka: ReplicaFetcherThread.processPartitionData before KIP-320. Simplified: one record at a
        time. A leader of an older epoch may serve the fetch, so the epochs in a log may decrease.
        With two replicas, the claim `strong_isr` breaks (version `kip-101`, 11 steps).
        """
        when(s.presumes_leadership(leader), s.is_following(follower, leader))
        s.replicate(follower, leader)
