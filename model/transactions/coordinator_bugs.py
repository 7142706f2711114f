"""Bugs of the transaction coordinator. Each class changes a rule of a version of the spec, so that
a claim breaks.

Source: the issues of Apache Kafka and librdkafka that each class names.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    false,
    ite,
    nothing,
    when,
)
from model.releases import LATEST, kafka, unreleased
from model.transactions.state import (
    ABORT,
    PREPARE,
    QUIET,
    CoordinatorEpoch,
    ProducerEpoch,
    TopicPartition,
    Transaction,
)
from model.transactions.versions import Transactions, Verification, Version1
from model.variants import bug


@bug(
    "confirms-when-idle",
    breaks="added_partitions_are_confirmed",
    steps=6,
    at={**QUIET, "coordinator_failures": 1, "partitions": 2, "transactions": 1},
    fixed_by="verification",
    issue="KAFKA-14904",
    in_force=unreleased("fixed before 3.6.0, the first release that verifies"),
)
class ConfirmsWhenIdle(Verification):
    """While the coordinator appends to its own log, it confirms no transaction to a leader.

    A client asks the coordinator to add one partition, and at the same time sends a record to
    another partition of the transaction. During the coordinator's append, the coordinator does not
    confirm the other partition. So the leader of that partition refuses the record, although the
    client made no error (KAFKA-14904).
    """

    def vouches(s, k: Transaction, p: TopicPartition) -> Bool:
        return s.has_added(k, p) & ~s.is_busy()


@bug(
    "acts-on-unreplicated",
    breaks="atomic",
    steps=20,
    at={**QUIET, "coordinator_failures": 2, "partitions": 2, "transactions": 1},
    in_force=kafka("3.9", LATEST, "reproduced on real brokers of 3.9 and 4.3"),
)
class ActsOnUnreplicated(Transactions):
    """A new coordinator acts on the last record of its log before the record is committed.

    For example, the record prepares a commit. The new coordinator sends the markers, one marker
    arrives, and then this coordinator fails. The next coordinator does not have the record. The
    transaction is still open in its log, so it aborts the transaction (finding `lost-decision`).
    """

    @action
    def fail_over_with_append(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log to its end. If the last record prepares a commit or
        abort, the coordinator sends the markers, although the record is not committed.

        Kafka: TransactionStateManager.loadTransactionMetadata.
        Simplified: loading is one step. The record may be committed later.
        """
        appended = s.transaction_state.appended
        when(s.is_appending(), epoch == s.coordinator_epoch + 1, epoch <= s.coordinator_failures)
        k, decides = appended.transaction, appended.state == PREPARE
        s.decided[k] = ite(decides, appended.outcome, s.decided[k])
        for p in TopicPartition:
            s.addressed[k][p] = ite(decides, appended.partitions[p], s.addressed[k][p])
        s.marker_stamp[k] = ite(decides, s.stamp_of_markers(appended), s.marker_stamp[k])
        s.marker_sent[k][epoch] = decides | s.marker_sent[k][epoch]
        s.coordinator_epoch = epoch
        s.answering = nothing
        s.metadata = appended


@bug(
    "epoch-before-pending",
    breaks="no_instance_fences_itself",
    steps=6,
    at=QUIET,
    issue="KAFKA-18464",
    in_force=kafka(None, "3.9"),
)
class EpochBeforePending(Transactions):
    """The coordinator checks the epoch of a request before it checks whether the transactional id
    is busy, for example because markers are not written yet.

    A commit or abort moves the client to a new epoch before the markers of the commit or abort are
    written. If the client begins the next transaction at once, the coordinator refuses the new
    epoch: the client has fenced itself (KAFKA-18464, KAFKA-18660).
    """

    def is_turned_away(s) -> Bool:
        return false


@bug(
    "fences-twice",
    breaks="epochs_stay_in_range",
    steps=9,
    at=QUIET,
    issue="KAFKA-19367",
    in_force=kafka("4.0.0", "4.0.0"),
)
class FencesTwice(Transactions):
    """The coordinator uses two epochs to fence a producer: one epoch for the fence, and one for the
    abort.

    If only one epoch remains, the epoch overflows (KAFKA-19367).
    """

    @action(fair="weak")
    def fence(s) -> None:
        """The coordinator aborts an ongoing transaction, and raises the epoch by 2 instead of 1.

        Kafka: as in the class `Coordinator`, whose simplification and guard this action also has.
        """
        when(s.may_fence())
        s.prepare(s.metadata.transaction, ABORT, s.epoch_of_decision() + 1, s.ends_epochs())


@bug(
    "fence-keeps-id",
    breaks="epochs_stay_in_range",
    steps=12,
    at=QUIET,
    issue="KAFKA-20090",
    in_force=kafka("4.0", "4.2"),
)
class FenceKeepsId(Transactions):
    """When a fence uses up the last epoch of a producer id, the producer retains this producer id.

    The coordinator treats an abort request of the fenced client as a retry, and answers with the
    largest epoch. Under this epoch, the client's next transaction can never end (KAFKA-20090).
    """

    @action(fair="weak")
    def fence(s) -> None:
        """The coordinator aborts an ongoing transaction. The producer retains its producer id, even
        if the abort uses up the last epoch.

        Kafka: as in the class `Coordinator`, whose simplification and guard this action also has.
        """
        when(s.may_fence())
        s.prepare(s.metadata.transaction, ABORT, s.epoch_of_decision(), false)


@bug(
    "forgets-failed-fence",
    breaks="metadata_is_the_log",
    steps=8,
    at={**QUIET, "append_failures": 2},
    fixed_by="v1",
    issue="KAFKA-9666",
    in_force=kafka("0.11", "2.5"),
)
class ForgetsFailedFence(Version1):
    """The coordinator raises the producer epoch again for each attempt to append a fence to its
    log.

    If the append fails, the epoch in the metadata is larger than the epoch in the log. After many
    failures, no epochs remain (KAFKA-9666).
    """

    def epoch_of_fence(s) -> ProducerEpoch:
        return s.metadata.producer_epoch + 1
