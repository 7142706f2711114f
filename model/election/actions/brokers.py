"""Brokers: a leader appends, followers fetch, and either may stop in four ways.

A leader asks the controller to change the ISR. Until it hears the answer, the controller may have
granted it: a record is committed only when the members that it knows and those that it proposed all
have it (the maximal ISR of KIP-497). Crashes are those of the rule book: a clean shutdown, a killed
process (what it wrote is kept), a power loss (an unflushed tail is lost), and a replaced disk.

Source: Kafka's Partition and ReplicaManager; KIP-497; KIP-903 and KAFKA-15221; KIP-966 (the high
watermark stands still while the ISR is too small).
Simplified: a fetch and its answer are one step, but for the one under way when a follower stops.
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
    """What brokers do, and what happens to them."""

    # ---- metadata

    @action(fair="weak")
    def apply_metadata(s, r: Replica) -> None:
        """A broker learns what the controller decided; a new leader epoch is a new beginning."""
        known, decided = s.broker[r], s.partition_registration
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
        s.settle_request(r)
        s.broker[r].leader_epoch = decided.leader_epoch
        s.broker[r].leader = decided.leader
        s.broker[r].is_current = leads

    def settle_request(s, r: Replica) -> None:
        """No AlterPartition request is pending any more."""
        s.broker[r].is_pending = false
        s.broker[r].stamp = BrokerEpoch(0)
        for f in Replica:
            s.broker[r].proposed[f] = false

    # ---- leaders

    @action
    def write(s, leader: Replica) -> None:
        """Whoever believes to lead appends, and acknowledges at once to those who ask acks=1."""
        end = s.broker[leader].end_offset
        when(s.presumes_leadership(leader), s.next_id < s.max_records, end < s.log_size)
        s.broker[leader].record[end] = s.next_id
        s.broker[leader].end_offset = end + 1
        s.written_in[s.next_id] = s.broker[leader].leader_epoch
        s.next_id = s.next_id + 1

    def is_maximal_isr(s, leader: Replica, r: Replica) -> Bool:
        """A member, or one that the controller may have let in."""
        log = s.broker[leader]
        return log.isr[r] | (log.is_pending & log.proposed[r])

    def may_commit(s, leader: Replica) -> Bool:
        """Nothing is committed while the ISR is smaller than min.insync.replicas."""
        return s.is_enough(s.broker[leader].isr)

    @action(fair="strong")
    def advance_high_watermark(s, leader: Replica) -> None:
        """All of the maximal ISR has a record: it is committed, and those who ask acks=all hear."""
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

    def propose(s, leader: Replica, isr: Set[Replica], test: Bool, stamp: BrokerEpoch) -> None:
        """Where the test is true, an AlterPartition request asks for this ISR."""
        log = s.broker[leader]
        s.broker[leader].is_pending = log.is_pending | test
        s.broker[leader].stamp = ite(test, stamp, log.stamp)
        s.broker[leader].proposed = ite(test, isr, log.proposed)

    @action
    def shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower has not caught up for too long: the leader asks to drop it."""
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
        """A log up to there has all that is committed, by this leader or by those before it."""
        return (s.broker[leader].high_watermark <= end) & (s.start_offset(leader) <= end)

    def may_join(s, leader: Replica, follower: Replica, end: Offset) -> Bool:
        """A fetch at this offset makes the leader ask to let the follower into the ISR."""
        log = s.broker[leader]
        return all_of(
            ~log.is_pending,
            ~log.isr[follower],
            s.has_caught_up(leader, end),
            s.is_alive(follower),
        )

    def take_fetch(
        s, leader: Replica, follower: Replica, end: Offset, broker_epoch: BrokerEpoch
    ) -> None:
        """The leader notes how far a follower is, and may ask to let it into the ISR."""
        joins = s.may_join(leader, follower, end)
        s.propose(leader, s.broker[leader].isr | {follower}, joins, broker_epoch)
        s.broker[leader].follower[follower].end_offset = end
        s.broker[leader].follower[follower].broker_epoch = broker_epoch

    @action(fair="weak")
    def fetch(s, follower: Replica, leader: Replica) -> None:
        """A follower says where its log ends and gets the next record, if there is one.

        The high watermark in the answer is that of before.
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
        """The leader answers where the logs begin to differ, and the follower cuts its own."""
        end = s.shared_end(follower, leader)
        when(s.is_following(follower, leader), end < s.broker[follower].end_offset)
        s.cut(follower, end)

    def is_same_life(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        """The broker has not registered anew since it had this broker epoch."""
        return s.registration[r].broker_epoch == broker_epoch

    def finds(s, fetch: LateFetch, leader: Replica) -> Bool:
        """The leader has the follower's last record where the follower has it."""
        end = fetch.end_offset
        return all_of(
            end <= s.broker[leader].end_offset,
            (end == 0) | (s.broker[leader].record[end - 1] == fetch.record),
        )

    @action
    def take_late_fetch(s, leader: Replica, follower: Replica) -> None:
        """A fetch reaches the leader after its sender has stopped, perhaps after it is back."""
        fetch = s.late_fetch
        when(
            fetch.follower == follower,
            s.presumes_leadership(leader),
            follower != leader,
            fetch.leader_epoch == s.broker[leader].leader_epoch,
            s.finds(fetch, leader),
            s.is_same_life(follower, fetch.broker_epoch),
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

    def cut(s, r: Replica, end: Offset) -> None:
        """The log ends there, and the high watermark not beyond it."""
        for offset in Offset:
            s.broker[r].record[offset] = ite(offset < end, s.broker[r].record[offset], RecordId(0))
        s.broker[r].high_watermark = s.mark_after_cut(r, end)
        s.broker[r].end_offset = end

    def mark_after_cut(s, r: Replica, end: Offset) -> Offset:
        return least_of(end, s.broker[r].high_watermark)

    def stop(s, r: Replica, *, cleanly: Bool) -> None:
        """The process ends: it forgets the metadata, and its last fetch may still be under way."""
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
        s.settle_request(r)
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
        """A process dies; what it wrote is in the page cache, and stays."""
        when(s.broker[r].is_up, s.unclean < s.max_unclean)
        s.stop(r, cleanly=false)
        s.unclean = s.unclean + 1

    @action
    def lose_power(s, r: Replica, end: Offset) -> None:
        """A machine dies, and with it a tail of the log that was not flushed."""
        when(
            s.broker[r].is_up,
            s.unclean < s.max_unclean,
            s.losses < s.max_losses,
            end < s.broker[r].end_offset,
        )
        s.stop(r, cleanly=false)
        s.cut(r, end)
        s.unclean = s.unclean + 1
        s.losses = s.losses + 1

    @action
    def replace_disk(s, r: Replica) -> None:
        """A broker that is down gets an empty disk, without the file of a clean shutdown."""
        down = s.broker[r]
        when(~down.is_up, down.end_offset > 0, s.losses < s.max_losses)
        when(~down.stopped_cleanly | (s.unclean < s.max_unclean))
        s.unclean = ite(down.stopped_cleanly, s.unclean + 1, s.unclean)
        s.broker[r].stopped_cleanly = false
        s.cut(r, Offset(0))
        s.losses = s.losses + 1
