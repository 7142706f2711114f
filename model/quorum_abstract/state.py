"""The state of the abstract quorum: for each epoch, the votes and the history of the leader.

The history (*leadership*) has four parts: the leader's log, the offset at which this log ended when
the epoch began, the high watermark, and the offset up to which each replica has acknowledged the
log. Nothing is ever removed from a leadership. So the state needs no messages: a late fetch
response is a late read of the leadership.

Source: KIP-595; QuorumState, KafkaRaftClient and LeaderState of Kafka 4.3.
Simplified: the voters never change. A record has an epoch and no content. Each fetch response has
one record. There are no pre-votes and no snapshots. Followers do not learn the high watermark. All
logs are empty at first.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Record, Scope, Set, Sort, Spec


class Replica(Sort):
    """A controller that is a voter of the quorum."""

    prefix = "c"


class Epoch(Ordered):
    """The leader epoch of the quorum. A candidate begins a larger epoch. The least epoch has no
    leader.
    """


class Offset(Ordered):
    """A position in a log, or the end of a log."""


class Leadership(Record):
    """The log and the high watermark of one epoch's leader, and the offset up to which each
    replica has acknowledged this log.
    """

    begun: Bool
    start_offset: Offset  # where the leader's log ended when it became leader
    end_offset: Offset
    high_watermark: Offset
    entry: Map[Offset, Epoch]
    fetched: Map[Replica, Offset]  # each replica has the records below, and has flushed them


class ReplicaState(Record):
    """The epoch and the log of a replica, and whether the replica leads."""

    epoch: Epoch
    is_leader: Bool
    end_offset: Offset
    flushed: Offset  # a restart keeps the records below
    entry: Map[Offset, Epoch]


class AbstractQuorumState(Spec):
    replicas: Annotated[int, range(1, 10)] = 3
    epochs: Annotated[int, range(1, 10)] = 3
    offsets: Annotated[int, range(2, 10)] = 2

    replica: Map[Replica, ReplicaState]
    voted: Map[Epoch, Map[Replica, Set[Replica]]]  # voter -> for whom; stored on the voter's disk
    granted: Map[Replica, Set[Replica]]  # the votes that a candidate has, in its epoch
    elected: Map[Epoch, Set[Replica]]  # who has become leader in the epoch
    led: Map[Epoch, Leadership]

    def scope(s) -> Scope:
        return {Replica: s.replicas, Epoch: s.epochs, Offset: s.offsets}

    def init(s) -> None:
        """Initially, every replica is in the least epoch, with an empty log and without a vote."""
