"""Replication of the quorum's log: appends, fetches, commits, changes of voters, and failures.

Each fetch request of a follower contains the end offset of the follower's log. From this offset,
the leader learns which records the follower has flushed. When a majority of the voters has a record
of the leader's own epoch, the leader commits this record and all records before it.

Source: KIP-595, KIP-853; KafkaRaftClient, LeaderState, AddVoterHandler and RemoveVoterHandler of
Kafka 4.3.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Set,
    action,
    first,
    greatest_of,
    ite,
    least_of,
    nothing,
    true,
    when,
)
from model.quorum.actions.elections import Elections
from model.quorum.state import (
    CANDIDATE,
    FOLLOWER,
    RESIGNED,
    UNATTACHED,
    Offset,
    Replica,
    Role,
    same_record,
)


class QuorumActions(Elections):
    # ---- the log

    @action
    def append(s, r: Replica) -> None:
        """A leader appends a record, but does not flush it yet.

        Kafka: KafkaRaftClient.appendBatch.
        Simplified: a record batch has one record.

        Without the guard that the replica leads, the claim `leaders_have_committed_records` breaks
        in 12 steps, if replicas may fail.
        """
        when(s.leads(r), s.log[r].end_offset < s.log_size)
        s.append_record(r, s.voters(r))

    @action
    def flush(s, r: Replica) -> None:
        """A leader flushes its log.

        Kafka: KafkaRaftClient.flushLeaderLog.
        Simplified: the whole log is flushed at once.

        Every claim also holds if replicas that do not lead flush their logs in this way.
        """
        when(s.leads(r), s.log[r].flushed < s.log[r].end_offset)
        s.log[r].flushed = s.log[r].end_offset

    def agreed_end(s, f: Replica, leader: Replica) -> Offset:
        """Returns the first offset at which the logs of `f` and of `leader` do not have the same
        record. The result is at most the end offset of the log of `f`.
        """
        ours, theirs = s.log[f], s.log[leader]
        end = first(Offset, lambda x: ~same_record(ours, theirs, x), default=ours.end_offset)
        return least_of(end, ours.end_offset)

    @action
    def truncate(s, f: Replica, leader: Replica) -> None:
        """A follower truncates its log before the first record at which it differs from the
        leader's log.

        Kafka: KafkaRaftClient.handleFetchResponse, with a diverging epoch.
        Simplified: one step finds the first record at which the logs differ.

        Without the guard that the replica follows this leader, the claim `leaders_append_only`
        breaks in 2 steps.
        """
        end = s.agreed_end(f, leader)
        when(s.reaches(f, leader), s.follows(f, leader), end < s.log[f].end_offset)
        s.log[f].cut(end)

    @action
    def fetch(s, f: Replica, leader: Replica) -> None:
        """A follower appends the leader's next record, and flushes its log. If the constant
        `fetches_all` is true, the follower appends all records that it lacks.

        Kafka: KafkaRaftClient.appendAsFollower.
        Simplified: each fetch response has one record, or all records that the follower lacks.

        At the default constants, only the guard that the leader's log is longer is necessary: every
        claim also holds if any single one of the other guards is left out.
        """
        ours, theirs = s.log[f], s.log[leader]
        end = ours.end_offset
        when(
            s.reaches(f, leader),
            s.follows(f, leader),
            end < theirs.end_offset,
            s.agreed_end(f, leader) == end,
        )
        fetched = theirs.end_offset if s.fetches_all else end + 1
        flushed = s.flushed_after_fetch(f, fetched)
        if s.fetches_all:
            s.append_records(f, leader, end)
        else:
            s.log[f].entry[end].voters = theirs.entry[end].voters
            s.log[f].entry[end].epoch = theirs.entry[end].epoch
        s.log[f].flushed = flushed
        s.log[f].end_offset = fetched
        s.member[f].has_fetched = true

    def append_records(s, f: Replica, leader: Replica, start: Offset) -> None:
        ours, theirs = s.log[f], s.log[leader]
        for x in Offset:
            s.log[f].entry[x].epoch = ite(start <= x, theirs.entry[x].epoch, ours.entry[x].epoch)
            for v in Replica:
                s.log[f].entry[x].voters[v] = ite(
                    start <= x, theirs.entry[x].voters[v], ours.entry[x].voters[v]
                )

    def flushed_after_fetch(s, f: Replica, end: Offset) -> Offset:
        """Returns the end offset of the records that the replica has flushed after a fetch. The
        result is the new log end `end`, because voters and observers flush every record that
        they fetch.
        """
        return end

    @action
    def fetch_at_end(s, f: Replica, leader: Replica) -> None:
        """A follower fetches from the end of its log, and the leader learns this end offset from
        the request.

        Kafka: LeaderState.updateReplicaState.
        Simplified: the leader learns the end offset only from this action, and not from the action
        `fetch`.

        The version `kafka-4.3` needs the guard that the leader has flushed its log.
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
        """A leader commits its records below `mark`, because a majority of the voters has these
        records.

        Kafka: LeaderState.maybeUpdateHighWatermark.
        Simplified: followers do not learn the high watermark.

        Without the guard that a majority has the records, the claim
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
        s.committed_end = greatest_of(s.committed_end, mark)

    def may_commit(s, r: Replica, mark: Offset) -> Bool:
        """Returns True if the last record below `mark` has the epoch of the leader `r`."""
        return s.log[r].entry[mark - 1].epoch == s.member[r].epoch

    def have_up_to(s, r: Replica, mark: Offset) -> Bool:
        """Returns True if a majority of the voters has the records of the leader `r` below
        `mark`. A follower has the records that it has acknowledged by a fetch. The leader has
        the records below `own_end`.
        """
        have: Set[Replica] = Map(
            Replica, lambda x: mark <= ite(x == r, s.own_end(r), s.fetched[r][x])
        )
        return s.is_majority(r, have)

    def own_end(s, r: Replica) -> Offset:
        """Returns the end offset of the leader's flushed records. The leader counts only its
        flushed records for a commit.
        """
        return s.log[r].flushed

    # ---- voters

    @action
    def change_voters(s, r: Replica, x: Replica) -> None:
        """A leader removes the voter `x` from the voter set, or adds the replica `x` if it has the
        leader's whole log.

        Kafka: RemoveVoterHandler, AddVoterHandler. The new voter set is in force at once.
        Simplified: the voters change at most `max_voter_changes` times. A change counts even if its
        record is lost.

        Without the rule `may_change_voters`, the claim `leaders_have_committed_records` breaks. The
        default constants permit only shorter runs than those that break the claim. A test replays
        two of these longer runs.
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
        """Returns True if the leader has committed a record of its own epoch, and has committed
        the newest change of the voters.
        """
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
        """A replica restarts. It loses its records from the offset `end` on, which it has not
        flushed.

        The replica still has its epoch, its vote and its leader, but it does not lead in its former
        epoch again.

        Kafka: QuorumState.initialize.
        Simplified: the stop and the restart are one step.

        Without the guard that flushed records are not lost, the claim
        `high_watermarks_are_committed` breaks in 1 step.
        """
        log, voted_for_itself = s.log[r], s.member[r].voted == r
        when(s.failures < s.max_failures, log.flushed <= end, end <= log.end_offset)
        s.failures = s.failures + 1
        s.begins(r, s.role_after_restart(r), Map(Replica, lambda x: (x == r) & voted_for_itself))
        s.log[r].cut(end)
        s.log[r].flushed = end
        s.log[r].high_watermark = Offset(1)

    def role_after_restart(s, r: Replica) -> Role:
        """Returns the role of a replica after its restart. The role follows from the vote and
        the leader that the replica has stored.
        """
        m = s.member[r]
        return ite(
            m.leader == r,
            RESIGNED,
            ite(m.voted == r, CANDIDATE, ite(m.leader != nothing, FOLLOWER, UNATTACHED)),
        )

    @action
    def cut_off_replica(s, r: Replica) -> None:
        """A replica is cut off from all other replicas for ever. Votes for this replica that are in
        flight are lost.

        Kafka: the network cuts off a voter (KIP-996, motivation).
        Simplified: at most one replica is cut off.
        """
        when(s.failures < s.max_failures, s.cut_off == nothing)
        s.failures = s.failures + 1
        own = s.granted[r][r]
        s.granted[r] = Map(Replica, lambda x: (x == r) & own)
        s.cut_off = r
