"""Bugs of transactions. Each class changes a rule of a version of the spec, so that a claim breaks.

Source: the issues of Apache Kafka and librdkafka that each class names.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Set,
    action,
    false,
    first,
    greatest_of,
    ite,
    nothing,
    true,
    when,
)
from model.releases import LATEST, InForce, kafka, unreleased
from model.transactions.state import (
    ABORT,
    COMPLETE,
    DEAD,
    EMPTY,
    FENCED,
    INVALID_TXN_STATE,
    PREPARE,
    QUIET,
    CoordinatorEpoch,
    Error,
    Instance,
    Offset,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
)
from model.transactions.versions import LaxMarkers, Transactions, Verification, Version1
from model.variants import bug

# ---- partitions


@bug(
    "keeps-guard",
    breaks="no_hanging_transaction",
    steps=9,
    at={**QUIET, "records_late": True, "transactions": 1},
    fixed_by="verification",
    issue="KAFKA-14884",
    in_force=unreleased("3.6.0, the first release that verifies, has the guard"),
)
class KeepsGuard(Verification):
    """A leader's verification of a transaction stays valid after the leader has appended the
    transaction's marker.

    The coordinator confirms the transaction to the leader, and then aborts the transaction. After
    the marker, the leader still appends a late record, which opens a transaction that never ends
    (KAFKA-14884).
    """

    def keeps_guard(s, k: Transaction, producer_id: ProducerId) -> Bool:
        return true


@bug(
    "ongoing-by-id",
    breaks="markers_close_their_own",
    steps=12,
    at=QUIET,
    fixed_by="lax-markers",
    issue="KAFKA-18575",
    in_force=unreleased("4.0.0, the first release of version 2, compares the epoch"),
)
class OngoingById(LaxMarkers):
    """A leader appends a record if any transaction of the record's producer id is open, even one of
    another epoch.

    A record of the next transaction may arrive before the marker of the open transaction. The
    leader appends the record as if it belonged to the open transaction (KAFKA-18575, KAFKA-18654).
    """

    def is_ongoing(s, p: TopicPartition, k: Transaction) -> Bool:
        return s.has_open(p, s.stamp[k].producer_id)


@bug(
    "refuses-repeated-markers",
    breaks="markers_are_accepted",
    steps=10,
    at={**QUIET, "coordinator_failures": 1},
    issue="KAFKA-19999",
    in_force=unreleased("4.2.0, the first with the strict check, takes the retry"),
)
class RefusesRepeatedMarkers(Transactions):
    """A partition refuses a marker that it already has, and the coordinator gives up.

    A new coordinator sends every marker again. The partition answers the repeated marker with
    INVALID_PRODUCER_EPOCH. The coordinator does not retry after this error, so the transaction
    never completes (KAFKA-19999).
    """

    def accepts_marker(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        return ~s.fences(p, i, producer_epoch) & ~s.has_seen(p, i, producer_epoch)


@bug(
    "guard-before-epoch",
    breaks="the_fenced_get_a_fencing_error",
    steps=7,
    at=QUIET,
    issue="KAFKA-19690",
    in_force=kafka("3.6", "4.1", fixed_in=("3.9", "4.1")),
)
class GuardBeforeEpoch(Transactions):
    """A leader checks the verification of a record's transaction before it checks the epoch of the
    record.

    A fenced producer receives INVALID_TXN_STATE, which is fatal, instead of INVALID_PRODUCER_EPOCH
    (KAFKA-19690).
    """

    def refusal(s, p: TopicPartition, k: Transaction) -> Error:
        return ite(s.may_append(p, k), FENCED, INVALID_TXN_STATE)


@bug(
    "unclean-election",
    breaks="no_hanging_transaction",
    steps=10,
    at={**QUIET, "leader_changes": 1, "transactions": 1},
    issue="KAFKA-20716",
    in_force=kafka(None, LATEST, needs="unclean.leader.election.enable=true"),
)
class UncleanElection(Transactions):
    """A replica that lacks a committed record becomes the partition's leader.

    The new leader lacks a marker, so a completed transaction is open again (KAFKA-20716).
    """

    def may_lead_with(s, p: TopicPartition, end: Offset) -> Bool:
        return true


@bug(
    "stable-at-first-open",
    breaks="stable_offsets_do_not_go_back",
    steps=10,
    at={**QUIET, "leader_changes": 1, "replication_lags": True, "transactions": 1},
    issue="KAFKA-5121",
    in_force=unreleased("0.11.0.0, the first with transactions, waits for the replicas"),
)
class StableAtFirstOpen(Transactions):
    """The last stable offset passes the records of a transaction whose marker is not committed.

    If a new leader lacks the marker, the last stable offset falls (KAFKA-5121).
    """

    def last_stable_offset(s, p: TopicPartition) -> Offset:
        end = s.log[p].high_watermark
        return first(Offset, lambda o: (o < end) & s.is_open(p, o), default=end)


@bug(
    "reads-high-watermark-twice",
    breaks="no_aborted_read",
    steps=9,
    at={**QUIET, "replication_lags": True, "transactions": 1},
    issue="KAFKA-9807",
    in_force=kafka(None, "2.4"),
)
class ReadsHighWatermarkTwice(Transactions):
    """A fetch reads the high watermark twice: before and after it computes the last stable offset.

    Between the two reads, the high watermark passes a record of an open transaction (KAFKA-9807).
    """

    compared: Set[TopicPartition]  # the fetch found nothing open below the high watermark
    returned: Map[TopicPartition, Offset]

    @action
    def compare(s, p: TopicPartition) -> None:
        """A fetch begins. It compares the last stable offset with the high watermark, and finds
        them equal: no transaction is open.
        """
        when(s.last_stable_offset(p) == s.log[p].high_watermark)
        s.compared[p] = True

    @action
    def look_again(s, p: TopicPartition) -> None:
        """The fetch ends: it reads the high watermark a second time, and returns all records below
        the high watermark.
        """
        when(s.compared[p])
        s.compared[p] = False
        s.returned[p] = s.log[p].high_watermark

    def read_committed_end(s, p: TopicPartition) -> Offset:
        stable = s.last_stable_offset(p)
        return greatest_of(stable, s.returned[p])


# ---- the coordinator


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

    The record prepares a commit. The new coordinator sends the markers, and one of them arrives.
    Then it fails, and the next coordinator does not have the record. The transaction is open in its
    log, and it aborts the transaction (finding `lost-decision`).
    """

    @action
    def fail_over_with_append(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log to its end. If the last record prepares a commit or
        abort, the coordinator sends the markers, although the record is not committed.

        Kafka: TransactionStateManager.loadTransactionMetadata.
        Simplified: the coordinator that acted on a record never commits it.
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
        """The coordinator aborts an ongoing transaction, and raises the epoch by 2 instead of 1."""
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


# ---- clients


@bug(
    "returns-after-expiry",
    breaks="zombies_write_nothing",
    steps=9,
    at={**QUIET, "ids_expire": True, "instances": 2, "transactions": 1},
    issue="KAFKA-18019",
    in_force=kafka(None, "3.9"),
)
class ReturnsAfterExpiry(Transactions):
    """An instance whose transactional id has expired asks for a producer id again, and receives
    one.

    The old instance does not know that a newer instance has replaced it. It should close when it
    receives INVALID_PRODUCER_ID_MAPPING (KAFKA-18019). Since Kafka 4.0, the Java client closes;
    the coordinator of Kafka 4.3 still gives it another producer id.
    """

    @action
    def init_again(s, i: Instance) -> None:
        """A client whose transactional id has expired receives another producer id."""
        unused = s.take_producer_id(true)
        when(
            s.metadata.state == DEAD,
            ~s.is_busy(),
            s.producer[i].producer_id != nothing,
            s.producer[i].error == nothing,
        )
        s.write(s.idle(EMPTY, unused, ProducerEpoch(0)), answering=i)


@bug(
    "bumps-in-mid-transaction",
    breaks="a_commit_is_whole",
    steps=12,
    at={**QUIET, "partitions": 2},
    fixed_by="v1",
    issue="librdkafka 3575",
    in_force=InForce(of="librdkafka"),
)
class BumpsInMidTransaction(Version1):
    """A client whose record was refused moves to a new epoch and continues its transaction.

    The coordinator has aborted the earlier records of the transaction, and the client commits only
    the remaining records (librdkafka 3575).
    """

    @action
    def bump(s, k: Transaction, i: Instance) -> None:
        """A fenced client sends InitProducerId, and receives the next epoch.

        Simplified: the client does so only while the producer id has unused epochs.
        """
        m = s.metadata
        when(
            s.owner[k] == i,
            s.is_waiting(k),
            m.state == COMPLETE,
            m.transaction == k,
            ~s.is_current(k),
            m.producer_epoch <= s.max_epoch,
        )
        s.stamp[k].producer_epoch = m.producer_epoch
        s.producer[i].producer_epoch = m.producer_epoch
