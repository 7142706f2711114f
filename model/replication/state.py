"""The state of the spec `replication`: the logs, the leader and ISR that each replica knows, and
the controller's requests.

Source: hachikuji/kafka-specification d68782b: KafkaReplication, FiniteReplicatedLog.
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
    """A broker that stores a copy of the partition."""

    prefix = "b"


class Offset(Int):
    """A position in a log, or the end of a log."""


class LeaderEpoch(Int):
    """A leader epoch. The controller begins a leader epoch with each decision on the leader and the
    ISR.

    Before the first decision, the leader epoch is -1.
    """


class RecordId(Int):
    """A number that identifies a record. No two appended records have the same number."""


class LogRecord(Record):
    """A record of a log. The spec models only its id and leader epoch, without key and value."""

    id: RecordId
    leader_epoch: LeaderEpoch  # of the leader that appended it


class Log(Record):
    """The log of a replica. The cells below the end offset hold the records; the cells from the end
    offset on are empty.
    """

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
        """Returns the offset of the first record with a larger epoch than `leader_epoch`. If there
        is no such record, returns the end offset of the log.

        Kafka: LeaderEpochFileCache.endOffsetFor.
        """
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
    """A decision of the controller about the partition. The controller's request to the replicas
    carries the same fields.
    """

    leader_epoch: LeaderEpoch
    leader: Replica | Nothing
    isr: Set[Replica]


class ReplicaState(Record):
    """A replica's high watermark, with the leader epoch, the leader and the ISR that the replica
    believes in.
    """

    high_watermark: Offset
    leader_epoch: LeaderEpoch
    leader: Replica | Nothing
    isr: Set[Replica]


class ReplicatedPartition(Spec):
    replicas: Annotated[int, range(1, 10)] = 3
    log_size: Annotated[int, range(1, 20)] = 2
    max_records: Annotated[int, range(1, 20)] = 2
    max_leader_epoch: Annotated[int, range(20)] = 1
    as_published: bool = False

    log: Map[Replica, Log]
    replica: Map[Replica, ReplicaState]
    registration: LeaderAndIsr  # written by the controller and the true leader only
    # every request of the controller: it may arrive late, twice or never
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
        """Returns True if the replica `leader` believes that it leads. The controller may have
        chosen another leader since.
        """
        return s.replica[leader].leader == leader

    def is_following(s, follower: Replica, leader: Replica) -> Bool:
        return s.replica[follower].leader == leader

    def is_true_leader(s, leader: Replica) -> Bool:
        """Returns True if the controller's newest decision made `leader` the leader, and the
        replica leads in the epoch of this decision.
        """
        return all_of(
            s.registration.leader == leader,
            s.presumes_leadership(leader),
            s.replica[leader].leader_epoch == s.registration.leader_epoch,
        )
