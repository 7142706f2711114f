"""Bugs of the spec `coordinator-abstract`. Each class changes the spec so that a claim no longer
holds. The decorator of the class names this claim.
"""

from __future__ import annotations

from model.coordinator_abstract.continuation import Continuation
from model.coordinator_abstract.state import (
    CoordinatorEpoch,
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.versions import AbstractCoordinator
from model.language import (
    Bool,
    Map,
    Set,
    action,
    false,
    forall,
    implies,
    ite,
    nothing,
    true,
    when,
)
from model.releases import LATEST, UNRELEASED, kafka, unreleased
from model.variants import bug

# ---- markers


@bug("lax-markers", breaks="faithful", steps=17, issue="KAFKA-19446", in_force=kafka("4.0", "4.1"))
class LaxMarkers(AbstractCoordinator):
    """A partition accepts a marker whose epoch equals the largest epoch that the partition has seen
    (KAFKA-19446).

    A repeated marker ends the producer's next transaction, because the records of this transaction
    carry the epoch of the marker. The action `write_marker` breaks the claims `faithful` and
    `atomic`.
    """

    def accepts_marker(s, t: TopicPartition, p: ProducerId, marker_epoch: ProducerEpoch) -> Bool:
        return s.seen_epoch[t][p] <= marker_epoch


@bug(
    "keeps-epoch",
    breaks="no_hanging_transaction",
    steps=11,
    issue="KAFKA-14402",
    in_force=kafka("0.11", "3.5"),
)
class KeepsEpoch(LaxMarkers):
    """A commit or abort does not raise the producer epoch, as before KIP-890 (KAFKA-14402).

    A partition accepts a late record after the marker of the record's transaction, and no second
    marker follows. A late request to end one transaction ends the producer's next transaction. The
    actions `prepare_commit`, `prepare_abort` and `fence` break the lemma `a_decision_follows`; the
    action `begin` breaks `a_stamp_has_one_transaction`.
    """

    def raises_epoch(s, m: Metadata, marker_epoch: ProducerEpoch) -> Bool:
        return m.producer_epoch == marker_epoch

    def may_begin(s, i: Instance) -> Bool:
        return forall(implies(s.begun[x] & (s.client[x] == i), s.confirmed[x]) for x in Transaction)


@bug(
    "skips-marker",
    breaks="no_hanging_transaction",
    steps=10,
    issue="KAFKA-20734",
    in_force=kafka("4.3", LATEST),
)
class SkipsMarker(AbstractCoordinator):
    """The coordinator completes a transaction although a partition does not have the transaction's
    marker (KAFKA-20734).

    Kafka 4.3.0 treats a partition without a leader as a deleted partition. The action `complete`
    breaks the lemma `a_completion_follows`.
    """

    def may_complete(s, m: Metadata) -> Bool:
        return true


@bug(
    "refuses-repeated-markers",
    breaks="markers_are_accepted",
    steps=8,
    issue="KAFKA-19999",
    in_force=unreleased("4.2.0, the first with the strict check, takes the retry"),
)
class RefusesRepeatedMarkers(AbstractCoordinator):
    """A partition refuses a marker that it has already written (KAFKA-19999).

    After a failover, the next coordinator sends every marker again. It never completes the
    transaction, because the partition never confirms the marker. The action `write_marker` breaks
    the claim `markers_are_accepted`.
    """

    def accepts_marker(s, t: TopicPartition, p: ProducerId, marker_epoch: ProducerEpoch) -> Bool:
        return s.seen_epoch[t][p] < marker_epoch


# ---- the end of epochs


@bug(
    "fence-keeps-id",
    breaks="no_instance_has_the_last_epoch",
    steps=9,
    issue="KAFKA-20090",
    in_force=kafka("4.0", "4.2"),
)
class FenceKeepsId(AbstractCoordinator):
    """When a fence (an abort by the coordinator) uses the largest possible epoch, the producer
    keeps its producer id (KAFKA-20090).

    If the fenced instance then requests the abort, it receives the largest epoch. Its next
    transaction can never end, because no larger epoch exists. The action `fence` breaks the lemma
    `the_log_has_no_last_epoch`.
    """

    def fence_needs_another_id(s, marker_epoch: ProducerEpoch) -> Bool:
        return false


@bug("wraps-epochs", breaks="markers_are_accepted", steps=13, in_force=UNRELEASED)
class WrapsEpochs(AbstractCoordinator):
    """After the largest epoch, a producer keeps its producer id and starts again with the least
    epoch.

    Partitions have seen the largest epoch, so they refuse the marker of the next transaction. A
    late request of an early transaction looks like a new request. The actions `prepare_commit`,
    `prepare_abort` and `fence` break the lemma `a_decision_follows`.
    """

    def needs_another_id(s, marker_epoch: ProducerEpoch) -> Bool:
        return false

    def next_epoch(s, marker_epoch: ProducerEpoch, another: Bool) -> ProducerEpoch:
        return ite(marker_epoch == s.last_epoch, ProducerEpoch.least(), marker_epoch)


# ---- the coordinator's log


@bug("decides-again", breaks="a_decision_survives", steps=10, in_force=UNRELEASED)
class DecidesAgain(AbstractCoordinator):
    """The coordinator aborts a transaction that its log has prepared to commit.

    The action `fence` breaks the lemma `a_decision_follows`.
    """

    def may_fence(s, m: Metadata) -> Bool:
        return m.is_ongoing | m.is_prepared


@bug("answers-early", breaks="an_acknowledged_commit_stays", steps=8, in_force=UNRELEASED)
class AnswersEarly(AbstractCoordinator):
    """The coordinator answers EndTxn before the record of the commit or abort is committed in its
    log.

    If the coordinator then fails, the commit or abort is lost. The action `receive_end` breaks the
    lemma `an_acknowledged_commit_is_decided`.
    """

    def answers_from(s, x: Transaction) -> Metadata:
        i = s.stamp[x].transactional_id
        return ite(s.is_appending[i], s.appended[i], s.log[i])


@bug("writes-after-failover", breaks="a_decision_survives", steps=9, in_force=UNRELEASED)
class WritesAfterFailover(AbstractCoordinator):
    """An append of a failed coordinator is committed after the next coordinator has read the log.

    So both coordinators may end the same transaction, one with a commit and one with an abort. The
    action `commit_late_append` breaks the claim `a_decision_survives`.
    """

    late: Map[TransactionalId, Metadata]
    is_late: Set[TransactionalId]  # the failed coordinator has an append in flight

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log while an append of the old coordinator is in flight."""
        for i in TransactionalId:
            s.is_late[i] = s.is_appending[i]
            s.late[i] = s.appended[i]
        super().fail_over(epoch)

    @action
    def commit_late_append(s, i: TransactionalId) -> None:
        """The append of the failed coordinator is committed."""
        when(s.is_late[i])
        s.is_late[i] = False
        s.take_effect(i, s.late[i], nothing)


@bug("expires-open", breaks="no_hanging_transaction", steps=8, in_force=UNRELEASED)
class ExpiresOpen(AbstractCoordinator):
    """A transactional id expires although its transaction is open: the coordinator appends a
    tombstone.

    After a failover, the new coordinator does not know the transaction. The action `expire` breaks
    the lemma `an_empty_record_follows`.
    """

    def may_expire(s, m: Metadata) -> Bool:
        return true


# ---- fencing


@bug("ignores-epoch", breaks="the_client_decides", steps=11, in_force=UNRELEASED)
class IgnoresEpoch(AbstractCoordinator):
    """The coordinator compares the producer id of a request with its log, but not the producer
    epoch.

    A late request of an earlier transaction commits the present transaction. The actions
    `add_partition`, `prepare_commit` and `prepare_abort` break the lemma
    `a_record_has_a_begun_transaction`.
    """

    def is_current(s, x: Transaction) -> Bool:
        m = s.metadata_of(x)
        return m.is_known & (m.producer_id == s.stamp[x].producer_id)


@bug(
    "fences-nobody",
    breaks="one_instance_has_an_epoch",
    steps=4,
    at={"instances": 2},
    in_force=UNRELEASED,
)
class FencesNobody(AbstractCoordinator):
    """A new instance receives the same epoch as the previous instance of its transactional id.

    The action `init_producer` breaks the lemma `an_empty_record_follows`.
    """

    def fences(s, m: Metadata, producer_epoch: ProducerEpoch) -> Bool:
        return m.producer_epoch == producer_epoch


# ---- clients that continue (KIP-360)


@bug(
    "raises-for-zombies",
    breaks="only_the_newest_instance_has_the_epoch",
    steps=6,
    at={"instances": 2, "transactions": 1},
    fixed_by="kip-360",
    in_force=UNRELEASED,
)
class RaisesForZombies(Continuation):
    """The coordinator raises the epoch for any instance with the present producer id. It does not
    compare the epochs.

    So an instance that was replaced continues, and it fences the instance that replaced it. The
    action `raise_epoch` breaks the lemma `a_continuation_follows`.
    """

    def expects_present(s, c: Instance, m: Metadata) -> Bool:
        return m.producer_id == s.held[c].producer_id


@bug(
    "repeats-for-zombies",
    breaks="one_instance_has_an_epoch",
    steps=8,
    at={"instances": 2, "transactions": 1},
    fixed_by="kip-360",
    in_force=UNRELEASED,
)
class RepeatsForZombies(Continuation):
    """The coordinator repeats its response for any instance with the previous producer id. It does
    not compare the epochs.

    So an instance that was replaced receives the epoch of the instance that replaced it. The action
    `repeat_response` breaks the lemma `a_continuation_follows`.
    """

    def expects_last(s, c: Instance, m: Metadata) -> Bool:
        return m.last_id == s.held[c].producer_id


@bug(
    "new-instance-keeps-last",
    breaks="one_instance_has_an_epoch",
    steps=6,
    at={"instances": 2, "transactions": 1},
    fixed_by="kip-360",
    in_force=UNRELEASED,
)
class NewInstanceKeepsLast(Continuation):
    """When a new instance begins, the coordinator does not clear the previous producer id and epoch
    in its log.

    The coordinator recognizes a repeated request by the previous producer id and epoch. So it
    answers a request of the replaced instance with the new instance's epoch. The action
    `repeat_response` breaks the lemma `a_continuation_follows`.
    """

    def keeps_last(s, i: TransactionalId) -> Bool:
        return s.has_decision(s.log[i]) | s.is_empty(s.log[i])

    @action
    def init_producer(
        s, i: TransactionalId, c: Instance, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> None:
        """A new instance requests an epoch. The coordinator's record also stores the previous
        producer id and epoch.
        """
        m = s.log[i]
        super().init_producer(i, c, producer_id, producer_epoch)
        s.appended[i].last_id = m.producer_id
        s.appended[i].last_epoch = m.producer_epoch
