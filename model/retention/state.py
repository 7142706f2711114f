"""DOC retention state"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Int, Map, Nothing, Record, Scope, Set, Sort, Spec, everything, ite


class Replica(Sort):
    """A broker that keeps a copy of the partition."""

    prefix = "b"


class Key(Sort):
    """Of the records with a key, compaction keeps the last."""

    prefix = "k"


class Offset(Int):
    """A position in a log, or the end of one."""


class LeaderEpoch(Int):
    """Counts elections."""


class LogRecord(Record):
    key: Key | Nothing  # nothing: compaction has dropped it
    leader_epoch: LeaderEpoch


class Log(Record):
    """What a replica has: records from the log start offset to the end, blank elsewhere."""

    log_start: Offset
    end_offset: Offset
    high_watermark: Offset
    record: Map[Offset, LogRecord]

    def has_offset(self, offset: Offset) -> Bool:
        return (self.log_start <= offset) & (offset < self.end_offset)

    def drop_outside(self, start: Offset, end: Offset) -> None:
        """Blanks what is not between the two, and moves the log's ends there."""
        for x in Offset:
            inside = (start <= x) & (x < end)
            self.record[x] = ite(inside, self.record[x], LogRecord.blank())
        self.log_start = start
        self.end_offset = end


def later_of(a: Offset, b: Offset) -> Offset:
    return ite(a <= b, b, a)


def same_epoch(a: Log, b: Log, offset: Offset) -> Bool:
    """Both have the record, of one leader epoch: it is the same record."""
    return a.has_offset(offset) & (a.record[offset].leader_epoch == b.record[offset].leader_epoch)


class RetentionState(Spec):
    """DOC RetentionState"""

    replicas: Annotated[int, range(1, 10)] = 2
    keys: Annotated[int, range(1, 10)] = 2
    log_size: Annotated[int, range(1, 20)] = 2
    max_leader_epoch: Annotated[int, range(20)] = 1

    log: Map[Replica, Log]
    epoch: Map[Replica, LeaderEpoch]  # in which a replica leads or follows
    leader: Replica
    leader_epoch: LeaderEpoch
    isr: Set[Replica]
    # what happened
    committed: Map[Offset, Key | Nothing]
    true_high_watermark: Offset  # the greatest that a leader reached
    requested: Offset  # below it, DeleteRecords was accepted
    deleted: Offset  # below it, DeleteRecords was answered to be done

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
        """It has cut its log for the present epoch, and fetches."""
        return (r != s.leader) & (s.epoch[r] == s.leader_epoch)

    def leads(s, r: Replica) -> Bool:
        return r == s.leader
