"""The state of a KRaft quorum: roles and epochs, votes, logs, and the committed records.

Source: KIP-595, KIP-853, KIP-996; QuorumState, KafkaRaftClient and LeaderState of Kafka 4.3.
Simplified: a record has only its epoch and the voter set that is in force after this record. There
are no snapshots. A request and its response are one step. Only votes may arrive later: a candidate
counts its votes when it becomes leader. At most one replica is cut off from the other replicas, and
it stays cut off.
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
    count,
    false,
    ite,
    least_of,
    nothing,
    when,
)


class Replica(Sort):
    """A controller, which is a voter or an observer of the quorum."""

    prefix = "c"


class Epoch(Int):
    """The leader epoch of the quorum. A replica that becomes candidate begins a new epoch."""


class Offset(Int):
    """A position in a log, or the end of a log."""


class Changes(Int):
    """The number of past failures, or of past changes of the voters. The constants
    `max_failures` and `max_voter_changes` limit these numbers.
    """


class Role(Int):
    """The role of a replica. RESIGNED is the role of a former leader that is still in its epoch."""

    labels = ("UNATTACHED", "PROSPECTIVE", "CANDIDATE", "LEADER", "FOLLOWER", "RESIGNED")


UNATTACHED, PROSPECTIVE, CANDIDATE, LEADER, FOLLOWER, RESIGNED = map(Role, range(6))


class Member(Record):
    """The election state of a replica. The epoch, the vote and the leader are on the disk, so a
    restart does not change them.
    """

    role: Role
    epoch: Epoch
    voted: Replica | Nothing  # in this epoch
    leader: Replica | Nothing  # of this epoch, as far as the replica knows
    has_fetched: Bool  # a follower has fetched from its leader, after it began to follow


class Entry(Record):
    """A record of the log: its epoch, and the voter set that is in force from this record on."""

    epoch: Epoch
    voters: Set[Replica]


class Log(Record):
    """A replica's log. The first record of every log has epoch 0, and contains the first voter set.

    The map `entry` has a value for every offset. From the log end on, this value is blank.
    """

    end_offset: Offset
    flushed: Offset  # a restart keeps the records below
    high_watermark: Offset
    entry: Map[Offset, Entry]

    def has_offset(self, offset: Offset) -> Bool:
        return offset < self.end_offset

    def cut(self, end: Offset) -> None:
        for x in Offset:
            self.entry[x].epoch = ite(x < end, self.entry[x].epoch, Epoch(0))
            for v in Replica:
                self.entry[x].voters[v] = (x < end) & self.entry[x].voters[v]
        self.end_offset = end
        self.flushed = least_of(end, self.flushed)


def same_record(a: Log, b: Log, offset: Offset) -> Bool:
    return all_of(
        a.has_offset(offset),
        b.has_offset(offset),
        a.entry[offset].epoch == b.entry[offset].epoch,
    )


def only(*replicas: Replica) -> Set[Replica]:
    return Map(Replica, lambda x: any_of(*(x == r for r in replicas)))


class QuorumState(Spec):
    replicas: Annotated[int, range(1, 6)] = 3
    max_epoch: Annotated[int, range(1, 10)] = 1
    log_size: Annotated[int, range(1, 10)] = 2  # with the first record
    max_failures: Annotated[int, range(10)] = 0  # restarts, and replicas that are cut off
    max_voter_changes: Annotated[int, range(10)] = 0
    has_observer: bool = False  # one replica is no voter at first
    fetches_all: bool = False  # a fetch has every record that the follower lacks, not only one

    member: Map[Replica, Member]
    granted: Map[Replica, Set[Replica]]  # votes or pre-votes for a candidate or prospective
    log: Map[Replica, Log]
    fetched: Map[
        Replica, Map[Replica, Offset]
    ]  # the end offset of each follower's log, as a leader knows it
    cut_off: Replica | Nothing
    failures: Changes
    voter_changes: Changes
    # history variables, which only claims read
    committed: Map[Offset, Epoch]
    committed_end: Offset

    def scope(s) -> Scope:
        return {
            Replica: s.replicas,
            Role: len(Role.labels),
            Epoch: range(s.max_epoch + 1),
            Offset: range(s.log_size + 1),
            Changes: range(max(s.max_failures, s.max_voter_changes) + 1),
        }

    def init(s, leader: Replica, observer: Replica) -> None:
        """Initially, the replica `leader` leads in epoch 0, all other replicas follow it, and all
        replicas have the first record.

        If the constant `has_observer` is true, the replica `observer` is not a voter.
        """
        when(observer != leader if s.has_observer else observer == leader)
        for r in Replica:
            s.member[r].role = ite(r == leader, LEADER, FOLLOWER)
            s.member[r].leader = leader
            for x in Replica:
                s.log[r].entry[Offset(0)].voters[x] = (x != observer) | (x == leader)
            s.log[r].end_offset = Offset(1)
            s.log[r].flushed = Offset(1)
            s.log[r].high_watermark = Offset(1)
        s.committed_end = Offset(1)

    def voters(s, r: Replica) -> Set[Replica]:
        """Returns the voter set in the newest record of the log of `r`, even if this record is
        not committed.
        """
        return s.log[r].entry[s.log[r].end_offset - 1].voters

    def is_voter(s, r: Replica, x: Replica) -> Bool:
        return s.voters(r)[x]

    def is_majority(s, r: Replica, voters: Set[Replica]) -> Bool:
        present = count(s.is_voter(r, x) & voters[x] for x in Replica)
        absent = count(s.is_voter(r, x) & ~voters[x] for x in Replica)
        return present > absent

    def leads(s, r: Replica) -> Bool:
        return s.member[r].role == LEADER

    def follows(s, f: Replica, leader: Replica) -> Bool:
        """Returns True if the replica `f` follows `leader`, and `leader` leads in the epoch of
        `f`.
        """
        return all_of(
            s.member[f].role == FOLLOWER,
            s.member[f].leader == leader,
            s.leads(leader),
            s.member[f].epoch == s.member[leader].epoch,
        )

    def reaches(s, a: Replica, b: Replica) -> Bool:
        return all_of(s.cut_off != a, s.cut_off != b)

    def is_up_to_date(s, a: Replica, b: Replica) -> Bool:
        """Returns True if the log of `a` is at least as up to date as the log of `b`.

        The log with the larger epoch in its last record is more up to date. If the last records of
        both logs have the same epoch, the longer log is more up to date.
        """
        ours, theirs = s.last_epoch(a), s.last_epoch(b)
        longer = s.log[b].end_offset <= s.log[a].end_offset
        return (theirs < ours) | ((ours == theirs) & longer)

    def last_epoch(s, r: Replica) -> Epoch:
        return s.log[r].entry[s.log[r].end_offset - 1].epoch

    def append_record(s, r: Replica, voters: Set[Replica]) -> None:
        end, epoch = s.log[r].end_offset, s.member[r].epoch
        s.log[r].entry[end].voters = voters
        s.log[r].entry[end].epoch = epoch
        s.log[r].end_offset = end + 1

    def enters(s, r: Replica, epoch: Epoch) -> None:
        """Moves the replica to a larger epoch, in which it has not voted and knows no leader."""
        s.member[r].epoch = epoch
        s.member[r].voted = nothing
        s.member[r].leader = nothing
        s.begins(r, UNATTACHED, only())

    def begins(s, r: Replica, role: Role, granted: Set[Replica]) -> None:
        """Gives the replica a new role, with the votes `granted`.

        The replica does not know the end offsets of its followers yet (they are 0), and has not
        fetched in this role.
        """
        s.member[r].role = role
        s.member[r].has_fetched = false
        s.granted[r] = granted
        for x in Replica:
            s.fetched[r][x] = Offset(0)
