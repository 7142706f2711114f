"""Bugs of the spec `election`: each class leaves out one rule, and so breaks a claim.

The decorator of the class names the claim.

Source: KIP-497, KIP-903 and KIP-966, and the issues of Kafka that the decorators name.
"""

from __future__ import annotations

from model.election.state import BrokerEpoch, Offset, RecordId, Replica
from model.election.versions import Election, Kip966
from model.language import Bool, Set, action, false, nothing, true, when
from model.releases import LATEST, UNRELEASED, kafka, unreleased
from model.variants import bug


@bug(
    "counts-known-isr",
    breaks="leader_completeness",
    steps=10,
    at={"log_size": 2, "max_records": 2, "max_unclean": 0, "min_isr": 1},
    issue="KIP-497",
    in_force=UNRELEASED,
)
class CountsKnownIsr(Election):
    """A leader commits a record as soon as the members of its known ISR have it. It does not wait
    for a replica that it has requested to add.

    The controller may have added this replica already, and may elect it. The record is then lost.
    KIP-497 prevents this loss by the maximal ISR, which includes the replicas of a pending request.
    """

    def is_maximal_isr(s, leader: Replica, r: Replica) -> Bool:
        return s.broker[leader].isr[r]


@bug(
    "ignores-broker-epochs",
    breaks="leader_completeness",
    steps=12,
    issue="KAFKA-14139",
    in_force=kafka(None, "3.4"),
)
class IgnoresBrokerEpochs(Election):
    """A leader adds a restarted broker to the ISR because of a fetch that the broker sent before
    its restart.

    The restarted broker has an empty disk (KAFKA-14139, fixed by KIP-903).
    """

    def is_same_registration(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        return true


@bug(
    "reads-replica-twice",
    breaks="leader_completeness",
    steps=17,
    at={"log_size": 2, "max_records": 2},
    issue="KAFKA-15221",
    in_force=kafka("3.5", "3.6"),
)
class ReadsReplicaTwice(Election):
    """A leader combines a follower's offset from before a restart with the broker epoch from after
    this restart.

    The leader reads the two values one after the other. Between the two reads, the follower has
    restarted with an empty disk and has fetched again (KAFKA-15221).
    """

    @action
    def take_late_fetch(s, leader: Replica, follower: Replica) -> None:
        """A leader combines the offset of a late fetch with the broker epoch of the newest
        fetch.
        """
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
    issue="KIP-966",
    in_force=kafka("0.8.2", "3.6"),
)
class CommitsBelowMinIsr(Election):
    """A leader commits a record although its ISR has fewer than min.insync.replicas members.

    A replica that has left the ISR lacks the record, but is still in the ELR and may be elected
    (KIP-966).
    """

    def may_commit(s, leader: Replica) -> Bool:
        return true


@bug(
    "elects-the-dead",
    breaks="leader_is_alive_and_in_isr",
    steps=4,
    at={"min_isr": 1},
    issue="KAFKA-19522",
    in_force=kafka("4.0.0", "4.0.0", needs="eligible.leader.replicas.version=1"),
)
class ElectsTheDead(Election):
    """The controller elects the last known leader although this broker is fenced (KAFKA-19522)."""

    def is_last_known_leader(s, r: Replica, alive: Set[Replica], none_eligible: Bool) -> Bool:
        return none_eligible & s.partition_registration.last_known[r]


@bug(
    "admits-unclean",
    breaks="leader_completeness",
    steps=9,
    issue="KAFKA-18635",
    in_force=unreleased("3.7 lacks the check, but its ELR needs an unstable metadata version"),
)
class AdmitsUnclean(Election):
    """A broker that stopped uncleanly stays in the ISR and in the ELR (KAFKA-18635).

    The broker has lost committed records, and may be elected.
    """

    def is_unclean(s, r: Replica) -> Bool:
        return false


@bug(
    "fences-in-batch",
    breaks="leader_is_alive_and_in_isr",
    steps=3,
    at={"max_unclean": 2},
    issue="KAFKA-13173",
    in_force=kafka("2.8", "2.8", "where KRaft was a preview"),
)
class FencesInBatch(Election):
    """The controller fences all stopped brokers in one step, but fences each broker as if the other
    stopped brokers were alive.

    So the controller may elect a broker that it fences in the same step (KAFKA-13173).
    """

    @action(fair="weak")
    def detect_crash(s, r: Replica) -> None:
        """The controller fences all stopped brokers in one step, but only one of them leaves the
        ISR.
        """
        when(~s.broker[r].is_up, s.is_alive(r))
        s.change_partition(s.remaining_isr(r), s.alive() - {r})
        for x in Replica:
            s.registration[x].fenced = s.registration[x].fenced | ~s.broker[x].is_up


@bug(
    "trusts-one-ack",
    breaks="leader_completeness",
    steps=2,
    at={"max_unclean": 0},
    issue="KAFKA-20554",
    in_force=kafka(None, LATEST, needs="acks=1, as documented"),
)
class TrustsOneAck(Election):
    """A record counts as committed as soon as its leader has it, because acks=1 acknowledges such a
    record.

    This is no bug of Kafka, because acks=1 promises nothing more. It shows what acks=all prevents:
    a planned move of leadership can lose the record (KAFKA-20554).
    """

    def is_committed(s, record: RecordId) -> Bool:
        return record < s.next_id


