"""Bugs of the abstract partition: each class changes the spec so that a claim breaks."""

from __future__ import annotations

from model.language import Bool, Set, exists, false, forall, implies, true
from model.reassignment_abstract.state import LeaderEpoch, RecordId, Replica
from model.reassignment_abstract.versions import PartitionProof
from model.releases import LATEST, UNRELEASED, kafka, unreleased
from model.variants import bug


@bug(
    "commits-below-min-isr",
    breaks="eligible_replicas_have_committed_records",
    steps=4,
    issue="KIP-966",
    in_force=kafka("0.8.2", "3.6"),
)
class CommitsBelowMinIsr(PartitionProof):
    """A leader commits a record although its ISR has fewer than min.insync.replicas members.

    A replica in the ELR lacks the record, and may be elected. The action `commit` breaks the lemma
    `members_acknowledged_what_is_committed`.
    """

    def may_commit(s, e: LeaderEpoch) -> Bool:
        return true


@bug(
    "counts-known-isr",
    breaks="eligible_replicas_have_committed_records",
    steps=7,
    issue="KIP-497",
    in_force=UNRELEASED,
)
class CountsKnownIsr(PartitionProof):
    """A leader commits a record without the acknowledgement of a replica that it has proposed to
    add to the ISR.

    The controller may have added this replica, and may elect it. The action `commit` breaks the
    lemma `members_acknowledged_what_is_committed`.
    """

    def waits_for(s, e: LeaderEpoch, r: Replica) -> Bool:
        return s.led[e].isr[r]


@bug(
    "falls-back-on-any-refusal",
    breaks="eligible_replicas_have_committed_records",
    steps=8,
    issue="KIP-497",
    in_force=UNRELEASED,
)
class FallsBackOnAnyRefusal(PartitionProof):
    """After any refusal of an AlterPartition request, a leader commits without the replica that it
    has proposed to add.

    The controller may have added the replica before it refused the request. The action
    `refuse_member` breaks the lemma `a_leader_that_commits_waits_for_every_member`.
    """

    def may_drop(s, e: LeaderEpoch) -> Bool:
        return true


@bug(
    "joins-below-high-watermark",
    breaks="eligible_replicas_have_committed_records",
    steps=7,
    in_force=UNRELEASED,
)
class JoinsBelowHighWatermark(PartitionProof):
    """A follower joins the ISR although it lacks records that the leader has committed in its
    epoch.

    The action `propose_member` breaks the lemma `proposed_replicas_have_caught_up`.
    """

    def has_caught_up(s, r: Replica, e: LeaderEpoch) -> Bool:
        return forall(implies(s.led[e].start[x], s.broker[r].log[x]) for x in RecordId)


@bug(
    "joins-before-epoch",
    breaks="eligible_replicas_have_committed_records",
    steps=10,
    issue="KAFKA-7128",
    in_force=kafka("0.8", "2.0.0"),
)
class JoinsBeforeEpoch(PartitionProof):
    """A follower joins the ISR without the records that the leader had when its epoch began.

    An earlier leader may have committed these records. The action `propose_member` breaks the lemma
    `proposed_replicas_have_caught_up`.
    """

    def has_caught_up(s, r: Replica, e: LeaderEpoch) -> Bool:
        return forall(implies(s.led[e].committed[x], s.broker[r].log[x]) for x in RecordId)


@bug(
    "eligible-for-ever",
    breaks="eligible_replicas_have_committed_records",
    steps=8,
    in_force=UNRELEASED,
)
class EligibleForEver(PartitionProof):
    """A replica that has joined the ELR stays in the ELR, although the ISR is large enough to
    commit records without this replica.

    The lemma `a_large_isr_has_no_elr` breaks.
    """

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        return false


@bug(
    "min-isr-of-partition-0",
    breaks="enough_members_remain",
    steps=1,
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class MinIsrOfPartition0(PartitionProof):
    """The controller empties the ELR as soon as the ISR has one member.

    For every partition, the controller limits min.insync.replicas to the number of replicas of
    partition 0. In this bug, partition 0 has one replica, and the spec describes another partition.
    The replicas in the ELR of this partition have every committed record, but they can no longer be
    elected. The action `shrink_isr` breaks the lemma `enough_members_remain`.
    """

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        return exists(isr[r] for r in Replica)


@bug(
    "admits-unclean",
    breaks="eligible_replicas_have_committed_records",
    steps=7,
    issue="KAFKA-18635",
    in_force=unreleased("3.7 lacks the check, but its ELR needs an unstable metadata version"),
)
class AdmitsUnclean(PartitionProof):
    """A broker that stopped uncleanly stays in the ISR and in the ELR (KAFKA-18635).

    The action `register` breaks the lemma `starting_brokers_are_no_members`.
    """

    def excludes_unclean(s, r: Replica) -> Bool:
        return false


@bug(
    "ignores-broker-epochs",
    breaks="eligible_replicas_have_committed_records",
    steps=10,
    issue="KAFKA-14139",
    in_force=kafka(None, "3.4"),
)
class IgnoresBrokerEpochs(PartitionProof):
    """A leader adds a restarted broker to the ISR because of a fetch that the broker sent before
    its restart.

    The broker has lost records after this fetch (KAFKA-14139). The action `propose_member` breaks
    the lemma `starting_brokers_are_no_members`.
    """

    def is_same_registration(s, r: Replica) -> Bool:
        return true
