"""The actions of a KRaft quorum: elections with pre-vote, replication by fetches, and restarts.

A replica that hears of no leader asks all voters for a *pre-vote*: would they vote for it? If a
majority would, it becomes candidate in a new epoch, and asks for their votes. The candidate with
the votes of a majority leads. The leader appends records; the other replicas fetch them. A fetch
from an offset shows the leader that the follower has flushed all records below. The leader commits
a record of its own epoch, with all records before it, when a majority of the voters has it.

The table lists all actions (`Next` in TLA+). `resign` is weakly fair: a leader whose followers do
not fetch any more resigns.

    elections    time_out, grant_pre_vote, become_candidate, grant_vote, become_leader, resign,
                 leave_epoch
    metadata     follow, learn_epoch
    the log      append, flush, fetch, truncate, fetch_at_end, advance_high_watermark
    voters       change_voters
    failures     restart, cut_off_replica
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Set,
    action,
    all_of,
    any_of,
    first,
    ite,
    least_of,
    nothing,
    true,
    when,
)
from model.quorum.state import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    PROSPECTIVE,
    RESIGNED,
    UNATTACHED,
    Offset,
    QuorumState,
    Replica,
    Role,
    only,
    same_record,
)


class QuorumActions(QuorumState):
    """The actions of the quorum as in Kafka 4.3, except that a leader flushes before it commits."""

    # ---- elections

    @action
    def time_out(s, r: Replica) -> None:
        """A voter asks for pre-votes, because it has no leader that answers in time.

        Kafka: KafkaRaftClient.transitionToProspective, after the fetch timeout or the election
        timeout. Simplified: a timeout may happen at any time. Every claim also holds if a replica
        in any role may ask.
        """
        role = s.member[r].role
        when(
            any_of(role == UNATTACHED, role == FOLLOWER, role == CANDIDATE),
            s.is_voter(r, r),
        )
        s.begins(r, PROSPECTIVE, only(r))

    @action
    def grant_pre_vote(s, voter: Replica, r: Replica) -> None:
        """A voter would vote for the replica: it follows no leader that answers.

        Kafka: KafkaRaftClient.handleVoteRequest, FollowerState.canGrantVote. Simplified: a voter of
        a smaller epoch takes the step `learn_epoch` first. Without the guard that the replica is
        prospective, a candidate collects votes that no voter has stored, and the claim
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
        """True if the voter does not lead, and has fetched nothing from a leader it follows."""
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
        """True if a majority of the voters has granted its pre-vote to the replica."""
        return s.is_majority(r, s.granted[r])

    @action
    def grant_vote(s, voter: Replica, r: Replica) -> None:
        """A voter votes for the candidate; it stores its vote on the disk first.

        Kafka: KafkaRaftClient.handleVoteRequest, UnattachedState.canGrantVote. Simplified: the
        candidate counts the vote at any later time. Without the guard that the voter knows no
        leader and has not voted, the claim `one_leader_per_epoch` breaks in 10 steps.
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
        """True if the voter knows no leader in its epoch, and has not voted for another replica."""
        m = s.member[voter]
        return all_of(
            (m.role == UNATTACHED) | (m.role == PROSPECTIVE),
            m.leader == nothing,
            (m.voted == nothing) | (m.voted == r),
        )

    def has_enough_records(s, r: Replica, voter: Replica) -> Bool:
        """True if the log of the candidate is at least as up to date as the voter's log."""
        return s.is_up_to_date(r, voter)

    @action
    def become_leader(s, r: Replica) -> None:
        """The candidate with the votes of a majority leads, and appends the first record.

        Kafka: KafkaRaftClient.onBecomeLeader, which appends a LeaderChangeMessage. Simplified: the
        record has no content. Without the guard that a majority has voted for the candidate, the
        claim `one_leader_per_epoch` breaks in 8 steps.
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
        """True if the leader may resign: always, because its followers may stop to fetch."""
        return s.leads(r)

    @action(fair="weak")
    def resign(s, r: Replica) -> None:
        """A leader resigns, because no majority of the voters has fetched in time.

        Kafka: LeaderState.timeUntilCheckQuorumExpires. Simplified: the fetches may be late at any
        time. The bug `never-resigns` has no such step.
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
        """A replica learns who leads in its own epoch or in a larger one, and follows.

        Kafka: KafkaRaftClient.transitionToFollower, after BeginQuorumEpoch or an answer.
        Simplified: the leader still leads. Without the guard that the epoch is not smaller than the
        replica's own, the claim `one_leader_per_epoch` breaks in 14 steps.
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
        """A replica learns a larger epoch from another one, but not who leads in it.

        Kafka: KafkaRaftClient.transitionToUnattached. Simplified: each request and each answer
        shows the epoch of its sender. Without the guard that the epoch is larger, the claim
        `epochs_grow` breaks in 3 steps.
        """
        when(s.reaches(other, r), s.member[r].epoch < s.member[other].epoch)
        s.enters(r, s.member[other].epoch)

    # ---- the log

    @action
    def append(s, r: Replica) -> None:
        """A leader appends a record, which is not flushed yet.

        Kafka: KafkaRaftClient.appendBatch. Simplified: a batch is one record. Without the guard
        that the replica leads, the claim `leaders_have_committed_records` breaks in 12 steps.
        """
        when(s.leads(r), s.log[r].end_offset < s.log_size)
        s.append_record(r, s.voters(r))

    @action
    def flush(s, r: Replica) -> None:
        """A leader flushes its log.

        Kafka: KafkaRaftClient.flushLeaderLog. Simplified: the whole log is flushed at once. Every
        claim also holds if other replicas flush their logs in this way.
        """
        when(s.leads(r), s.log[r].flushed < s.log[r].end_offset)
        s.log[r].flushed = s.log[r].end_offset

    def agreed_end(s, f: Replica, leader: Replica) -> Offset:
        """Returns the first offset at which the follower's record is not the leader's.

        If there is none, this is the end of the follower's log.
        """
        ours, theirs = s.log[f], s.log[leader]
        end = first(Offset, lambda x: ~same_record(ours, theirs, x), default=ours.end_offset)
        return least_of(end, ours.end_offset)

    @action
    def truncate(s, f: Replica, leader: Replica) -> None:
        """A follower removes the records that the leader does not have.

        Kafka: KafkaRaftClient.handleFetchResponse, with a diverging epoch. Simplified: the follower
        finds the first record that differs in one step. Without the guard that the replica follows
        this leader, the claim `leaders_append_only` breaks in 2 steps.
        """
        end = s.agreed_end(f, leader)
        when(s.reaches(f, leader), s.follows(f, leader), end < s.log[f].end_offset)
        s.log[f].cut(end)

    @action
    def fetch(s, f: Replica, leader: Replica) -> None:
        """A follower appends the leader's next record, and flushes it.

        Kafka: KafkaRaftClient.appendAsFollower. Simplified: one record in each answer. Every claim
        also holds without one of its guards, in the default scope.
        """
        ours, theirs = s.log[f], s.log[leader]
        end = ours.end_offset
        when(
            s.reaches(f, leader),
            s.follows(f, leader),
            end < theirs.end_offset,
            s.agreed_end(f, leader) == end,
        )
        flushed = s.flushed_after_fetch(f, end + 1)
        s.log[f].entry[end].voters = theirs.entry[end].voters
        s.log[f].entry[end].epoch = theirs.entry[end].epoch
        s.log[f].flushed = flushed
        s.log[f].end_offset = end + 1
        s.member[f].has_fetched = true

    def flushed_after_fetch(s, f: Replica, end: Offset) -> Offset:
        """Returns the end of the log: every replica flushes what it fetches, voter or observer."""
        return end

    @action
    def fetch_at_end(s, f: Replica, leader: Replica) -> None:
        """A follower fetches from the end of its log; so the leader learns what the follower has.

        Kafka: LeaderState.updateReplicaState. Simplified: it learns nothing from other fetches. The
        leader handles a fetch after it has flushed; the version `kafka-4.3` needs this guard.
        """
        end = s.log[f].end_offset
        when(
            s.reaches(f, leader),
            s.follows(f, leader),
            s.log[leader].flushed == s.log[leader].end_offset,
            s.agreed_end(f, leader) == end,
            (s.fetched[leader][f] != end) | ~s.member[f].has_fetched,
        )
        s.fetched[leader][f] = end
        s.member[f].has_fetched = true

    @action
    def advance_high_watermark(s, r: Replica, mark: Offset) -> None:
        """A leader commits the records below `mark`, which a majority of the voters has.

        Kafka: LeaderState.maybeUpdateHighWatermark. Simplified: followers do not learn the high
        watermark. Without the guard that a majority has the records, the claim
        `leaders_have_committed_records` breaks in 8 steps.
        """
        log = s.log[r]
        when(
            s.leads(r),
            log.high_watermark < mark,
            mark <= log.end_offset,
            s.may_commit(r, mark),
            s.have_up_to(r, mark),
        )
        s.log[r].high_watermark = mark
        for x in Offset:
            is_new = (s.committed_end <= x) & (x < mark)
            s.committed[x] = ite(is_new, log.entry[x].epoch, s.committed[x])
        s.committed_end = ite(s.committed_end < mark, mark, s.committed_end)

    def may_commit(s, r: Replica, mark: Offset) -> Bool:
        """True if the last record below `mark` has the epoch of the leader."""
        return s.log[r].entry[mark - 1].epoch == s.member[r].epoch

    def have_up_to(s, r: Replica, mark: Offset) -> Bool:
        """True if a majority of the voters has flushed the records below `mark`."""
        have: Set[Replica] = Map(
            Replica, lambda x: mark <= ite(x == r, s.own_end(r), s.fetched[r][x])
        )
        return s.is_majority(r, have)

    def own_end(s, r: Replica) -> Offset:
        """Returns the end of the leader's records that count for a commit: what it has flushed."""
        return s.log[r].flushed

    # ---- voters

    @action
    def change_voters(s, r: Replica, x: Replica) -> None:
        """A leader removes a voter, or adds a replica that has its whole log.

        Kafka: RemoveVoterHandler, AddVoterHandler. The new set is in force at once. Simplified: a
        change that is lost counts too. Without the guards on what is committed, committed records
        are lost; a test plays these runs, which are too long for the default scope.
        """
        log = s.log[r]
        when(
            s.leads(r),
            s.voter_changes < s.max_voter_changes,
            log.end_offset < s.log_size,
            s.may_change_voters(r),
            s.is_voter(r, x) | (s.fetched[r][x] == log.end_offset),
        )
        s.voter_changes = s.voter_changes + 1
        s.append_record(r, Map(Replica, lambda v: (v == x) != s.is_voter(r, v)))

    def may_change_voters(s, r: Replica) -> Bool:
        """True if the leader has committed a record of its epoch, and the last voter change."""
        return s.has_committed_in_epoch(r) & s.has_committed_voters(r)

    def has_committed_in_epoch(s, r: Replica) -> Bool:
        log = s.log[r]
        return log.entry[log.high_watermark - 1].epoch == s.member[r].epoch

    def has_committed_voters(s, r: Replica) -> Bool:
        log = s.log[r]
        return log.entry[log.high_watermark - 1].voters == s.voters(r)

    # ---- failures

    @action
    def restart(s, r: Replica, end: Offset) -> None:
        """A replica restarts; it loses what it has not flushed, in whole or in part.

        It keeps its epoch, its vote and its leader. A former leader does not lead again. Kafka:
        QuorumState.initialize. Simplified: stop and restart are one step. Without the guard that
        flushed records stay, the claim `high_watermarks_are_committed` breaks in 1 step.
        """
        log, voted_for_itself = s.log[r], s.member[r].voted == r
        when(s.failures < s.max_failures, log.flushed <= end, end <= log.end_offset)
        s.failures = s.failures + 1
        s.begins(r, s.role_after_restart(r), Map(Replica, lambda x: (x == r) & voted_for_itself))
        s.log[r].cut(end)
        s.log[r].flushed = end
        s.log[r].high_watermark = Offset(1)

    def role_after_restart(s, r: Replica) -> Role:
        """Returns the role that follows from the stored vote and leader."""
        m = s.member[r]
        return ite(
            m.leader == r,
            RESIGNED,
            ite(m.voted == r, CANDIDATE, ite(m.leader != nothing, FOLLOWER, UNATTACHED)),
        )

    @action
    def cut_off_replica(s, r: Replica) -> None:
        """A replica is cut off from all others, for ever; votes for it that are in flight are lost.

        Simplified: at most one replica is cut off.
        """
        when(s.failures < s.max_failures, s.cut_off == nothing)
        s.failures = s.failures + 1
        own = s.granted[r][r]
        s.granted[r] = Map(Replica, lambda x: (x == r) & own)
        s.cut_off = r
