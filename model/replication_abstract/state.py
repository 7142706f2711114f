"""The state of abstract replication. For each leader epoch, it has the history of the epoch's
leader.

This history is called a *leadership*. It has the leader's log, the end of this log when the epoch
began, the high watermark, and the offset up to which each replica fetched. A leadership only grows.
So the state needs no messages: a late fetch response is modelled as a late read of the leadership.

Source: KIP-101, KIP-320, KIP-595 (fetch carries the last record's epoch), KIP-497 (AlterPartition).
Simplified: replicas append and fetch one record at a time. Elections are clean. min.insync.replicas
is 1. No records are deleted at the start of the log.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Record, Scope, Set, Sort, Spec, true


class Replica(Sort):
    """A broker that stores a copy of the partition."""

    prefix = "b"


class Message(Sort):
    pass


class LeaderEpoch(Ordered):
    """A leader epoch. The controller begins a leader epoch with each election."""


class Offset(Ordered):
    """A position in a log, or the end of a log."""


class Entry(Record):
    """A record of a log: its message, and the epoch of the leader that appended it."""

    leader_epoch: LeaderEpoch
    message: Message


class Leadership(Record):
    """The log, high watermark, fetched offsets and maximal ISR of one epoch's leader.

    The maximal ISR contains the replicas that must fetch a record before the leader commits it.
    """

    begun: Bool
    start_offset: Offset  # where its log ended when it became leader
    end_offset: Offset
    high_watermark: Offset
    entry: Map[Offset, Entry]
    fetched: Map[Replica, Offset]  # each replica's log end, from its fetches
    maximal_isr: Set[Replica]  # they must have a record before it is committed
    proposed: Set[Replica]  # additions to the ISR that the controller has not answered


class Departure(Record):
    """The member with the smallest fetched offset among the ISR members of a leader epoch that have
    moved to a newer epoch.

    The state has one such value for each leader epoch. `happened` is false if no ISR member of the
    epoch has moved to a newer epoch.
    """

    happened: Bool
    bound: Offset  # its fetched offset: the epoch's leader never commits more
    member: Replica


class ReplicaState(Record):
    """The log, high watermark and leader epoch of a replica. `is_leader` is true if the replica
    leads.
    """

    leader_epoch: LeaderEpoch
    is_leader: Bool
    end_offset: Offset
    high_watermark: Offset
    entry: Map[Offset, Entry]


class AbstractReplicationState(Spec):
    replicas: Annotated[int, range(1, 10)] = 2
    leader_epochs: Annotated[int, range(1, 10)] = 3
    offsets: Annotated[int, range(2, 10)] = 2
    messages: Annotated[int, range(1, 10)] = 1

    # the controller
    newest: LeaderEpoch
    elected: Set[LeaderEpoch]
    leader: Map[LeaderEpoch, Replica]
    vacant: Set[LeaderEpoch]  # epochs without a leader
    isr: Map[LeaderEpoch, Set[Replica]]  # the controller's last ISR of the epoch
    first_isr: Map[LeaderEpoch, Set[Replica]]  # the ISR announced by the election

    led: Map[LeaderEpoch, Leadership]
    replica: Map[Replica, ReplicaState]

    # history variables of the proof
    committed_end: Offset
    committed: Map[Offset, Entry]
    committed_by: Map[Offset, LeaderEpoch]  # the oldest epoch whose leader committed it
    departure: Map[LeaderEpoch, Departure]

    def scope(s) -> Scope:
        return {
            Replica: s.replicas,
            LeaderEpoch: s.leader_epochs,
            Offset: s.offsets,
            Message: s.messages,
        }

    def init(s, someone: Replica, something: Message) -> None:
        first = LeaderEpoch.least()
        s.elected[first] = true
        s.led[first].begun = true
        s.replica[someone].is_leader = true
        for r in Replica:
            s.isr[first][r] = true
            s.first_isr[first][r] = true
            s.led[first].maximal_isr[r] = true
        for e in LeaderEpoch:
            s.leader[e] = someone  # unused until e is elected
            s.departure[e].member = someone  # unused until it happened
        for o in Offset:  # unused from the end offset on
            s.committed[o].message = something
            for e in LeaderEpoch:
                s.led[e].entry[o].message = something
            for r in Replica:
                s.replica[r].entry[o].message = something
