"""Bugs of partitions and their leaders. Each class changes a rule of a version of the spec, so that
a claim breaks.

Source: the issues of Apache Kafka and librdkafka that each class names.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Set,
    action,
    first,
    greatest_of,
    ite,
    true,
    when,
)
from model.releases import LATEST, kafka, unreleased
from model.transactions.state import (
    FENCED,
    INVALID_TXN_STATE,
    QUIET,
    Error,
    Offset,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
)
from model.transactions.versions import LaxMarkers, Transactions, Verification
from model.variants import bug


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

        Kafka: UnifiedLog.lastStableOffset.
        Simplified: one fetch at a time reads a partition.
        """
        when(s.last_stable_offset(p) == s.log[p].high_watermark)
        s.compared[p] = True

    @action
    def look_again(s, p: TopicPartition) -> None:
        """The fetch ends: it reads the high watermark a second time, and returns all records below
        the high watermark.

        Kafka: UnifiedLog.highWatermark.
        Simplified: as in `compare`.
        """
        when(s.compared[p])
        s.compared[p] = False
        s.returned[p] = s.log[p].high_watermark

    def read_committed_end(s, p: TopicPartition) -> Offset:
        stable = s.last_stable_offset(p)
        return greatest_of(stable, s.returned[p])
