"""Bugs of the spec `quorum-abstract`: each class changes the spec so that a claim breaks.

One bug has no class: a leader commits records of former epochs without a record of its own epoch.
An exploration would take too long to find a violation. Instead, one test replays a run of 22 steps
that breaks a claim. Another test shows that the induction proof fails.
"""

from __future__ import annotations

from model.language import Bool, true
from model.quorum_abstract.state import Offset, Replica
from model.quorum_abstract.versions import QuorumProof
from model.releases import UNRELEASED
from model.variants import bug


@bug(
    "votes-twice",
    breaks="one_leader_per_epoch",
    steps=6,
    at={"epochs": 2},
    in_force=UNRELEASED,
)
class VotesTwice(QuorumProof):
    """A voter forgets its vote, and votes for every candidate of its epoch.

    Two candidates of the same epoch then have the votes of a majority. The action `grant_vote`
    breaks the lemma `a_replica_votes_once`.
    """

    def may_vote_again(s, voter: Replica, r: Replica) -> Bool:
        return true


@bug(
    "votes-for-shorter-log",
    breaks="leaders_have_committed_records",
    steps=13,
    in_force=UNRELEASED,
)
class VotesForShorterLog(QuorumProof):
    """A voter votes for a candidate whose log is shorter than the voter's log.

    The candidate may lack a record that the voter has acknowledged and that is committed. The
    action `grant_vote` breaks the lemma `a_candidate_has_what_its_voters_acknowledged`.
    """

    def has_enough_records(
        s, voter: Replica, r: Replica, voter_latest: Offset, latest: Offset
    ) -> Bool:
        return (voter_latest == Offset.least()) & (latest == Offset.least())


@bug(
    "keeps-votes",
    breaks="leaders_have_committed_records",
    steps=16,
    in_force=UNRELEASED,
)
class KeepsVotes(QuorumProof):
    """A candidate that restarts still counts the votes for it, although it has lost records.

    The voters compared their logs with records that the candidate had not flushed. The action
    `restart` breaks the lemma `a_candidate_has_what_its_voters_acknowledged`.
    """

    def votes_after_restart(s, r: Replica, v: Replica) -> Bool:
        return s.granted[r][v]
