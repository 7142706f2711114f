"""Elections of the quorum: pre-votes, votes, resignations, and what replicas learn of each other.

A replica without a leader requests *pre-votes*: which voters would vote for it? With the pre-votes
of a majority, the replica becomes candidate in a new epoch. A candidate with the votes of a
majority leads.

Source: KIP-595, KIP-996; KafkaRaftClient, QuorumState and FollowerState of Kafka 4.3.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    ite,
    nothing,
    when,
)
from model.quorum.state import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    PROSPECTIVE,
    RESIGNED,
    UNATTACHED,
    QuorumState,
    Replica,
    only,
)


class Elections(QuorumState):
    # ---- elections

    @action
    def time_out(s, r: Replica) -> None:
        """A voter asks for pre-votes, because it has no leader that answers in time.

        Kafka: KafkaRaftClient.transitionToProspective. Simplified: a timeout may happen at any
        time. Every claim also holds if a replica in any role may ask for pre-votes.
        """
        role = s.member[r].role
        when(
            any_of(role == UNATTACHED, role == FOLLOWER, role == CANDIDATE),
            s.is_voter(r, r),
        )
        s.begins(r, PROSPECTIVE, only(r))

    @action
    def grant_pre_vote(s, voter: Replica, r: Replica) -> None:
        """A voter grants its pre-vote to the replica, because the voter follows no leader that
        answers.

        Kafka: KafkaRaftClient.handleVoteRequest, FollowerState.canGrantVote. Simplified: a voter of
        a smaller epoch first learns the epoch (`learn_epoch`). Without the guard that the replica
        is prospective, a candidate collects votes that no voter has stored, and the claim
        `one_leader_per_epoch` breaks in 10 steps.
        """
        when(
            s.reaches(r, voter),
            s.member[r].role == PROSPECTIVE,
            s.member[voter].epoch == s.member[r].epoch,
            ~s.granted[r][voter],
            s.grants_pre_votes(voter),
            s.is_up_to_date(r, voter),
        )
        s.granted[r] = s.granted[r] | {voter}

    def grants_pre_votes(s, voter: Replica) -> Bool:
        """True if the voter is neither a leader nor a follower that has fetched from its leader."""
        m = s.member[voter]
        return (m.role != LEADER) & ~((m.role == FOLLOWER) & m.has_fetched)

    @action
    def become_candidate(s, r: Replica) -> None:
        """A replica with the pre-votes of a majority begins an epoch and votes for itself.

        Kafka: QuorumState.transitionToCandidate. Simplified: no epoch follows `max_epoch`. The
        version `without-pre-vote` lacks the guard that a majority has granted its pre-vote.
        """
        m = s.member[r]
        when(
            m.role == PROSPECTIVE,
            s.has_enough_pre_votes(r),
            m.epoch < s.max_epoch,
        )
        s.member[r].epoch = m.epoch + 1
        s.member[r].voted = r
        s.member[r].leader = nothing
        s.begins(r, CANDIDATE, only(r))

    def has_enough_pre_votes(s, r: Replica) -> Bool:
        return s.is_majority(r, s.granted[r])

    @action
    def grant_vote(s, voter: Replica, r: Replica) -> None:
        """A voter votes for the candidate; it stores its vote on the disk first.

        Kafka: KafkaRaftClient.handleVoteRequest, UnattachedState.canGrantVote. Simplified: the
        candidate may count the vote later. Without the guard that the voter knows no leader and has
        not voted, the claim `one_leader_per_epoch` breaks in 10 steps.
        """
        when(
            s.reaches(r, voter),
            s.member[r].role == CANDIDATE,
            s.member[voter].epoch == s.member[r].epoch,
            ~s.granted[r][voter],
            s.grants_votes(voter, r),
            s.has_enough_records(r, voter),
        )
        s.granted[r] = s.granted[r] | {voter}
        s.member[voter].voted = r

    def grants_votes(s, voter: Replica, r: Replica) -> Bool:
        """True if the voter knows no leader in its epoch, and has voted for no other replica.

        Without the rule of one vote, the claim `one_leader_per_epoch` breaks (bug `votes-twice`, 11
        steps).
        """
        m = s.member[voter]
        return all_of(
            (m.role == UNATTACHED) | (m.role == PROSPECTIVE),
            m.leader == nothing,
            (m.voted == nothing) | (m.voted == r),
        )

    def has_enough_records(s, r: Replica, voter: Replica) -> Bool:
        """True if the log of the candidate is at least as up to date as the voter's log.

        Without this rule, the claim `leaders_have_committed_records` breaks (bug
        `votes-for-shorter-log`, 11 steps).
        """
        return s.is_up_to_date(r, voter)

    @action
    def become_leader(s, r: Replica) -> None:
        """The candidate with the votes of a majority leads, and appends the first record.

        Kafka: KafkaRaftClient.onBecomeLeader, which appends a LeaderChangeMessage. Simplified: the
        record has no content. Without the guard that a majority has voted, the claim
        `one_leader_per_epoch` breaks in 8 steps.
        """
        when(
            s.member[r].role == CANDIDATE,
            s.is_majority(r, s.granted[r]),
            s.log[r].end_offset < s.log_size,
        )
        s.append_record(r, s.voters(r))
        s.member[r].leader = r
        s.begins(r, LEADER, only())

    def may_resign(s, r: Replica) -> Bool:
        """True for every leader: its followers may stop fetching at any time."""
        return s.leads(r)

    @action(fair="weak")
    def resign(s, r: Replica) -> None:
        """A leader resigns, because no majority of the voters has fetched in time.

        Kafka: LeaderState.timeUntilCheckQuorumExpires. Simplified: the fetches may be late at any
        time. Without this action, a leader leads for ever (bug `never-resigns`).
        """
        when(s.may_resign(r))
        s.begins(r, RESIGNED, only())

    @action
    def leave_epoch(s, r: Replica) -> None:
        """A resigned leader enters the next epoch, after an election timeout.

        Kafka: KafkaRaftClient.pollResigned. Simplified: no epoch follows `max_epoch`. Every claim
        also holds without the guard on the role.
        """
        m = s.member[r]
        when(m.role == RESIGNED, m.epoch < s.max_epoch)
        s.enters(r, m.epoch + 1)

    # ---- what replicas learn of each other

    @action
    def follow(s, r: Replica, leader: Replica) -> None:
        """A replica learns the leader of its own epoch or of a larger one, and follows this leader.

        Kafka: KafkaRaftClient.transitionToFollower. Simplified: the leader still leads. Without the
        guard that the leader's epoch is not smaller, the claim `one_leader_per_epoch` breaks in 14
        steps.
        """
        m, e = s.member[r], s.member[leader].epoch
        when(
            s.reaches(leader, r),
            s.leads(leader),
            (m.epoch < e) | ((m.epoch == e) & ~s.follows(r, leader)),
            ~s.leads(r) | (m.epoch < e),
        )
        voted = ite(m.epoch == e, m.voted, nothing)
        s.member[r].epoch = e
        s.member[r].voted = voted
        s.member[r].leader = leader
        s.begins(r, FOLLOWER, only())

    @action
    def learn_epoch(s, r: Replica, other: Replica) -> None:
        """A replica learns a larger epoch from another replica, but not which replica leads in it.

        Kafka: KafkaRaftClient.transitionToUnattached. Simplified: each request and each answer
        shows the epoch of its sender. Without the guard that the epoch is larger, the claim
        `epochs_grow` breaks in 3 steps.
        """
        when(s.reaches(other, r), s.member[r].epoch < s.member[other].epoch)
        s.enters(r, s.member[other].epoch)
