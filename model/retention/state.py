"""The state of retention: logs with a start offset, and the offsets of DeleteRecords requests.

Source: KIP-107 (DeleteRecords), KIP-320; kafka 3.7 UnifiedLog, LogCleanerManager,
ReplicaFetcherThread.
Simplified: every record is a segment. A leader that is replaced stops at once (in the spec
`replication`, such a leader may continue). Only a member of the ISR is elected. Logs are compared
by the leader epochs of their records. Compaction preserves the leader epoch of a removed record.
The spec has no transactions: Kafka's compaction stops at the last stable offset, and the compaction
of the spec stops at the high watermark.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Int, Map, Nothing, Record, Scope, Set, Sort, Spec, everything, ite


class Replica(Sort):
    """A broker that stores a copy of the partition."""

    prefix = "b"


class Key(Sort):
    """The key of a record. Compaction retains the latest record of each key."""

    prefix = "k"


class Offset(Int):
    """A position in a log, or the end of a log."""


class LeaderEpoch(Int):
    """The leader epoch: the number of elections so far."""


class LogRecord(Record):
    """A record of the log. The record has a key and a leader epoch."""

    key: Key | Nothing  # nothing: compaction has removed the record
    leader_epoch: LeaderEpoch


class Log(Record):
    """A replica's log. It has a record at each offset from the log start up to the offset before
    the end offset.

    At every other offset, the map `record` has a placeholder: `LogRecord.blank()`.
    """

    log_start: Offset
    end_offset: Offset
    high_watermark: Offset
    record: Map[Offset, LogRecord]

    def has_offset(self, offset: Offset) -> Bool:
        return (self.log_start <= offset) & (offset < self.end_offset)

    def drop_outside(self, start: Offset, end: Offset) -> None:
        for x in Offset:
            inside = (start <= x) & (x < end)
            self.record[x] = ite(inside, self.record[x], LogRecord.blank())
        self.log_start = start
        self.end_offset = end


def same_epoch(a: Log, b: Log, offset: Offset) -> Bool:
    """Returns True if both logs have a record at `offset`, and both records have the same leader
    epoch. Then they are copies of the same record.
    """
    return a.has_offset(offset) & (a.record[offset].leader_epoch == b.record[offset].leader_epoch)


class RetentionState(Spec):
    replicas: Annotated[int, range(1, 10)] = 2
    keys: Annotated[int, range(1, 10)] = 2
    log_size: Annotated[int, range(1, 20)] = 2
    max_leader_epoch: Annotated[int, range(20)] = 1

    log: Map[Replica, Log]
    epoch: Map[Replica, LeaderEpoch]  # the epoch in which a replica leads or follows
    leader: Replica
    leader_epoch: LeaderEpoch
    isr: Set[Replica]
    # history variables, which only claims and DeleteRecords read
    committed: Map[Offset, Key | Nothing]
    true_high_watermark: Offset  # the largest high watermark of any leader
    requested: Offset  # DeleteRecords was accepted below this offset
    deleted: Offset  # DeleteRecords succeeded below this offset

    def scope(s) -> Scope:
        return {
            Replica: s.replicas,
            Key: s.keys,
            Offset: range(s.log_size + 1),
            LeaderEpoch: range(s.max_leader_epoch + 1),
        }

    def init(s, leader: Replica) -> None:
        s.leader = leader
        s.isr = everything(Replica)

    def is_following(s, r: Replica) -> Bool:
        """Returns True if the replica is a follower and has truncated its log for the present
        leader epoch. Only such a replica fetches.
        """
        return (r != s.leader) & (s.epoch[r] == s.leader_epoch)

    def leads(s, r: Replica) -> Bool:
        return r == s.leader
