"""The state of an abstract partition: its registration, and the history of each leader epoch.

The history (*leadership*) has the leader's log, the committed records, the records that each
replica has acknowledged, and the leader's knowledge of the ISR. The registration has an ISR and an
ELR for each epoch. In the newest epoch, these are the present ISR and ELR. A *member* of an epoch
is a broker in the ISR or the ELR of this epoch.

Source: KIP-455, KIP-497, KIP-903, KIP-966; Kafka's PartitionRegistration and Partition.
Simplified: a log is a set of records, so a follower may copy the leader's records in any order. A
leader that learns the ISR always learns the present ISR. There is no unclean election, and no
election of a last known leader. A partition never has fewer replicas than min.insync.replicas.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Ordered,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    at_least,
    exists,
    true,
    when,
)


class Replica(Ordered):
    """A broker, which may be a replica of the partition. Initially, the first broker leads."""

    prefix = "b"


class LeaderEpoch(Ordered):
    """A leader epoch. The controller begins a new leader epoch with each election."""


class RecordId(Sort):
    prefix = "x"


class Disturbance(Ordered):
    """The serial number of an operator's request or of an unclean stop. An exploration limits
    these numbers.
    """


class Leadership(Record):
    """The log of one epoch's leader, and this leader's knowledge of the replicas."""

    begun: Bool
    start: Set[RecordId]  # the leader's log when its epoch began
    log: Set[RecordId]
    committed: Set[RecordId]  # below the leader's high watermark
    acknowledged: Map[Replica, Set[RecordId]]  # each replica's log, as of its last fetch
    isr: Set[Replica]  # as the leader knows it
    maximal_isr: Set[Replica]  # they must have a record before it is committed
    proposed: Set[Replica]  # an addition to the ISR that the controller has not answered


class BrokerState(Record):
    """The log and the leader epoch of a broker, and whether the broker leads, is stopped or is
    starting.
    """

    leader_epoch: LeaderEpoch
    is_leader: Bool
    is_stopped: Bool  # it stopped uncleanly, and has not registered again
    is_starting: Bool  # it has registered again, and may still find that records are lost
    log: Set[RecordId]


class AbstractPartitionState(Spec):
    brokers: Annotated[int, range(1, 10)] = 3
    leader_epochs: Annotated[int, range(1, 10)] = 2
    records: Annotated[int, range(1, 10)] = 1
    min_isr: Annotated[int, range(1, 10)] = 2
    disturbances: Annotated[int, range(10)] = 1  # requests of the operator, and unclean stops
    stops_uncleanly: bool = True  # False: only the operator disturbs

    # the controller
    newest: LeaderEpoch
    elected: Set[LeaderEpoch]
    leader: Map[LeaderEpoch, Replica]
    vacant: Set[LeaderEpoch]  # epochs without a leader
    isr: Map[LeaderEpoch, Set[Replica]]
    elr: Map[LeaderEpoch, Set[Replica]]
    replicas: Set[Replica]
    adding: Set[Replica]
    removing: Set[Replica]
    last_disturbance: Disturbance

    led: Map[LeaderEpoch, Leadership]
    broker: Map[Replica, BrokerState]
    written: Set[RecordId]

    # history variables of the claims and of the proof
    unclean: Set[Replica]  # brokers that have ever stopped uncleanly
    joined_last: Map[LeaderEpoch, Set[Replica]]  # joined the ISR in the step that ended the epoch

    def scope(s) -> Scope:
        return {
            Replica: s.brokers,
            LeaderEpoch: s.leader_epochs,
            RecordId: s.records,
            Disturbance: s.disturbances + 1,
        }

    def init(s) -> None:
        """Initially, every broker except the last one is a replica in the ISR, and the first
        broker leads.
        """
        s.begin_with_first()
        when(at_least(s.min_isr, (s.is_not_last(r) for r in Replica)))

    def begin_with_first(s) -> None:
        first, preferred = LeaderEpoch.least(), Replica.least()
        when(s.is_not_last(preferred))
        s.elected[first] = true
        s.led[first].begun = true
        s.broker[preferred].is_leader = true
        for r in Replica:
            s.replicas[r] = s.is_not_last(r)
            s.isr[first][r] = s.is_not_last(r)
            s.led[first].isr[r] = s.is_not_last(r)
            s.led[first].maximal_isr[r] = s.is_not_last(r)
        for e in LeaderEpoch:
            s.leader[e] = preferred  # unused until e is elected

    # ---- predicates

    def is_enough(s, members: Set[Replica]) -> Bool:
        """Returns True if `members` has at least min.insync.replicas members. The value of the
        setting is the controller's value.
        """
        return at_least(s.min_isr, (members[r] for r in Replica))

    def is_enough_in(s, e: LeaderEpoch) -> Bool:
        """Returns True if the ISR of the epoch has at least min.insync.replicas members. The value
        of the setting is the controller's last value in the epoch.
        """
        return s.is_enough(s.isr[e])

    def is_enough_for_leader(s, e: LeaderEpoch) -> Bool:
        """Returns True if the ISR that the epoch's leader knows has at least min.insync.replicas
        members. The value of the setting is the value that this leader knows.
        """
        return s.is_enough(s.led[e].isr)

    def are_enough_copies(s, brokers: Set[Replica]) -> Bool:
        """Returns True if the set `brokers` has at least min.insync.replicas members. A record has
        at least this number of copies when it is committed.
        """
        return s.is_enough(brokers)

    def is_not_last(s, r: Replica) -> Bool:
        return exists(r < q for q in Replica)

    def is_eligible(s, r: Replica) -> Bool:
        """Returns True if the broker is a replica in the present ISR or ELR. The controller may
        then elect it.
        """
        return s.replicas[r] & (s.isr[s.newest][r] | s.elr[s.newest][r])

    def is_member(s, e: LeaderEpoch, r: Replica) -> Bool:
        """Returns True if the broker was in the ISR or the ELR of the epoch, or joined the ISR
        in the step that ended the epoch.
        """
        return s.isr[e][r] | s.elr[e][r] | s.joined_last[e][r]

    def leads_in(s, r: Replica, e: LeaderEpoch) -> Bool:
        """Returns True if the controller elected the broker as leader of the epoch."""
        return (s.leader[e] == r) & ~s.vacant[e]
