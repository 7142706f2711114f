"""Bugs of the spec `quorum`: each class changes the spec so that a claim breaks."""

from __future__ import annotations

from model.language import Bool, all_of, false, ite, nothing, true
from model.quorum.state import LEADER, PROSPECTIVE, UNATTACHED, Offset, Replica, Role
from model.quorum.versions import Quorum
from model.releases import UNRELEASED, kafka
from model.variants import bug


@bug(
    "leads-after-restart",
    breaks="leaders_append_only",
    steps=2,
    at={"max_failures": 1},
    issue="KAFKA-17333",
    in_force=UNRELEASED,
)
class LeadsAfterRestart(Quorum):
    """A leader that restarts leads again in its epoch (KAFKA-17333).

    The leader has lost records that it had not flushed. It writes new records at the same offsets
    in the same epoch. A follower may have fetched the lost records. So two different records may
    have the same offset and the same epoch.
    """

    def role_after_restart(s, r: Replica) -> Role:
        return ite(s.member[r].leader == r, LEADER, super().role_after_restart(r))


@bug(
    "votes-for-shorter-log",
    breaks="leaders_have_committed_records",
    steps=11,
    in_force=UNRELEASED,
)
class VotesForShorterLog(Quorum):
    """A voter votes for a candidate whose log is shorter than the voter's log.

    A candidate that lacks a committed record becomes leader, and the other replicas remove this
    record.
    """

    def has_enough_records(s, r: Replica, voter: Replica) -> Bool:
        return true


@bug("votes-twice", breaks="one_leader_per_epoch", steps=11, in_force=UNRELEASED)
class VotesTwice(Quorum):
    """A voter forgets its vote, and votes for every candidate of its epoch.

    Two candidates of the same epoch then have the votes of a majority.
    """

    def grants_votes(s, voter: Replica, r: Replica) -> Bool:
        m = s.member[voter]
        return all_of((m.role == UNATTACHED) | (m.role == PROSPECTIVE), m.leader == nothing)


@bug(
    "never-resigns",
    breaks="a_leader_without_followers_resigns",
    steps=1,
    at={"replicas": 2, "max_failures": 1},
    issue="KAFKA-15489",
    in_force=kafka("3.3", "3.6"),
)
class NeverResigns(Quorum):
    """A leader leads for ever, although no other replica reaches it (KAFKA-15489).

    The other replicas elect a new leader. Brokers that still reach the old leader receive no later
    metadata.
    """

    def may_resign(s, r: Replica) -> Bool:
        return false


@bug(
    "observer-does-not-flush",
    breaks="leaders_have_committed_records",
    steps=14,
    at={
        "log_size": 3,
        "max_failures": 1,
        "max_voter_changes": 1,
        "has_observer": True,
        "fetches_all": True,
    },
    issue="KAFKA-17332",
    in_force=UNRELEASED,
)
class ObserverDoesNotFlush(Quorum):
    """A replica flushes the records of a fetch only if it was a voter before the fetch
    (KAFKA-17332).

    An observer fetches two records in one response. The first record makes the observer a voter,
    and the observer flushes neither record. Together with the observer, a majority has the second
    record, so the leader commits this record. The new voter restarts and loses both records. With
    the vote of this voter, a replica that lacks the second record becomes leader.
    """

    def flushed_after_fetch(s, f: Replica, end: Offset) -> Offset:
        return ite(s.is_voter(f, f), end, s.log[f].flushed)
