"""Elections of the quorum: pre-votes, votes, resignations, and how a replica learns of leaders and
epochs.

A replica that has no leader first requests *pre-votes*: it asks the voters whether they would vote
for it. With the pre-votes of a majority, the replica becomes candidate in a new epoch, and requests
votes. A candidate with the votes of a majority becomes leader.

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
        """A voter requests pre-votes, because no leader has responded to it in time.

        Kafka: KafkaRaftClient.transitionToProspective.
        Simplified: a timeout may happen at any time.

        Every claim also holds if a replica in any role may request pre-votes.
        """
        role = s.member[r].role
        when(
            any_of(role == UNATTACHED, role == FOLLOWER, role == CANDIDATE),
            s.is_voter(r, r),
        )
        s.begins(r, PROSPECTIVE, only(r))

    @action
    def grant_pre_vote(s, voter: Replica, r: Replica) -> None:
        """A voter grants its pre-vote to the replica `r`, because the voter follows no leader that
        responds.

        Kafka: KafkaRaftClient.handleVoteRequest, FollowerState.canGrantVote.
        Simplified: a voter of a smaller epoch first learns the epoch of `r` (action `learn_epoch`).

        The voter does not store its pre-vote, so it may grant pre-votes to several replicas in one
        epoch. Without the guard that `r` is prospective, a candidate may count pre-votes as votes,
        and the claim `one_leader_per_epoch` breaks in 10 steps.
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
        """Returns True if the voter is neither a leader nor a follower that has fetched from its
        leader.
        """
        m = s.member[voter]
        return (m.role != LEADER) & ~((m.role == FOLLOWER) & m.has_fetched)

    @action
    def become_candidate(s, r: Replica) -> None:
        """A replica with the pre-votes of a majority becomes candidate: it begins the next epoch
        and votes for itself.

        Kafka: QuorumState.transitionToCandidate.
        Simplified: the constant `max_epoch` is the largest epoch.

        In the version `without-pre-vote`, this action lacks the guard that a majority has granted
        pre-votes.
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
        """A voter votes for the candidate `r`. The voter first stores its vote on the disk.

        Kafka: KafkaRaftClient.handleVoteRequest, UnattachedState.canGrantVote.
        Simplified: a vote may be in flight until the candidate counts it (action `become_leader`).

        Without the guard that the voter knows no leader and has not voted, the claim
        `one_leader_per_epoch` breaks in 10 steps.
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
        """Returns True if the voter may vote for the candidate `r`.

        The voter must be unattached or prospective. It must know no leader of its epoch. If it has
        already voted in this epoch, the vote must have been for `r`. Without the rule that a voter
        votes once in each epoch, the claim `one_leader_per_epoch` breaks (bug `votes-twice`, 11
        steps).
        """
        m = s.member[voter]
        return all_of(
            (m.role == UNATTACHED) | (m.role == PROSPECTIVE),
            m.leader == nothing,
            (m.voted == nothing) | (m.voted == r),
        )

    def has_enough_records(s, r: Replica, voter: Replica) -> Bool:
        """Returns True if the log of the candidate `r` is at least as up to date as the voter's
        log.

        Without this rule, the claim `leaders_have_committed_records` breaks (bug
        `votes-for-shorter-log`, 11 steps).
        """
        return s.is_up_to_date(r, voter)

    @action
    def become_leader(s, r: Replica) -> None:
        """A candidate with the votes of a majority becomes leader, and appends the first record of
        its epoch.

        Kafka: KafkaRaftClient.onBecomeLeader, which appends a LeaderChangeMessage.
        Simplified: this first record has no content.

        Without the guard that a majority has voted for the candidate, the claim
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
        """Returns True if the replica leads. A leader may resign at any time, because its
        followers may stop fetching at any time.
        """
        return s.leads(r)

    @action(fair="weak")
    def resign(s, r: Replica) -> None:
        """A leader resigns, because no majority of the voters has fetched in time.

        Kafka: LeaderState.timeUntilCheckQuorumExpires.
        Simplified: the fetches may be late at any time.

        Without this action, a leader leads for ever (bug `never-resigns`).
        """
        when(s.may_resign(r))
        s.begins(r, RESIGNED, only())

    @action
    def leave_epoch(s, r: Replica) -> None:
        """A leader that has resigned enters the next epoch, after an election timeout.

        Kafka: KafkaRaftClient.pollResigned.
        Simplified: the constant `max_epoch` is the largest epoch.

        Every claim also holds without the guard that the replica's role is RESIGNED.
        """
        m = s.member[r]
        when(m.role == RESIGNED, m.epoch < s.max_epoch)
        s.enters(r, m.epoch + 1)

    # ---- what replicas learn of each other

    @action
    def follow(s, r: Replica, leader: Replica) -> None:
        """A replica learns which replica leads in its own epoch or in a larger epoch, and follows
        this leader.

        Kafka: KafkaRaftClient.transitionToFollower.
        Simplified: the leader still leads when the replica learns of it.

        Without the guard that the leader's epoch is not smaller, the claim `one_leader_per_epoch`
        breaks in 14 steps.
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
        """A replica learns a larger epoch from another replica, but does not learn which replica
        leads in this epoch.

        Kafka: KafkaRaftClient.transitionToUnattached.
        Simplified: each request and each response carries the epoch of its sender.

        Without the guard that the epoch is larger, the claim `epochs_grow` breaks in 3 steps.
        """
        when(s.reaches(other, r), s.member[r].epoch < s.member[other].epoch)
        s.enters(r, s.member[other].epoch)
