"""The actions of brokers: a leader appends records, followers fetch them, and any broker may stop.

A leader that requests another ISR does not know yet whether the controller has accepted the
request. So the leader commits a record only when every member of the known ISR and every member of
the proposed ISR has the record. KIP-497 calls the union of these two ISRs the "maximal ISR".

A broker stops in one of four ways:

- a clean shutdown;
- a killed process: the log is not lost;
- a power loss: the unflushed tail of the log is lost;
- a replaced disk: the whole log is lost.

Source: Kafka's Partition and ReplicaManager; KIP-497; KIP-903 and KAFKA-15221; KIP-966 (the high
watermark stands still while the ISR is too small).
Simplified: a fetch and its response are one step, except a fetch that is in flight when the
follower stops.
"""

from __future__ import annotations

from model.election.state import (
    BrokerEpoch,
    ElectedPartition,
    LateFetch,
    LeaderEpoch,
    Offset,
    RecordId,
    Replica,
)
from model.language import (
    Bool,
    Set,
    action,
    all_of,
    any_of,
    false,
    forall,
    ite,
    least_of,
    nothing,
    true,
    when,
)


class Brokers(ElectedPartition):
    # ---- metadata

    @action(fair="weak")
    def apply_metadata(s, r: Replica) -> None:
        """A broker applies the newest metadata. In a new leader epoch, it forgets the offsets of
        its followers.

        Kafka: Partition.makeLeader and makeFollower.
        Simplified: a broker applies all metadata at once. The controller grants an AlterPartition
        request only if the leader has applied the newest change of the partition.

        Without the guard that the broker is up, the claim `leader_completeness` breaks in 9 steps.
        """
        known, decided = s.broker[r], s.published_partition()
        is_new = (known.leader_epoch < decided.leader_epoch) | (known.leader != decided.leader)
        leads = decided.leader == r
        when(known.is_up, is_new | (leads & ~known.is_current))
        for f in Replica:
            follower = known.follower[f]
            s.broker[r].follower[f].end_offset = ite(is_new, Offset(0), follower.end_offset)
            s.broker[r].follower[f].broker_epoch = ite(
                is_new, BrokerEpoch(0), follower.broker_epoch
            )
            s.broker[r].isr[f] = leads & decided.isr[f]
        s.clear_request(r)
        s.broker[r].leader_epoch = decided.leader_epoch
        s.broker[r].leader = decided.leader
        s.broker[r].is_current = leads

    def clear_request(s, r: Replica) -> None:
        s.broker[r].is_pending = false
        s.broker[r].proposed_broker_epoch = BrokerEpoch(0)
        for f in Replica:
            s.broker[r].proposed[f] = false

    # ---- leaders

    @action
    def write(s, leader: Replica) -> None:
        """A broker that considers itself the leader appends a record. With acks=1, it acknowledges
        the record at once.

        Kafka: Partition.appendRecordsToLeader.
        Simplified: the leader does not check min.insync.replicas before it appends.

        A deposed leader also appends records, so a record that acks=1 acknowledged may be lost: the
        claim `leader_completeness` breaks (bug `trusts-one-ack`, 2 steps).
        """
        end = s.broker[leader].end_offset
        when(s.presumes_leadership(leader), s.next_id < s.max_records, end < s.log_size)
        s.broker[leader].record[end] = s.next_id
        s.broker[leader].end_offset = end + 1
        s.written_in[s.next_id] = s.broker[leader].leader_epoch
        s.next_id = s.next_id + 1

    def is_maximal_isr(s, leader: Replica, r: Replica) -> Bool:
        """Returns True if the replica is in the leader's maximal ISR: in the known ISR, or in the
        ISR of a pending request.

        If the leader waits only for the known ISR, the claim `leader_completeness` breaks (bug
        `counts-known-isr`, 10 steps).
        """
        log = s.broker[leader]
        return log.isr[r] | (log.is_pending & log.proposed[r])

    def may_commit(s, leader: Replica) -> Bool:
        """Returns True if the ISR that the leader knows has at least min.insync.replicas members.

        Without this rule (Kafka before 3.7), the claim `leader_completeness` breaks (bug
        `commits-below-min-isr`, 6 steps).
        """
        return s.is_enough_for_leader(leader)

    @action(fair="strong")
    def advance_high_watermark(s, leader: Replica) -> None:
        """A leader commits the next record, because every member of its maximal ISR has this
        record.

        A record with acks=all is then acknowledged.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: each step commits one record.

        The docstrings of the guards `may_commit` and `is_maximal_isr` name the bugs that lack these
        guards.
        """
        log = s.broker[leader]
        hw = log.high_watermark
        when(
            s.presumes_leadership(leader),
            s.has_offset(leader, hw),
            s.may_commit(leader),
            forall(
                any_of(~s.is_maximal_isr(leader, r), r == leader, hw < log.follower[r].end_offset)
                for r in Replica
            ),
        )
        s.committed[log.record[hw]] = true
        s.broker[leader].high_watermark = hw + 1

    def propose(
        s, leader: Replica, isr: Set[Replica], test: Bool, proposed_broker_epoch: BrokerEpoch
    ) -> None:
        """Lets the leader send an AlterPartition request for the ISR `isr`, if `test` is true. The
        leader then waits for a response.

        The argument `proposed_broker_epoch` is the broker epoch of the replica that the request
        adds. It is 0 if the request adds no replica.
        """
        log = s.broker[leader]
        s.broker[leader].is_pending = log.is_pending | test
        s.broker[leader].proposed_broker_epoch = ite(
            test, proposed_broker_epoch, log.proposed_broker_epoch
        )
        s.broker[leader].proposed = ite(test, isr, log.proposed)

    @action
    def shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader requests that a follower leaves the ISR, because the follower lags.

        Kafka: Partition.maybeShrinkIsr.
        Simplified: any lag is enough, whereas Kafka waits for replica.lag.time.max.ms. At most one
        request of a leader is pending.

        Every claim also holds without the guard of this action.
        """
        log = s.broker[leader]
        when(
            s.presumes_leadership(leader),
            ~log.is_pending,
            log.isr[follower],
            follower != leader,
            log.follower[follower].end_offset < log.end_offset,
        )
        s.propose(leader, log.isr - {follower}, all_of(), BrokerEpoch(0))

    # ---- followers

    def has_caught_up(s, leader: Replica, end: Offset) -> Bool:
        """Returns True if a log that ends at `end` has every record that this leader or an earlier
        leader has committed.

        Without the comparison with the high watermark, the claim `candidate_completeness` breaks
        (bug `joins-below-high-watermark`, 9 steps).
        """
        return (s.broker[leader].high_watermark <= end) & (s.start_offset(leader) <= end)

    def may_join(s, leader: Replica, follower: Replica, end: Offset) -> Bool:
        log = s.broker[leader]
        return all_of(
            ~log.is_pending,
            ~log.isr[follower],
            s.has_caught_up(leader, end),
            ~s.published_registration(follower).fenced,
        )

    def take_fetch(
        s, leader: Replica, follower: Replica, end: Offset, broker_epoch: BrokerEpoch
    ) -> None:
        joins = s.may_join(leader, follower, end)
        s.propose(leader, s.broker[leader].isr | {follower}, joins, broker_epoch)
        s.broker[leader].follower[follower].end_offset = end
        s.broker[leader].follower[follower].broker_epoch = broker_epoch

    @action(fair="weak")
    def fetch(s, follower: Replica, leader: Replica) -> None:
        """A follower sends its end offset to the leader, and receives the record at this offset if
        there is one.

        Kafka: Partition.fetchRecords, updateFollowerFetchState and maybeExpandIsr.
        Simplified: the request and the response are one step. The response has the high watermark
        from before this fetch. Both logs must agree up to the end of the follower's log.

        Without the guard that the follower and the leader are in the same leader epoch, the claim
        `acknowledged_within_isr` breaks in 7 steps.
        """
        end, hw = s.broker[follower].end_offset, s.broker[leader].high_watermark
        when(s.is_following(follower, leader), s.shared_end(follower, leader) == end)
        more = s.has_offset(leader, end)
        s.take_fetch(leader, follower, end, s.registration[follower].broker_epoch)
        for offset in Offset:
            s.broker[follower].record[offset] = ite(
                more & (offset == end),
                s.broker[leader].record[offset],
                s.broker[follower].record[offset],
            )
        s.broker[follower].high_watermark = least_of(hw, ite(more, end + 1, end))
        s.broker[follower].end_offset = ite(more, end + 1, end)

    @action(fair="weak")
    def truncate_to_shared(s, follower: Replica, leader: Replica) -> None:
        """A follower truncates its log to the first offset at which it differs from the leader's
        log.

        Kafka: AbstractFetcherThread.truncateOnFetchResponse. The fetch response contains the
        offset.
        Simplified: one step finds the offset.

        Without the guard that the follower and the leader are in the same leader epoch, the claim
        `leader_completeness` breaks in 6 steps.
        """
        end = s.shared_end(follower, leader)
        when(s.is_following(follower, leader), end < s.broker[follower].end_offset)
        s.truncate_to(follower, end)

    def is_same_registration(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        """Returns True if the broker has not registered again since it received the broker epoch
        `broker_epoch`.

        Without this comparison (KIP-903), a fetch from before a restart may add the broker to the
        ISR, and the claim `leader_completeness` breaks (bug `ignores-broker-epochs`, 12 steps).
        """
        return s.published_registration(r).broker_epoch == broker_epoch

    def has_last_record_of(s, fetch: LateFetch, leader: Replica) -> Bool:
        """Returns True if the leader's log has the last record that the follower's log had when the
        follower sent this fetch. If the follower's log was empty, returns True.
        """
        end = fetch.end_offset
        return all_of(
            end <= s.broker[leader].end_offset,
            (end == 0) | (s.broker[leader].record[end - 1] == fetch.record),
        )

    @action
    def take_late_fetch(s, leader: Replica, follower: Replica) -> None:
        """A leader receives a late fetch: the follower that sent it has stopped in the meantime,
        and may have restarted.

        Kafka: Partition.updateFollowerFetchState, which refuses an older broker epoch.
        Simplified: at most one fetch is late.

        If the leader reads the offset from a fetch before a restart and the broker epoch from a
        fetch after the restart, the claim `leader_completeness` breaks (bug `reads-replica-twice`,
        17 steps; KAFKA-15221).
        """
        fetch = s.late_fetch
        when(
            fetch.follower == follower,
            s.presumes_leadership(leader),
            follower != leader,
            fetch.leader_epoch == s.broker[leader].leader_epoch,
            s.has_last_record_of(fetch, leader),
            s.is_same_registration(follower, fetch.broker_epoch),
        )
        s.take_fetch(leader, follower, fetch.end_offset, fetch.broker_epoch)
        s.forget_late_fetch()

    def forget_late_fetch(s) -> None:
        s.late_fetch.follower = nothing
        s.late_fetch.end_offset = Offset(0)
        s.late_fetch.record = RecordId(0)
        s.late_fetch.leader_epoch = LeaderEpoch(-1)
        s.late_fetch.broker_epoch = BrokerEpoch(0)

    # ---- faults

    def truncate_to(s, r: Replica, end: Offset) -> None:
        for offset in Offset:
            s.broker[r].record[offset] = ite(offset < end, s.broker[r].record[offset], RecordId(0))
        s.broker[r].high_watermark = s.high_watermark_after_truncation(r, end)
        s.broker[r].end_offset = end

    def high_watermark_after_truncation(s, r: Replica, end: Offset) -> Offset:
        return least_of(end, s.broker[r].high_watermark)

    def is_fetching(s, r: Replica) -> Bool:
        return (s.broker[r].leader != r) & (s.broker[r].leader != nothing)

    def leave_last_fetch(s, r: Replica) -> None:
        """Leaves the broker's newest fetch request in flight, if the broker follows a leader."""
        known = s.broker[r]
        end = known.end_offset
        late = LateFetch(
            follower=r,
            end_offset=end,
            record=ite(end == 0, RecordId(0), known.record[end - 1]),
            leader_epoch=known.leader_epoch,
            broker_epoch=s.registration[r].broker_epoch,
        )
        s.late_fetch = ite(s.is_fetching(r), late, s.late_fetch)

    def stop(s, r: Replica, *, cleanly: Bool) -> None:
        """Stops the broker. If the broker follows a leader, its newest fetch request remains in
        flight.
        """
        s.leave_last_fetch(r)
        s.clear_request(r)
        for f in Replica:
            s.broker[r].follower[f].end_offset = Offset(0)
            s.broker[r].follower[f].broker_epoch = BrokerEpoch(0)
            s.broker[r].isr[f] = false
        s.broker[r].is_up = false
        s.broker[r].stopped_cleanly = cleanly
        s.broker[r].is_current = false
        s.broker[r].leader = nothing
        s.broker[r].leader_epoch = LeaderEpoch(-1)

    @action
    def kill(s, r: Replica) -> None:
        """A broker's process is killed. The broker still has its log, which is in the page cache.

        Kafka: SIGKILL.
        Simplified: the constant `max_unclean` limits the number of unclean stops.

        Every claim also holds without the guard that the broker is up.
        """
        when(s.broker[r].is_up, s.unclean < s.max_unclean)
        s.stop(r, cleanly=false)
        s.unclean = s.unclean + 1

    @action
    def lose_power(s, r: Replica, end: Offset) -> None:
        """A broker's machine loses power, and the broker loses the unflushed tail of its log.

        Kafka: by default, the operating system decides when to flush.
        Simplified: any tail of the log may be lost. The constant `max_losses` limits the number of
        losses.

        Before KIP-966, the broker stayed in the ISR: the version `before-elr` breaks the claim
        `leader_completeness` in 9 steps.
        """
        when(
            s.broker[r].is_up,
            s.unclean < s.max_unclean,
            s.losses < s.max_losses,
            end < s.broker[r].end_offset,
        )
        s.stop(r, cleanly=false)
        s.truncate_to(r, end)
        s.unclean = s.unclean + 1
        s.losses = s.losses + 1

    @action
    def replace_disk(s, r: Replica) -> None:
        """A stopped broker receives an empty disk, which lacks the file that marks a clean
        shutdown.

        Kafka: the operator replaces the disk.
        Simplified: the loss counts as an unclean stop.

        Without the guard that the broker is stopped, the claim `leader_completeness` breaks in 5
        steps. If the broker does not notice the loss, the same claim breaks (bug
        `keeps-lost-replica` of the version `log-directories`).
        """
        down = s.broker[r]
        when(~down.is_up, down.end_offset > 0, s.losses < s.max_losses)
        when(~down.stopped_cleanly | (s.unclean < s.max_unclean))
        s.unclean = ite(down.stopped_cleanly, s.unclean + 1, s.unclean)
        s.broker[r].stopped_cleanly = false
        s.truncate_to(r, Offset(0))
        s.losses = s.losses + 1
