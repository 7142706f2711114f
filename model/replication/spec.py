"""Replication of one partition: a leader appends, followers copy, a controller moves leadership.

What a follower does with its own records when it meets a new leader has been mended three times:
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

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    all_of,
    everything,
    exists,
    forall,
    implies,
    invariant,
    ite,
    least_of,
    nothing,
    when,
    witness,
)


class Replica(Sort):
    """A broker that keeps a copy of the partition."""

    prefix = "b"


class Offset(Int):
    """A position in a log, or the end of one."""


class LeaderEpoch(Int):
    """Counts the controller's decisions; -1 before the first."""


class RecordId(Int):
    """Tells every record ever written from every other."""


class LogRecord(Record):
    id: RecordId
    leader_epoch: LeaderEpoch  # of the leader that appended it


class Log(Record):
    """Records below the end offset, blank above it."""

    end_offset: Offset
    record: Map[Offset, LogRecord]

    def is_empty(self) -> Bool:
        return self.end_offset == 0

    def has_offset(self, offset: Offset) -> Bool:
        return offset < self.end_offset

    def latest(self) -> LogRecord:
        return self.record[self.end_offset - 1]

    def agrees_with(self, other: Log, offset: Offset) -> Bool:
        return all_of(
            self.has_offset(offset),
            other.has_offset(offset),
            self.record[offset] == other.record[offset],
        )

    def append(self, record: LogRecord) -> None:
        self.record[self.end_offset] = record
        self.end_offset = self.end_offset + 1

    def truncate_to(self, end: Offset) -> None:
        for offset in Offset:
            self.record[offset] = ite(offset < end, self.record[offset], LogRecord.blank())
        self.end_offset = end


class LeaderAndIsr(Record):
    """A decision about the partition, and the request that tells replicas of it."""

    leader_epoch: LeaderEpoch
    leader: Replica | Nothing
    isr: Set[Replica]


class ReplicaState(Record):
    """What a replica believes."""

    high_watermark: Offset
    leader_epoch: LeaderEpoch
    leader: Replica | Nothing
    isr: Set[Replica]


class TruncateToHighWatermark(Spec):
    """Before KIP-101: a new follower cuts its log at its own high watermark.

    Fails weak_isr: that watermark may be behind the leader's.
    """

    replicas: Annotated[int, range(1, 10)] = 3
    log_size: Annotated[int, range(1, 20)] = 2
    max_records: Annotated[int, range(1, 20)] = 2
    max_leader_epoch: Annotated[int, range(20)] = 1
    as_published: bool = False

    log: Map[Replica, Log]
    replica: Map[Replica, ReplicaState]
    quorum: LeaderAndIsr  # the true state, which only the controller and the true leader write
    # every request ever sent: they may arrive late, twice or never
    request: Map[LeaderEpoch, LeaderAndIsr]
    next_id: RecordId

    def scope(s) -> Scope:
        return {
            Replica: s.replicas,
            Offset: range(s.log_size + 1),
            LeaderEpoch: range(-1, s.max_leader_epoch + 1),
            RecordId: range(s.max_records + 1),
        }

    def init(s) -> None:
        s.quorum.isr = everything(Replica)

    # ---- the controller

    def decide(s, leader: Replica | Nothing, isr: Set[Replica]) -> None:
        """The controller takes the next leader epoch and sends its decision to the replicas."""
        leader_epoch = s.quorum.leader_epoch + 1
        when(leader_epoch <= s.max_leader_epoch)
        decision = LeaderAndIsr(leader_epoch=leader_epoch, leader=leader, isr=isr)
        s.request[leader_epoch] = decision
        s.quorum = decision

    @action
    def controller_elect_leader(s, leader: Replica) -> None:
        """The controller makes another member of the ISR the leader."""
        when(s.quorum.isr[leader], s.quorum.leader != leader)
        s.decide(leader, s.quorum.isr)

    @action
    def controller_shrink_isr(s, failed: Replica) -> None:
        """A failed replica leaves leadership and ISR; one that led last stays in the ISR."""
        led = s.quorum.leader == failed
        alone = s.quorum.isr == {failed}
        when(led | s.quorum.isr[failed])
        if not s.as_published:  # published: a member that does not lead may leave the ISR empty
            when(led | ~alone)
        s.decide(
            leader=ite(led, nothing, s.quorum.leader),
            isr=ite(led & alone, s.quorum.isr, s.quorum.isr - {failed}),
        )

    # ---- leaders

    def presumes_leadership(s, leader: Replica) -> Bool:
        return s.replica[leader].leader == leader

    def is_following(s, follower: Replica, leader: Replica) -> Bool:
        return s.replica[follower].leader == leader

    def is_true_leader(s, leader: Replica) -> Bool:
        return all_of(
            s.quorum.leader == leader,
            s.presumes_leadership(leader),
            s.replica[leader].leader_epoch == s.quorum.leader_epoch,
        )

    @action
    def become_leader(s, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns that it leads; its high watermark may be behind its predecessor's."""
        when(
            s.request[leader_epoch].leader == leader, s.replica[leader].leader_epoch < leader_epoch
        )
        s.adopt(leader, s.request[leader_epoch], s.replica[leader].high_watermark)

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

    @action
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
        s.quorum.isr = isr
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

    @action
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and cuts its log where the two may differ."""
        end = s.truncation_offset(follower, leader)
        when(
            s.request[leader_epoch].leader == leader,
            follower != leader,
            s.replica[follower].leader_epoch < leader_epoch,
            end <= s.log[follower].end_offset,
        )
        s.log[follower].truncate_to(end)
        s.adopt(
            follower, s.request[leader_epoch], least_of(end, s.replica[follower].high_watermark)
        )

    def replicate(s, follower: Replica, leader: Replica) -> None:
        end = s.log[follower].end_offset
        when(s.log[leader].has_offset(end))
        s.log[follower].append(s.log[leader].record[end])
        s.replica[follower].high_watermark = least_of(s.replica[leader].high_watermark, end + 1)

    @action
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record; neither epoch nor what came before it is compared."""
        when(s.presumes_leadership(leader), s.is_following(follower, leader))
        s.replicate(follower, leader)

    # ---- what is claimed

    def has_replicated(s, leader: Replica, member: Replica) -> Bool:
        return forall(
            implies(
                offset < s.replica[leader].high_watermark,
                s.log[leader].agrees_with(s.log[member], offset),
            )
            for offset in Offset
        )

    @invariant
    def weak_isr(s) -> Bool:
        """What is below a presumed leader's high watermark is on all of the ISR it believes in."""
        return forall(
            implies(s.presumes_leadership(leader), s.has_replicated(leader, member))
            for leader in Replica
            for member in s.replica[leader].isr
        )

    @invariant
    def strong_isr(s) -> Bool:
        """What is below a presumed leader's high watermark is on all of the true ISR."""
        return forall(
            implies(s.presumes_leadership(leader), s.has_replicated(leader, member))
            for leader in Replica
            for member in s.quorum.isr
        )

    # ---- what must be possible

    @witness
    def a_record_is_committed_by_two(s) -> Bool:
        """A leader's high watermark covers a record, with a follower in its ISR."""
        return exists(
            all_of(
                s.presumes_leadership(leader),
                s.replica[leader].high_watermark > 0,
                member != leader,
            )
            for leader in Replica
            for member in s.replica[leader].isr
        )

    @witness
    def two_presume_leadership(s) -> Bool:
        """A deposed leader has not heard of its successor."""
        return exists(
            all_of(a != b, s.presumes_leadership(a), s.presumes_leadership(b))
            for a in Replica
            for b in Replica
        )
