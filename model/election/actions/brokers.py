"""The actions of brokers: a leader appends, followers fetch, and any broker may stop.

A leader that asks the controller to change the ISR does not know whether the change is granted
already. So it commits a record only when every member of the known and of the proposed ISR has the
record; KIP-497 calls this union the maximal ISR. A broker stops in one of four ways: a clean
shutdown; a killed process, which keeps its log; a power loss, which loses the unflushed tail of the
log; a replaced disk, which loses the whole log.

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
        """A broker applies the newest metadata; in a new leader epoch it forgets the offsets of its
        followers.

        Kafka: Partition.makeLeader and makeFollower. Simplified: a broker applies all metadata at
        once. The controller grants an AlterPartition request only if the leader has applied the
        newest change of the partition. Without the guard that the broker is up, the claim
        `leader_completeness` breaks in 9 steps.
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
        """A broker that believes it leads appends a record; with acks=1 it acknowledges the record
        at once.

        Kafka: Partition.appendRecordsToLeader. Simplified: no check of min.insync.replicas before
        the append. Also a deposed leader appends, so a record that acks=1 acknowledged may be lost:
        the claim `leader_completeness` breaks (bug `trusts-one-ack`, 2 steps).
        """
        end = s.broker[leader].end_offset
        when(s.presumes_leadership(leader), s.next_id < s.max_records, end < s.log_size)
        s.broker[leader].record[end] = s.next_id
        s.broker[leader].end_offset = end + 1
        s.written_in[s.next_id] = s.broker[leader].leader_epoch
        s.next_id = s.next_id + 1

    def is_maximal_isr(s, leader: Replica, r: Replica) -> Bool:
        """True if the replica is in the maximal ISR: in the known or in the proposed ISR.

        If the leader waits for the known ISR alone, the claim `leader_completeness` breaks (bug
        `counts-known-isr`, 10 steps).
        """
        log = s.broker[leader]
        return log.isr[r] | (log.is_pending & log.proposed[r])

    def may_commit(s, leader: Replica) -> Bool:
        """True if the leader's ISR has at least min.insync.replicas members.

        Without this rule (Kafka before 3.7), the claim `leader_completeness` breaks (bug
        `commits-below-min-isr`, 6 steps).
        """
        return s.is_enough_for_leader(leader)

    @action(fair="strong")
    def advance_high_watermark(s, leader: Replica) -> None:
        """The leader commits a record that every member of its maximal ISR has.

        A record with acks=all is then acknowledged.

        Kafka: Partition.maybeIncrementLeaderHW. Simplified: one record at a time. The guards
        `may_commit` and `is_maximal_isr` name the bugs that appear without them.
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
        """The leader proposes the ISR `isr` (AlterPartition) if `test`, and awaits an answer.

        `proposed_broker_epoch` is the broker epoch of the replica that the ISR adds, or 0.
        """
        log = s.broker[leader]
        s.broker[leader].is_pending = log.is_pending | test
        s.broker[leader].proposed_broker_epoch = ite(
            test, proposed_broker_epoch, log.proposed_broker_epoch
        )
        s.broker[leader].proposed = ite(test, isr, log.proposed)

    @action
    def shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader asks the controller to remove from the ISR a follower that lags.

        Kafka: Partition.maybeShrinkIsr. Simplified: any lag is enough, instead of
        replica.lag.time.max.ms. One request at a time is pending. Every claim also holds without
        the guard of this action.
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
        """True if a log that ends at `end` has every record that this leader or an earlier one
        committed.

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
        """A follower reports its end offset to the leader and receives the next record, if one
        exists.

        Kafka: Partition.fetchRecords, updateFollowerFetchState and maybeExpandIsr. Simplified:
        request and response are one step. The response has the high watermark from before this
        fetch. Both logs must agree up to the end of the follower's log. Without the guard that the
        follower and the leader are in the same leader epoch, the claim `acknowledged_within_isr`
        breaks in 7 steps.
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
        """A follower truncates its log to the first offset where it differs from the leader's log.

        Kafka: AbstractFetcherThread.truncateOnFetchResponse; the fetch response names the offset.
        Simplified: one step finds the offset. Without the guard that the follower and the leader
        are in the same leader epoch, the claim `leader_completeness` breaks in 6 steps.
        """
        end = s.shared_end(follower, leader)
        when(s.is_following(follower, leader), end < s.broker[follower].end_offset)
        s.truncate_to(follower, end)

    def is_same_registration(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        """True if the broker has not registered again since it got the broker epoch `broker_epoch`.

        Without this comparison (KIP-903), a fetch from before a restart may add the broker to the
        ISR, and the claim `leader_completeness` breaks (bug `ignores-broker-epochs`, 12 steps).
        """
        return s.published_registration(r).broker_epoch == broker_epoch

    def has_last_record_of(s, fetch: LateFetch, leader: Replica) -> Bool:
        """True if the leader's log has the follower's last record by this fetch, or the follower's
        log was empty.
        """
        end = fetch.end_offset
        return all_of(
            end <= s.broker[leader].end_offset,
            (end == 0) | (s.broker[leader].record[end - 1] == fetch.record),
        )

    @action
    def take_late_fetch(s, leader: Replica, follower: Replica) -> None:
        """A leader receives a fetch whose sender has stopped, and perhaps has restarted since.

        Kafka: Partition.updateFollowerFetchState, which refuses an older broker epoch. Simplified:
        at most one fetch is late. If the leader reads offset and broker epoch from two fetches, one
        before and one after a restart, the claim `leader_completeness` breaks (bug
        `reads-replica-twice`, 17 steps; KAFKA-15221).
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

    def stop(s, r: Replica, *, cleanly: Bool) -> None:
        """Stops the broker; its last fetch may still be in flight."""
        known = s.broker[r]
        end = known.end_offset
        late = LateFetch(
            follower=r,
            end_offset=end,
            record=ite(end == 0, RecordId(0), known.record[end - 1]),
            leader_epoch=known.leader_epoch,
            broker_epoch=s.registration[r].broker_epoch,
        )
        s.late_fetch = ite(all_of(known.leader != r, known.leader != nothing), late, s.late_fetch)
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
        """The process of a broker is killed; the broker keeps its log, which is in the page cache.

        Kafka: SIGKILL. Simplified: at most `max_unclean` unclean stops. Every claim also holds
        without the guard that the broker is up.
        """
        when(s.broker[r].is_up, s.unclean < s.max_unclean)
        s.stop(r, cleanly=false)
        s.unclean = s.unclean + 1

    @action
    def lose_power(s, r: Replica, end: Offset) -> None:
        """A machine loses power, and the broker loses the unflushed tail of its log.

        Kafka: by default the operating system decides when to flush. Simplified: any tail may be
        lost; at most `max_losses` losses. Before KIP-966 the broker stayed in the ISR: the version
        `before-elr` breaks the claim `leader_completeness` in 9 steps.
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

    def misses_clean_shutdown_file(s) -> Bool:
        """True if a broker notices at its start that its disk was replaced."""
        return true

    @action
    def replace_disk(s, r: Replica) -> None:
        """A stopped broker gets an empty disk, which lacks the file that marks a clean shutdown.

        Kafka: the operator replaces the disk. Simplified: the loss counts as an unclean stop.
        Without the guard that the broker is stopped, the claim `leader_completeness` breaks in 5
        steps. If the loss goes unnoticed, this claim breaks too (bug `misses-removed-disk`).
        """
        down = s.broker[r]
        when(~down.is_up, down.end_offset > 0, s.losses < s.max_losses)
        when(~down.stopped_cleanly | (s.unclean < s.max_unclean))
        s.unclean = ite(down.stopped_cleanly, s.unclean + 1, s.unclean)
        s.broker[r].stopped_cleanly = down.stopped_cleanly & ~s.misses_clean_shutdown_file()
        s.truncate_to(r, Offset(0))
        s.losses = s.losses + 1
