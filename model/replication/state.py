"""One partition as its replicas and its controller know it: logs, beliefs, requests.

Source: hachikuji/kafka-specification d68782b: KafkaReplication.
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
    all_of,
    any_of,
    everything,
    first,
    ite,
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

    def end_offset_for(self, leader_epoch: LeaderEpoch) -> Offset:
        """Where the first record of a larger epoch is, or the end."""
        return first(
            Offset,
            lambda offset: any_of(
                ~self.has_offset(offset), leader_epoch < self.record[offset].leader_epoch
            ),
            default=self.end_offset,
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


class ReplicatedPartition(Spec):
    """The state, and the words for it."""

    replicas: Annotated[int, range(1, 10)] = 3
    log_size: Annotated[int, range(1, 20)] = 2
    max_records: Annotated[int, range(1, 20)] = 2
    max_leader_epoch: Annotated[int, range(20)] = 1
    as_published: bool = False

    log: Map[Replica, Log]
    replica: Map[Replica, ReplicaState]
    registration: (
        LeaderAndIsr  # the true state, which only the controller and the true leader write
    )
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
        s.registration.isr = everything(Replica)

    def presumes_leadership(s, leader: Replica) -> Bool:
        return s.replica[leader].leader == leader

    def is_following(s, follower: Replica, leader: Replica) -> Bool:
        return s.replica[follower].leader == leader

    def is_true_leader(s, leader: Replica) -> Bool:
        return all_of(
            s.registration.leader == leader,
            s.presumes_leadership(leader),
            s.replica[leader].leader_epoch == s.registration.leader_epoch,
        )