@bug(
    "elects-anybody",
    breaks="leader_completeness",
    steps=6,
    at={"max_unclean": 0, "min_isr": 1},
    in_force=kafka(None, LATEST, needs="unclean.leader.election.enable=true"),
)
class ElectsAnybody(Election):
    """If no eligible replica is alive, the controller elects any live replica.

    This is a control experiment, not a bug of Kafka: the setting
    unclean.leader.election.enable=true accepts the loss of committed records.
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
    """Kafka's election of the last known leader. It breaks a promise of KIP-966.

    KIP-966 promises that no record is lost while fewer than min.insync.replicas brokers lose
    records. In this bug, two brokers stop uncleanly, and only one of them loses a record: the last
    leader. This leader leads again, and the other broker truncates the record. The loss was
    reproduced on brokers of Kafka 4.3.
    """

    def is_tolerable(s) -> Bool:
        return s.losses < min(s.min_isr, s.replicas)


@bug(
    "min-isr-of-partition-0",
    breaks="leader_completeness",
    steps=9,
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class MinIsrOfPartition0(Election):
    """The controller treats min.insync.replicas as 1, because partition 0 of the topic has one
    replica.

    Kafka limits min.insync.replicas to the number of replicas of partition 0. The spec describes
    another partition, which has more replicas.

    If the ISR of this partition has only one member, the controller empties the ELR. But an ISR
    with one member commits no record. The replicas of the ELR have every committed record, but they
    can no longer be elected. A replica that lacks these records may be elected instead.

    Kafka: ReplicationControlManager.getTopicEffectiveMinIsr.
    """

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        return ~s.is_empty(isr)


@bug(
    "eligible-for-ever",
    breaks="candidate_completeness",
    steps=6,
    at={"max_unclean": 0, "replicas": 3},
    in_force=UNRELEASED,
)
class EligibleForEver(Election):
    """A replica in the ELR stays in the ELR for ever, even when the ISR can commit records without
    this replica.

    In addition to its own claim, this bug breaks the claim `isr_and_elr`.
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
    """After any refusal of its AlterPartition request, a leader drops the ISR that it requested.

    For example, the controller accepts a request that adds a replica. The leader repeats the
    request, and the controller refuses the repeated request because of its old partition epoch. The
    leader then commits records that the added replica may lack. Only the error INELIGIBLE_REPLICA
    means that the controller has not added the replica.
    """

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses an AlterPartition request for any reason, and the leader drops
        the ISR that it requested.
        """
        granted = s.broker[leader].is_current & s.may_be_members(leader)
        when(s.presumes_leadership(leader), s.broker[leader].is_pending, ~granted)
        s.clear_request(leader)


@bug(
    "joins-below-high-watermark",
    breaks="candidate_completeness",
    steps=9,
    at={"log_size": 2, "max_records": 2, "max_unclean": 0, "min_isr": 1},
    in_force=UNRELEASED,
)
class JoinsBelowHighWatermark(Election):
    """A follower joins the ISR although its log ends below the leader's high watermark.

    The leader only checks that the follower has the records from before the leader's epoch.
    """

    def has_caught_up(s, leader: Replica, end: Offset) -> Bool:
        return s.start_offset(leader) <= end


@bug("keeps-epoch", breaks="one_leader_per_epoch", steps=2, in_force=UNRELEASED)
class KeepsEpoch(Election):
    """The controller begins a new leader epoch only if the partition had no leader before.

    If another leader replaces a leader directly, the old leader does not learn this. This bug also
    breaks the claim `epochs_grow`.
    """

    def begins_epoch(s, moves: Bool) -> Bool:
        return moves & (s.partition_registration.leader == nothing)


@bug("keeps-high-watermark", breaks="high_watermark_in_log", steps=5, in_force=UNRELEASED)
class KeepsHighWatermark(Election):
    """A broker that has lost the tail of its log retains its old high watermark, which is beyond
    the end of the log.
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
    """The controller elects only members of the ISR. If the ISR is empty, the partition
    therefore never has a leader again.
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
    """A leader waits for ever for a response to its AlterPartition request, although the
    controller has refused the request.
    """

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses an AlterPartition request, and the leader still waits for a
        response.
        """
        refused = s.broker[leader].is_current & ~s.may_be_members(leader)
        when(s.broker[leader].is_pending, refused)


@bug(
    "remembers-one",
    breaks="enough_last_known_leaders",
    steps=6,
    at={"max_unclean": 2},
    fixed_by="kip-966",
    in_force=UNRELEASED,
)
class RemembersOne(Kip966):
    """The controller remembers only the last leader, instead of all last known eligible leaders.

    So a recovery reads only the log of the last leader. This bug also breaks the claim
    `leader_completeness`.
    """

    def is_kept_as_last_known(
        s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool
    ) -> Bool:
        return Election.is_kept_as_last_known(s, r, isr, elr, leads)
