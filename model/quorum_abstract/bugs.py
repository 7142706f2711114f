"""Bugs of the abstract quorum: each class replaces one rule, and a claim breaks."""

from __future__ import annotations

from model.language import Bool, true
from model.quorum_abstract.state import Epoch, Offset, Replica
from model.quorum_abstract.versions import QuorumProof
from model.releases import UNRELEASED
from model.variants import bug


@bug("votes-twice", breaks="one_leader_per_epoch", steps=5, in_force=UNRELEASED)
class VotesTwice(QuorumProof):
    """A voter forgets its vote, and votes for every candidate of its epoch."""

    def may_vote_again(s, voter: Replica, r: Replica) -> Bool:
        return true


@bug("votes-for-shorter-log", breaks="leaders_have_committed_records", steps=5, in_force=UNRELEASED)
class VotesForShorterLog(QuorumProof):
    """A voter votes for a candidate whose log is shorter than the voter's log."""

    def has_enough_records(
        s, voter: Replica, r: Replica, voter_latest: Offset, latest: Offset
    ) -> Bool:
        return (voter_latest == Offset.least()) & (latest == Offset.least())


@bug(
    "commits-former-epochs",
    breaks="leaders_have_committed_records",
    steps=5,
    at={"epochs": 5},
    in_force=UNRELEASED,
)
class CommitsFormerEpochs(QuorumProof):
    """A leader commits records of former epochs without a record of its own."""

    def may_commit(s, own: Epoch, mark: Offset) -> Bool:
        return true


@bug("keeps-votes", breaks="leaders_have_committed_records", steps=5, in_force=UNRELEASED)
class KeepsVotes(QuorumProof):
    """A candidate that restarts keeps the votes that it got for the records that it has lost."""

    def votes_after_restart(s, r: Replica, v: Replica) -> Bool:
        return s.granted[r][v]


@bug("leads-after-restart", breaks="logs_match", steps=5, in_force=UNRELEASED, issue="KAFKA-17333")
class LeadsAfterRestart(QuorumProof):
    """A leader that restarts leads again in its epoch, without the records that it had not flushed."""

    def leads_after_restart(s, r: Replica) -> Bool:
        return s.replica[r].is_leader
