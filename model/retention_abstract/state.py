"""The state of abstract retention: the replicas' logs, the ISR and the ELR, and DeleteRecords.

A log has leader epochs instead of records: the leader of an epoch appends at most one record at an
offset, so the offset and the leader epoch identify the record.

Source: KIP-107 (DeleteRecords), KIP-320, KIP-966 (ELR); UnifiedLog, Partition and LogCleaner of
Kafka 4.3.
Simplified: every record is a segment. A leader that is replaced stops at once. Only a member of the
ISR or of the ELR is elected. While the ELR has a member, the ISR is smaller than
min.insync.replicas, so no record is committed. There are no transactions.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Nothing,
    Ordered,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    everything,
)


class Replica(Sort):
    """A broker that stores a copy of the partition."""

    prefix = "b"


class Key(Sort):
    """The key of a record. Compaction retains the latest record of each key."""

    prefix = "k"


class Offset(Ordered):
    """A position in a log, or the end of a log."""


class LeaderEpoch(Ordered):
    """A leader epoch. The controller begins a new leader epoch with each election."""


class Log(Record):
    """A replica's log. It has the offsets from the log start up to the offset before the end
    offset. In the fields that are maps, the other offsets are unused.
    """

    log_start: Offset
    end_offset: Offset
    high_watermark: Offset
    leader_epoch: Map[Offset, LeaderEpoch]  # of the record at the offset
    is_compacted: Set[Offset]  # compaction has removed the record

    def has_offset(self, x: Offset) -> Bool:
        return (self.log_start <= x) & (x < self.end_offset)


class AbstractRetentionState(Spec):
    replicas: Annotated[int, range(1, 10)] = 2
    keys: Annotated[int, range(1, 10)] = 1
    offsets: Annotated[int, range(1, 10)] = 3
    leader_epochs: Annotated[int, range(1, 10)] = 2

    log: Map[Replica, Log]
    epoch: Map[Replica, LeaderEpoch]  # the epoch in which a replica leads or follows
    leader: Replica
    leader_epoch: LeaderEpoch
    isr: Set[Replica]
    elr: Set[Replica]
    requested: Offset  # DeleteRecords was accepted below this offset
    # history variables of the claims
    written_key: Map[LeaderEpoch, Map[Offset, Key | Nothing]]  # that the epoch's leader appended
    committed: Map[Offset, LeaderEpoch]  # of the committed record
    true_high_watermark: Offset  # the largest high watermark of any leader
    deleted: Offset  # DeleteRecords succeeded below this offset
    largest_start: Map[Replica, Offset]  # the largest log start that the replica ever had

    def scope(s) -> Scope:
        return {
            Replica: s.replicas,
            Key: s.keys,
            Offset: s.offsets,
            LeaderEpoch: s.leader_epochs,
        }

    def init(s, first: Replica) -> None:
        s.leader = first
        s.isr = everything(Replica)

    # ---- predicates

    def is_following(s, r: Replica) -> Bool:
        """Returns True if the replica is a follower and has truncated its log for the present
        leader epoch. Only such a replica fetches.
        """
        return (r != s.leader) & (s.epoch[r] == s.leader_epoch)

    def is_eligible(s, r: Replica) -> Bool:
        """Returns True if the replica is in the ISR or in the ELR, so that it may be elected."""
        return s.isr[r] | s.elr[r]

    def is_in_both(s, r: Replica, x: Offset) -> Bool:
        """Returns True if the offset is at or after both log starts: that of the replica, and that
        of the leader.
        """
        return (s.log[r].log_start <= x) & (s.log[s.leader].log_start <= x)

    def is_as_the_leaders(s, r: Replica, x: Offset) -> Bool:
        """Returns True if the leader's log has the offset, with the same leader epoch as the
        replica's log.
        """
        ours, theirs = s.log[r], s.log[s.leader]
        return theirs.has_offset(x) & (ours.leader_epoch[x] == theirs.leader_epoch[x])

    def committed_key(s, x: Offset) -> Key | Nothing:
        return s.written_key[s.committed[x]][x]
