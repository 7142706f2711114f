"""Rules of elections left out: each replaces one, and loses a record or a leader.

Source: the issues that each names; KIP-497, KIP-903 and KIP-966 for what they mended before it
shipped. Those without a source break what no other variant breaks.
"""

from __future__ import annotations

from model.election.partition import BrokerEpoch, Offset, RecordId, Replica
from model.election.spec import Election
from model.election.versions import Kip966
from model.language import (
    Bool,
    Set,
    action,
    false,
    nothing,
    true,
    when,
)


class CountsKnownIsr(Election):
    """A leader commits when the ISR that it knows has a record, whatever it has proposed.

    The controller may have granted a member that lacks it, and elect that one: what KIP-497's
    maximal ISR is for. Fails leader_completeness.
    """

    def is_maximal_isr(s, leader: Replica, r: Replica) -> Bool:
        return s.broker[leader].isr[r]


class IgnoresBrokerEpochs(Election):
    """A fetch of a broker's last life lets it into the ISR, with an empty disk (KAFKA-14139).

    What KIP-903 mended. Fails leader_completeness.
    """

    def is_same_life(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        return true


class ReadsReplicaTwice(Election):
    """A leader reads a follower's offset in one life and its broker epoch in the next.

    Between the two reads the follower has come back, with an empty disk, and fetched
    (KAFKA-15221). Fails leader_completeness.
    """

    @action
    def take_late_fetch(s, leader: Replica, follower: Replica) -> None:
        """The offset is that of a late fetch, the broker epoch that of the newest."""
        fetch = s.late_fetch
        when(
            fetch.follower == follower,
            s.presumes_leadership(leader),
            follower != leader,
            fetch.leader_epoch == s.broker[leader].leader_epoch,
            s.finds(fetch, leader),
        )
        joins = s.may_join(leader, follower, fetch.end_offset)
        newest = s.broker[leader].follower[follower].broker_epoch
        s.propose(leader, s.broker[leader].isr | {follower}, joins, newest)
        s.forget_late_fetch()


class CommitsBelowMinIsr(Election):
    """A leader commits alone, though its ISR is below min.insync.replicas.

    What left the ISR lacks the record, and is eligible all the same (KIP-966). Fails
    leader_completeness.
    """

    def may_commit(s, leader: Replica) -> Bool:
        return true


class ElectsTheDead(Election):
    """The last known leader is elected though it is fenced (KAFKA-19522).

    Fails leader_is_alive_and_in_isr.
    """

    def is_last_resort(s, r: Replica, alive: Set[Replica], is_nobody: Bool) -> Bool:
        return is_nobody & s.quorum.last_known[r]


class AdmitsUnclean(Election):
    """A broker that stopped uncleanly stays eligible (KAFKA-18635).

    Fails leader_completeness: it has lost what was committed and is elected.
    """

    def is_unclean(s, r: Replica) -> Bool:
        return false


class FencesInBatch(Election):
    """Every broker whose session has ended is fenced at once, each as if it were the only one.

    Another that is being fenced is elected (KAFKA-13173). Fails leader_is_alive_and_in_isr.
    """

    @action(fair="weak")
    def detect_crash(s, r: Replica) -> None:
        """The sessions of all brokers that are down end."""
        when(~s.broker[r].is_up, s.is_alive(r))
        s.settle(s.remaining_isr(r), s.alive() - {r})
        for x in Replica:
            s.registration[x].fenced = s.registration[x].fenced | ~s.broker[x].is_up


class TrustsOneAck(Election):
    """A record that its leader alone has is taken for durable, as acks=1 acknowledges it.

    The control: a planned move loses it, and may (KAFKA-20554). Fails leader_completeness.
    """

    def is_committed(s, record: RecordId) -> Bool:
        return record < s.next_id


class ElectsAnybody(Election):
    """With nobody eligible alive, whoever is alive leads: unclean.leader.election.enable.

    The control: it loses what is committed, and may. Fails leader_completeness.
    """

    def is_last_resort(s, r: Replica, alive: Set[Replica], is_nobody: Bool) -> Bool:
        return alive[r]


class TrustsLastLeader(Election):
    """What shipped, judged by the promise of KIP-966: fewer losses than min.insync.replicas.

    Two brokers stop uncleanly and one of them loses a record: if it led last, it leads again, and
    the other, which has the record, cuts it. Fails leader_completeness.
    """

    def is_tolerable(s) -> Bool:
        return s.losses < min(s.min_isr, s.replicas)


class EligibleForEver(Election):
    """Who was eligible once stays so, though the ISR is large enough and commits without it.

    Fails candidate_completeness and isr_and_elr.
    """

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        return false


class FallsBackOnAnyRefusal(Election):
    """A leader takes any refusal to mean that its ISR is what it was before it asked.

    Its request may have been granted, and refused when it came again with an older partition epoch:
    only INELIGIBLE_REPLICA says that it was not. Fails leader_completeness.
    """

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses; the ISR is what the leader last heard."""
        granted = s.broker[leader].is_current & s.may_be_members(leader)
        when(s.presumes_leadership(leader), s.broker[leader].is_pending, ~granted)
        s.settle_request(leader)


class JoinsBelowMark(Election):
    """A follower joins the ISR once it has all that older leaders wrote, whatever is committed.

    Fails candidate_completeness.
    """

    def has_caught_up(s, leader: Replica, end: Offset) -> Bool:
        return s.start_offset(leader) <= end


class KeepsEpoch(Election):
    """A leader epoch begins only when somebody leads after nobody did.

    One that is replaced at once is not told. Fails one_leader_per_epoch and epochs_grow.
    """

    def begins_epoch(s, moves: Bool) -> Bool:
        return moves & (s.quorum.leader == nothing)


class KeepsMark(Election):
    """A broker that lost a tail of its log starts with the high watermark of before.

    Fails high_watermark_in_log.
    """

    def mark_after_cut(s, r: Replica, end: Offset) -> Offset:
        return s.broker[r].high_watermark


class ElectsFromIsrOnly(Election):
    """Only members of the ISR are elected: once it is empty, nobody leads ever again.

    Fails somebody_leads.
    """

    def is_eligible(s, r: Replica, isr: Set[Replica], elr: Set[Replica], is_empty: Bool) -> Bool:
        return isr[r]


class WaitsAfterRefusal(Election):
    """A leader whose request was refused waits on, and asks for nothing else.

    Fails requests_are_answered.
    """

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The answer is not understood."""
        refused = s.broker[leader].is_current & ~s.may_be_members(leader)
        when(s.broker[leader].is_pending, refused)


class RemembersOne(Kip966):
    """Of those that were eligible only the last leader is remembered, and its log alone asked for.

    Fails enough_are_asked and leader_completeness.
    """

    def is_remembered(s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool) -> Bool:
        return Election.is_remembered(s, r, isr, elr, leads)
