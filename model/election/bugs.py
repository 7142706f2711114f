"""Rules of elections left out: each replaces one, and loses a record or a leader.

Source: the issues that each names; KIP-497, KIP-903 and KIP-966 for what they mended before it
shipped. Those without a source break what no other variant breaks.
"""

from __future__ import annotations

from model.election.state import BrokerEpoch, Offset, RecordId, Replica
from model.election.versions import Election, Kip966
from model.language import (
    Bool,
    Set,
    action,
    false,
    nothing,
    true,
    when,
)
from model.variants import LATEST, UNKNOWN, UNRELEASED, bug, kafka


@bug(
    "counts-known-isr",
    breaks="leader_completeness",
    steps=10,
    at={"log_size": 2, "max_records": 2, "max_unclean": 0, "min_isr": 1},
    id="R7",
    issue="KIP-497",
    in_force=UNRELEASED,
)
class CountsKnownIsr(Election):
    """A leader commits when the ISR that it knows has a record, whatever it has proposed.

    The controller may have granted a member that lacks it, and elect that one: what KIP-497's
    maximal ISR is for. Fails leader_completeness.
    """

    def is_maximal_isr(s, leader: Replica, r: Replica) -> Bool:
        return s.broker[leader].isr[r]


@bug(
    "ignores-broker-epochs",
    breaks="leader_completeness",
    steps=12,
    id="R8",
    issue="KAFKA-14139",
    in_force=kafka(None, "3.4"),
)
class IgnoresBrokerEpochs(Election):
    """A fetch of a broker's last life lets it into the ISR, with an empty disk (KAFKA-14139).

    What KIP-903 mended. Fails leader_completeness.
    """

    def is_same_life(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        return true


@bug(
    "reads-replica-twice",
    breaks="leader_completeness",
    steps=17,
    at={"log_size": 2, "max_records": 2},
    id="R9",
    issue="KAFKA-15221",
    in_force=kafka("3.5", None),
)
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


@bug(
    "commits-below-min-isr",
    breaks="leader_completeness",
    steps=6,
    id="R11",
    issue="KIP-966",
    in_force=kafka(None, "3.6"),
)
class CommitsBelowMinIsr(Election):
    """A leader commits alone, though its ISR is below min.insync.replicas.

    What left the ISR lacks the record, and is eligible all the same (KIP-966). Fails
    leader_completeness.
    """

    def may_commit(s, leader: Replica) -> Bool:
        return true


@bug(
    "elects-the-dead",
    breaks="leader_is_alive_and_in_isr",
    steps=4,
    at={"min_isr": 1},
    id="R12",
    issue="KAFKA-19522",
    in_force=kafka("4.0", "4.0"),
)
class ElectsTheDead(Election):
    """The last known leader is elected though it is fenced (KAFKA-19522).

    Fails leader_is_alive_and_in_isr.
    """

    def is_last_resort(s, r: Replica, alive: Set[Replica], is_nobody: Bool) -> Bool:
        return is_nobody & s.partition_registration.last_known[r]


@bug(
    "admits-unclean",
    breaks="leader_completeness",
    steps=9,
    id="R13",
    issue="KAFKA-18635",
    in_force=kafka(None, "3.9"),
)
class AdmitsUnclean(Election):
    """A broker that stopped uncleanly stays eligible (KAFKA-18635).

    Fails leader_completeness: it has lost what was committed and is elected.
    """

    def is_unclean(s, r: Replica) -> Bool:
        return false


@bug(
    "fences-in-batch",
    breaks="leader_is_alive_and_in_isr",
    steps=3,
    at={"max_unclean": 2},
    id="R19",
    issue="KAFKA-13173",
    in_force=UNKNOWN,
)
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


@bug(
    "trusts-one-ack",
    breaks="leader_completeness",
    steps=2,
    at={"max_unclean": 0},
    id="R25",
    issue="KAFKA-20554",
    in_force=kafka(None, LATEST, "with acks=1, as documented"),
)
class TrustsOneAck(Election):
    """A record that its leader alone has is taken for durable, as acks=1 acknowledges it.

    The control: a planned move loses it, and may (KAFKA-20554). Fails leader_completeness.
    """

    def is_committed(s, record: RecordId) -> Bool:
        return record < s.next_id


@bug(
    "elects-anybody",
    breaks="leader_completeness",
    steps=6,
    at={"max_unclean": 0, "min_isr": 1},
    in_force=kafka(None, LATEST, "with unclean.leader.election.enable=true"),
)
class ElectsAnybody(Election):
    """With nobody eligible alive, whoever is alive leads: unclean.leader.election.enable.

    The control: it loses what is committed, and may. Fails leader_completeness.
    """

    def is_last_resort(s, r: Replica, alive: Set[Replica], is_nobody: Bool) -> Bool:
        return alive[r]


@bug(
    "trusts-last-leader",
    breaks="leader_completeness",
    steps=11,
    at={"max_unclean": 2},
    fixed_by="kip-966",
    issue="KIP-966",
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class TrustsLastLeader(Election):
    """What shipped, judged by the promise of KIP-966: fewer losses than min.insync.replicas.

    Two brokers stop uncleanly and one of them loses a record: if it led last, it leads again, and
    the other, which has the record, cuts it. Fails leader_completeness.
    """

    def is_tolerable(s) -> Bool:
        return s.losses < min(s.min_isr, s.replicas)


@bug(
    "eligible-for-ever",
    breaks="candidate_completeness",
    steps=6,
    at={"max_unclean": 0, "replicas": 3},
    in_force=UNRELEASED,
)
class EligibleForEver(Election):
    """Who was eligible once stays so, though the ISR is large enough and commits without it.

    Fails candidate_completeness and isr_and_elr.
    """

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        return false


@bug(
    "falls-back-on-any-refusal",
    breaks="leader_completeness",
    steps=11,
    at={"log_size": 2, "max_records": 2, "max_unclean": 0, "min_isr": 1},
    issue="KIP-497",
    in_force=UNRELEASED,
)
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


@bug(
    "joins-below-mark",
    breaks="candidate_completeness",
    steps=9,
    at={"log_size": 2, "max_records": 2, "max_unclean": 0, "min_isr": 1},
    in_force=UNRELEASED,
)
class JoinsBelowMark(Election):
    """A follower joins the ISR once it has all that older leaders wrote, whatever is committed.

    Fails candidate_completeness.
    """

    def has_caught_up(s, leader: Replica, end: Offset) -> Bool:
        return s.start_offset(leader) <= end


@bug("keeps-epoch", breaks="one_leader_per_epoch", steps=2, in_force=UNRELEASED)
class KeepsEpoch(Election):
    """A leader epoch begins only when somebody leads after nobody did.

    One that is replaced at once is not told. Fails one_leader_per_epoch and epochs_grow.
    """

    def begins_epoch(s, moves: Bool) -> Bool:
        return moves & (s.partition_registration.leader == nothing)


@bug("keeps-mark", breaks="high_watermark_in_log", steps=5, in_force=UNRELEASED)
class KeepsMark(Election):
    """A broker that lost a tail of its log starts with the high watermark of before.

    Fails high_watermark_in_log.
    """

    def mark_after_cut(s, r: Replica, end: Offset) -> Offset:
        return s.broker[r].high_watermark


@bug(
    "elects-from-isr-only",
    breaks="somebody_leads",
    steps=7,
    at={"max_unclean": 0},
    in_force=UNRELEASED,
)
class ElectsFromIsrOnly(Election):
    """Only members of the ISR are elected: once it is empty, nobody leads ever again.

    Fails somebody_leads.
    """

    def is_eligible(s, r: Replica, isr: Set[Replica], elr: Set[Replica], is_empty: Bool) -> Bool:
        return isr[r]


@bug(
    "waits-after-refusal",
    breaks="requests_are_answered",
    steps=10,
    at={"max_unclean": 0},
    in_force=UNRELEASED,
)
class WaitsAfterRefusal(Election):
    """A leader whose request was refused waits on, and asks for nothing else.

    Fails requests_are_answered.
    """

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The answer is not understood."""
        refused = s.broker[leader].is_current & ~s.may_be_members(leader)
        when(s.broker[leader].is_pending, refused)


@bug(
    "remembers-one",
    breaks="enough_are_asked",
    steps=6,
    at={"max_unclean": 2},
    fixed_by="kip-966",
    in_force=UNRELEASED,
)
class RemembersOne(Kip966):
    """Of those that were eligible only the last leader is remembered, and its log alone asked for.

    Fails enough_are_asked and leader_completeness.
    """

    def is_remembered(s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool) -> Bool:
        return Election.is_remembered(s, r, isr, elr, leads)
