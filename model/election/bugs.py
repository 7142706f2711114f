"""Bugs of elections: each class leaves out one rule, and its decorator names the claim that fails.

Source: KIP-497, KIP-903 and KIP-966 for faults that those designs fixed before they shipped, and
the issue of each class. A bug without an issue breaks a claim that no other variant breaks.
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
    """A leader commits when the ISR that it knows has a record, although a larger ISR is proposed.

    The controller may have granted a member that lacks the record, and may elect that member:
    KIP-497's maximal ISR prevents that. Fails leader_completeness.
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
    """A fetch from a broker's last life lets the broker into the ISR with an empty disk
    (KAFKA-14139).

    KIP-903 fixed that. Fails leader_completeness.
    """

    def is_same_registration(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
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

    Between the two reads the follower has returned with an empty disk and fetched (KAFKA-15221).
    Fails leader_completeness.
    """

    @action
    def take_late_fetch(s, leader: Replica, follower: Replica) -> None:
        """The offset is that of a late fetch, the broker epoch that of the newest fetch."""
        fetch = s.late_fetch
        when(
            fetch.follower == follower,
            s.presumes_leadership(leader),
            follower != leader,
            fetch.leader_epoch == s.broker[leader].leader_epoch,
            s.has_last_record_of(fetch, leader),
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
    """A leader commits alone, although its ISR has fewer than min.insync.replicas members.

    A replica that left the ISR lacks the record and is eligible all the same (KIP-966). Fails
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
    in_force=kafka("4.0.0", "4.0.0"),
)
class ElectsTheDead(Election):
    """The last known leader is elected although it is fenced (KAFKA-19522).

    Fails leader_is_alive_and_in_isr.
    """

    def is_last_known_leader(s, r: Replica, alive: Set[Replica], none_eligible: Bool) -> Bool:
        return none_eligible & s.partition_registration.last_known[r]


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

    It has lost committed records and is elected. Fails leader_completeness.
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
    """All brokers whose sessions ended are fenced at once, each as if the others were alive.

    Another broker that is being fenced is elected (KAFKA-13173). Fails leader_is_alive_and_in_isr.
    """

    @action(fair="weak")
    def detect_crash(s, r: Replica) -> None:
        """The sessions of all stopped brokers end in one step."""
        when(~s.broker[r].is_up, s.is_alive(r))
        s.change_partition(s.remaining_isr(r), s.alive() - {r})
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
    """A record on its leader alone counts as durable, because acks=1 acknowledges it.

    A control, not a bug of Kafka: a planned move may lose such a record (KAFKA-20554). Fails
    leader_completeness.
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
    """When no eligible replica is alive, any live replica leads:
    unclean.leader.election.enable=true.

    A control, not a bug of Kafka: that setting accepts the loss of committed records. Fails
    leader_completeness.
    """

    def is_last_known_leader(s, r: Replica, alive: Set[Replica], none_eligible: Bool) -> Bool:
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
    """The shipped election of the last known leader, judged by the promise of KIP-966.

    KIP-966 promises that fewer losses than min.insync.replicas lose no record. Two brokers stop
    uncleanly and one of them loses a record. If that one led last, it leads again, and the other
    truncates the record that it still has. Reproduced on brokers of Kafka 4.3. Fails
    leader_completeness.
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
    """A replica that was eligible once stays eligible, while a large enough ISR commits without it.

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
    """After any refusal of AlterPartition a leader returns to the ISR that it had before.

    The request may have been granted, and refused when it was repeated with an old partition epoch.
    Only INELIGIBLE_REPLICA means that it was not granted. Fails leader_completeness.
    """

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses, and the leader returns to the ISR that it last knew."""
        granted = s.broker[leader].is_current & s.may_be_members(leader)
        when(s.presumes_leadership(leader), s.broker[leader].is_pending, ~granted)
        s.clear_request(leader)


@bug(
    "joins-below-mark",
    breaks="candidate_completeness",
    steps=9,
    at={"log_size": 2, "max_records": 2, "max_unclean": 0, "min_isr": 1},
    in_force=UNRELEASED,
)
class JoinsBelowMark(Election):
    """A follower joins the ISR with all records of older leaders, but below the high watermark.

    Fails candidate_completeness.
    """

    def has_caught_up(s, leader: Replica, end: Offset) -> Bool:
        return s.start_offset(leader) <= end


@bug("keeps-epoch", breaks="one_leader_per_epoch", steps=2, in_force=UNRELEASED)
class KeepsEpoch(Election):
    """A leader epoch begins only when the partition had no leader.

    A leader that is replaced at once does not learn that. Fails one_leader_per_epoch and
    epochs_grow.
    """

    def begins_epoch(s, moves: Bool) -> Bool:
        return moves & (s.partition_registration.leader == nothing)


@bug("keeps-mark", breaks="high_watermark_in_log", steps=5, in_force=UNRELEASED)
class KeepsMark(Election):
    """A broker that lost the tail of its log starts with the high watermark that it had before.

    Fails high_watermark_in_log.
    """

    def high_watermark_after_truncation(s, r: Replica, end: Offset) -> Offset:
        return s.broker[r].high_watermark


@bug(
    "elects-from-isr-only",
    breaks="somebody_leads",
    steps=7,
    at={"max_unclean": 0},
    in_force=UNRELEASED,
)
class ElectsFromIsrOnly(Election):
    """Only members of the ISR are elected, so an empty ISR leaves the partition without a leader
    for ever.

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
    """A leader whose AlterPartition request was refused keeps waiting for an answer.

    Fails requests_are_answered.
    """

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses, and the leader ignores the answer."""
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
    """Of the last known eligible leaders only the last leader is kept, so recovery reads only its
    log.

    Fails enough_are_asked and leader_completeness.
    """

    def is_kept_as_last_known(
        s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool
    ) -> Bool:
        return Election.is_kept_as_last_known(s, r, isr, elr, leads)
