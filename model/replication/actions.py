"""Replication of one partition: a leader appends, followers copy, a controller moves leadership.

What a follower does with its own records when it meets a new leader has been mended four times:
this is the protocol before the first, and `versions.py` says what each replaced.

Source: hachikuji/kafka-specification d68782b: KafkaReplication, KafkaTruncateToHighWatermark.
Simplified: a replica fetches and a leader answers in one step; the quorum's state is read and
written in one place.

With `as_published` the text keeps two defects of its source, to reproduce the counts that are known
of it: the controller may empty the ISR, and KIP-101 does not truncate where the leader's answer
lies beyond the follower's end. What the source claims and could not be checked (TypeOk), or is
false before the first election (LeaderInIsr), is not claimed here.
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
from model.replication.claims import ReplicationClaims
from model.replication.state import (
    LeaderAndIsr,
    LeaderEpoch,
    LogRecord,
    Offset,
    Replica,
    ReplicaState,
)
from model.variants import kafka, version


@version(
    "truncate-to-hw",
    breaks="weak_isr",
    steps=8,
    at={"max_leader_epoch": 2, "replicas": 2},
    fixed_by="kip-279",
    id="R1",
    issue="KAFKA-1211",
    in_force=kafka(None, "0.10"),
)
class TruncateToHighWatermark(ReplicationClaims):
    """Before KIP-101: a new follower cuts its log at its own high watermark.

    Fails weak_isr: that watermark may be behind the leader's.
    """

    # ---- the controller

    def decide(s, leader: Replica | Nothing, isr: Set[Replica]) -> None:
        """The controller takes the next leader epoch and sends its decision to the replicas."""
        leader_epoch = s.registration.leader_epoch + 1
        when(leader_epoch <= s.max_leader_epoch)
        decision = LeaderAndIsr(leader_epoch=leader_epoch, leader=leader, isr=isr)
        s.request[leader_epoch] = decision
        s.registration = decision

    @action
    def controller_elect_leader(s, leader: Replica) -> None:
        """The controller makes another member of the ISR the leader."""
        when(s.registration.isr[leader], s.registration.leader != leader)
        s.decide(leader, s.registration.isr)

    @action
    def controller_shrink_isr(s, failed: Replica) -> None:
        """A failed replica leaves leadership and ISR; one that led last stays in the ISR."""
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
        """A replica learns that it leads; its high watermark may be behind its predecessor's."""
        when(s.request[leader_epoch].leader == leader, s.is_news(leader, leader_epoch))
        s.adopt(leader, s.request[leader_epoch], s.replica[leader].high_watermark)

    def is_news(s, replica: Replica, leader_epoch: LeaderEpoch) -> Bool:
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
        """Whoever believes to lead appends what producers send; only replication can fence it."""
        when(
            s.presumes_leadership(leader),
            s.next_id < s.max_records,
            s.log[leader].end_offset < s.log_size,
        )
        s.log[leader].append(LogRecord(id=s.next_id, leader_epoch=s.replica[leader].leader_epoch))
        s.next_id = s.next_id + 1

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The high watermark passes an offset that all of the ISR has; no epoch is compared."""
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
        """The write to the quorum fences: it succeeds for the true leader alone."""
        when(s.is_true_leader(leader))
        s.registration.isr = isr
        s.replica[leader].isr = isr

    def is_caught_up(s, follower: Replica, leader: Replica, end: Offset) -> Bool:
        reached = s.log[leader].has_offset(end - 1) & s.log[follower].has_offset(end - 1)
        return s.is_following(follower, leader) & ((end == 0) | reached)

    @action
    def leader_shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """The leader drops a follower that has not all of its records."""
        isr = s.replica[leader].isr
        when(
            isr[follower],
            follower != leader,
            ~s.is_caught_up(follower, leader, s.log[leader].end_offset),
        )
        s.set_isr(leader, isr - {follower})

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower that has reached the high watermark joins the ISR."""
        isr = s.replica[leader].isr
        when(~isr[follower], s.is_caught_up(follower, leader, s.replica[leader].high_watermark))
        s.set_isr(leader, isr | {follower})

    # ---- followers

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        return s.replica[follower].high_watermark

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and cuts its log where the two may differ."""
        end = s.truncation_offset(follower, leader)
        when(
            s.request[leader_epoch].leader == leader,
            follower != leader,
            s.is_news(follower, leader_epoch),
            end <= s.log[follower].end_offset,
        )
        s.log[follower].truncate_to(end)
        s.adopt(
            follower, s.request[leader_epoch], least_of(end, s.replica[follower].high_watermark)
        )

    def follow(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        when(
            s.request[leader_epoch].leader == leader,
            follower != leader,
            s.is_news(follower, leader_epoch),
        )
        s.adopt(follower, s.request[leader_epoch], s.replica[follower].high_watermark)

    def replicate(s, follower: Replica, leader: Replica) -> None:
        end = s.log[follower].end_offset
        when(s.log[leader].has_offset(end))
        s.log[follower].append(s.log[leader].record[end])
        s.replica[follower].high_watermark = s.mark_of_follower(leader, end + 1)

    def mark_of_follower(s, leader: Replica, end: Offset) -> Offset:
        """The leader's high watermark, as far as the follower has its records."""
        return least_of(s.replica[leader].high_watermark, end)

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record; neither epoch nor what came before it is compared."""
        when(s.presumes_leadership(leader), s.is_following(follower, leader))
        s.replicate(follower, leader)
