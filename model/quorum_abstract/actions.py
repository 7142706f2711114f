"""The actions of the abstract quorum: elections, leaders, followers, and restarts.

The table lists all actions (`Next` in TLA+). No action is fair, because only safety is proved.

    elections    become_candidate, learn_epoch, grant_vote, become_leader, resign
    leaders      append, flush, advance_high_watermark
    followers    truncate, fetch, acknowledge
    failures     restart
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    false,
    forall,
    implies,
    least_of,
    majority,
    true,
    when,
)
from model.quorum_abstract.state import AbstractQuorumState, Epoch, Offset, Replica


class AbstractQuorumActions(AbstractQuorumState):
    # ---- elections

    def enters(s, r: Replica, newer: Epoch) -> None:
        when(s.replica[r].epoch < newer)
        s.replica[r].epoch = newer
        s.replica[r].is_leader = false
        for v in Replica:
            s.granted[r][v] = False

    @action
    def become_candidate(s, r: Replica, newer: Epoch) -> None:
        """A replica begins a larger epoch as a candidate, and votes for itself.

        Kafka: QuorumState.transitionToCandidate.
        Simplified: there are no pre-votes, and a replica may become candidate at any time.

        Without the guard that the epoch is larger, the claim `one_leader_per_epoch` breaks in 6
        steps.
        """
        s.enters(r, newer)
        s.voted[newer][r][r] = True
        s.granted[r][r] = True

    @action
    def learn_epoch(s, r: Replica, newer: Epoch) -> None:
        """A replica learns a larger epoch, and enters it.

        Kafka: KafkaRaftClient.transitionToUnattached and transitionToFollower.
        Simplified: a replica may learn any larger epoch, even if no replica is in this epoch.

        Without the guard that the epoch is larger, the claim `one_leader_per_epoch` breaks in 9
        steps.
        """
        s.enters(r, newer)

    @action
    def grant_vote(s, voter: Replica, r: Replica, voter_latest: Offset, latest: Offset) -> None:
        """A voter votes for a candidate of its epoch, and stores its vote on the disk.

        Kafka: KafkaRaftClient.handleVoteRequest.
        Simplified: the candidate receives the vote at once.

        Without the guard that the voter and the candidate are in the same epoch, the claim
        `one_leader_per_epoch` breaks in 6 steps.
        """
        own = s.replica[r].epoch
        when(
            s.replica[voter].epoch == own,
            s.voted[own][r][r],
            s.may_vote_again(voter, r),
            s.has_enough_records(voter, r, voter_latest, latest),
        )
        s.voted[own][voter][r] = True
        s.granted[r][voter] = True

    def may_vote_again(s, voter: Replica, r: Replica) -> Bool:
        """Returns True if the voter has voted for no replica other than `r` in its present epoch.

        Without this rule, the claim `one_leader_per_epoch` breaks (bug `votes-twice`, 6 steps).
        """
        return forall(implies(s.voted[s.replica[voter].epoch][voter][x], x == r) for x in Replica)

    def has_enough_records(
        s, voter: Replica, r: Replica, voter_latest: Offset, latest: Offset
    ) -> Bool:
        """Returns True if the log of the candidate `r` is at least as up to date as the voter's
        log.

        The offset of the voter's last record is `voter_latest`, and the offset of the candidate's
        last record is `latest`. If the voter's log is empty, both parameters are the least offset,
        and the candidate's log is not compared. Without this rule, the claim
        `leaders_have_committed_records` breaks (bug `votes-for-shorter-log`, 13 steps).
        """
        ours, theirs = s.replica[r], s.replica[voter]
        our_epoch, their_epoch = ours.entry[latest], theirs.entry[voter_latest]
        longer = theirs.end_offset <= ours.end_offset
        return any_of(
            (theirs.end_offset == Offset.least())
            & (voter_latest == latest)
            & (latest == Offset.least()),
            all_of(
                theirs.end_offset.is_next_after(voter_latest),
                ours.end_offset.is_next_after(latest),
                (their_epoch < our_epoch) | ((their_epoch == our_epoch) & longer),
            ),
        )

    @action
    def become_leader(s, r: Replica) -> None:
        """A candidate with the votes of a majority becomes leader, with the log that it has.

        Kafka: KafkaRaftClient.onBecomeLeader.
        Simplified: the leader appends its first record in a separate step.

        Without the guard that a majority has voted for the candidate, the claim
        `one_leader_per_epoch` breaks in 2 steps.
        """
        own, log = s.replica[r].epoch, s.replica[r]
        when(~s.elected[own][r], majority(s.granted[r][v] for v in Replica))
        s.elected[own][r] = True
        s.replica[r].is_leader = true
        s.led[own].begun = true
        s.led[own].start_offset = log.end_offset
        s.led[own].end_offset = log.end_offset
        s.led[own].entry = log.entry

    @action
    def resign(s, r: Replica) -> None:
        """A leader stops leading, and stays in its epoch.

        Kafka: LeaderState.timeUntilCheckQuorumExpires.
        Simplified: a leader may resign at any time.

        Every claim also holds without the guard of this action.
        """
        when(s.replica[r].is_leader)
        s.replica[r].is_leader = false

    # ---- leaders

    @action
    def append(s, r: Replica, end: Offset) -> None:
        """A leader appends a record, but does not flush it yet.

        Kafka: KafkaRaftClient.appendBatch.
        Simplified: a record batch has one record.

        Without the guard that the log end grows by exactly one offset, the claim
        `leaders_have_committed_records` breaks in 14 steps.
        """
        at, own = s.replica[r].end_offset, s.replica[r].epoch
        when(s.replica[r].is_leader, end.is_next_after(at))
        s.replica[r].entry[at] = own
        s.replica[r].end_offset = end
        s.led[own].entry[at] = own
        s.led[own].end_offset = end

    @action
    def flush(s, r: Replica) -> None:
        """A leader flushes its log.

        Kafka: KafkaRaftClient.flushLeaderLog.
        Simplified: the whole log is flushed at once.

        At the default constants, every claim also holds without the guard of this action.
        """
        when(s.replica[r].is_leader)
        s.replica[r].flushed = s.replica[r].end_offset
        s.led[s.replica[r].epoch].fetched[r] = s.replica[r].end_offset

    @action
    def advance_high_watermark(s, r: Replica, mark: Offset) -> None:
        """A leader commits its records below `mark`, because a majority of the voters has these
        records.

        Kafka: LeaderState.maybeUpdateHighWatermark.
        Simplified: followers do not learn the high watermark.

        Without the guard that a majority has the records, the claim
        `leaders_have_committed_records` breaks in 10 steps.
        """
        own = s.replica[r].epoch
        led = s.led[own]
        when(
            s.replica[r].is_leader,
            led.high_watermark < mark,
            mark <= led.end_offset,
            s.may_commit(own, mark),
            majority(mark <= s.has_up_to(r, x) for x in Replica),
        )
        s.led[own].high_watermark = mark

    def may_commit(s, own: Epoch, mark: Offset) -> Bool:
        """Returns True if the last record below `mark` is from the epoch `own`. Only then may the
        leader of this epoch raise its high watermark to `mark`.

        Kafka compares `mark` with the offset at which the epoch began. Without this rule, a run of
        22 steps loses a committed record (Raft, figure 8). An exploration would take too long to
        find this run.
        """
        return s.led[own].start_offset < mark

    def has_up_to(s, leader: Replica, x: Replica) -> Offset:
        """Returns the end offset of the records that `x` has flushed and acknowledged to
        `leader`.
        """
        return s.led[s.replica[leader].epoch].fetched[x]

    # ---- followers

    def follows(s, r: Replica) -> Bool:
        """Returns True if the replica is in an epoch that has had a leader, and the replica has
        not led in this epoch.
        """
        own = s.replica[r].epoch
        return s.led[own].begun & ~s.elected[own][r]

    def agrees(s, r: Replica, offset: Offset) -> Bool:
        """Returns True if, at this offset, the replica has the same record as the leader of its
        epoch.
        """
        led = s.led[s.replica[r].epoch]
        return all_of(
            offset < led.end_offset,
            s.replica[r].entry[offset] == led.entry[offset],
        )

    def may_fetch(s, r: Replica, latest: Offset) -> Bool:
        """Returns True if the end of the follower's log agrees with the leader's log.

        Either the follower's log is empty, or the leader's log has the follower's last record. This
        record is at the offset `latest`.
        """
        return any_of(
            s.replica[r].end_offset == Offset.least(),
            s.replica[r].end_offset.is_next_after(latest) & s.agrees(r, latest),
        )

    @action
    def truncate(s, r: Replica, end: Offset) -> None:
        """A follower removes the last records of its log, which are not in the leader's log.

        Kafka: KafkaRaftClient.handleFetchResponse, with a diverging epoch.
        Simplified: the follower may also remove fewer records than the leader lacks.

        Without the guard that the leader has none of the removed records, the claim
        `leaders_have_committed_records` breaks in 14 steps.
        """
        log = s.replica[r]
        when(
            s.follows(r),
            end < log.end_offset,
            forall(implies((end <= o) & (o < log.end_offset), ~s.agrees(r, o)) for o in Offset),
        )
        s.replica[r].flushed = least_of(end, log.flushed)
        s.replica[r].end_offset = end

    @action
    def fetch(s, r: Replica, latest: Offset, end: Offset) -> None:
        """A follower appends the leader's next record, and flushes its log.

        Kafka: KafkaRaftClient.appendAsFollower.
        Simplified: each fetch response has one record. The follower reads the leader's log when the
        response arrives.

        At the default constants, every claim also holds if any single guard is left out.
        """
        at = s.replica[r].end_offset
        led = s.led[s.replica[r].epoch]
        when(s.follows(r), s.may_fetch(r, latest), at < led.end_offset, end.is_next_after(at))
        s.replica[r].entry[at] = led.entry[at]
        s.replica[r].end_offset = end
        s.replica[r].flushed = end

    @action
    def acknowledge(s, r: Replica, latest: Offset) -> None:
        """A follower fetches from the end of its log, and the leader learns this end offset from
        the request.

        Kafka: LeaderState.updateReplicaState.
        Simplified: the leader learns the offset at once.

        Without the guard that the replica follows a leader, the claim
        `leaders_have_committed_records` breaks in 14 steps.
        """
        when(s.follows(r), s.may_fetch(r, latest))
        s.led[s.replica[r].epoch].fetched[r] = s.replica[r].end_offset

    # ---- failures

    @action
    def restart(s, r: Replica, end: Offset) -> None:
        """A replica restarts. It loses its records from the offset `end` on, which it has not
        flushed.

        The replica still has its epoch and its vote, but it does not lead.

        Kafka: QuorumState.initialize.
        Simplified: the stop and the restart are one step.

        Without the guard that flushed records are not lost, the claim
        `leaders_have_committed_records` breaks in 14 steps.
        """
        log = s.replica[r]
        when(log.flushed <= end, end <= log.end_offset)
        for v in Replica:
            s.granted[r][v] = s.votes_after_restart(r, v)
        s.replica[r].end_offset = end
        s.replica[r].flushed = end
        s.replica[r].is_leader = false

    def votes_after_restart(s, r: Replica, v: Replica) -> Bool:
        """Returns True if the replica `r` still counts the vote of `v` after its restart.

        The replica counts only its own vote, because it does not store the votes that other
        replicas gave it. Without this rule, the claim `leaders_have_committed_records` breaks (bug
        `keeps-votes`, 16 steps).
        """
        return s.granted[r][v] & (v == r)
