"""Bugs of the verification of transactions by partition leaders, and limits of this verification.

The last three classes show what KIP-890 part 1 does not guarantee. In `believes-late-records`, the
claims make no exception for late records. In `believes-late-requests`, they make no exception for
late requests. So these claims break. In `confirms-after-failover`, a replaced coordinator still
confirms transactions, as in Kafka.
"""

from __future__ import annotations

from model.coordinator_abstract.state import (
    CoordinatorEpoch,
    Metadata,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.verification_claims import Verification
from model.language import Bool, Map, Set, action, all_of, any_of, false
from model.releases import UNRELEASED, kafka, unreleased
from model.variants import bug


@bug(
    "verifies-nothing",
    breaks="no_hanging_transaction",
    steps=10,
    at={"transactions": 1},
    fixed_by="kip-890-part-1",
    issue="KAFKA-14402",
    in_force=kafka("0.11", "3.5"),
)
class VerifiesNothing(Verification):
    """A leader appends a record without verification, if the coordinator has added the record's
    partition to the transaction. Kafka did so before KIP-890 (KAFKA-14402).

    Kafka 0.11 to 3.5 also append records of partitions that were never added. If a record arrives
    after the marker of its transaction, it opens a transaction that nothing ends. The action
    `append` breaks the claim `no_hanging_transaction`.
    """

    def is_verified(s, x: Transaction, t: TopicPartition) -> Bool:
        return s.added[x][t]


@bug(
    "appends-without-guard",
    breaks="no_hanging_transaction",
    steps=12,
    at={"transactions": 1},
    fixed_by="kip-890-part-1",
    issue="KAFKA-14884",
    in_force=unreleased("3.6.0, the first release that verifies, has the guard"),
)
class AppendsWithoutGuard(Verification):
    """After the coordinator has confirmed a transaction, the leader appends the record without a
    check of its VerificationGuard (KAFKA-14884).

    If the marker arrives between the confirmation and the append, the record is appended to a
    transaction that has ended. No later marker ends this record's transaction. The action `append`
    breaks the claim `no_hanging_transaction`.
    """

    answered: Map[Transaction, Set[TopicPartition]]  # the coordinator has confirmed it at some time

    def is_verified(s, x: Transaction, t: TopicPartition) -> Bool:
        return s.answered[x][t]

    @action
    def confirm(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator confirms the transaction, and the leader never forgets this confirmation
        (KAFKA-14884).
        """
        s.answered[x][t] = True
        super().confirm(x, t)


@bug(
    "marker-keeps-guard",
    breaks="no_hanging_transaction",
    steps=12,
    at={"transactions": 1},
    fixed_by="kip-890-part-1",
    in_force=UNRELEASED,
)
class MarkerKeepsGuard(Verification):
    """A marker does not remove the VerificationGuards of its producer id.

    So if the verification of a record began before the marker, the record is appended after the
    marker. The action `write_marker` breaks the lemma `a_verified_request_is_covered`.
    """

    def ends_verifications(s, t: TopicPartition, p: ProducerId) -> None: ...


@bug(
    "vouches-for-prepared",
    breaks="no_hanging_transaction",
    steps=12,
    at={"transactions": 1},
    fixed_by="kip-890-part-1",
    in_force=UNRELEASED,
)
class VouchesForPrepared(Verification):
    """The coordinator also confirms a transaction that it has prepared to commit or abort.

    The partition may already have written the marker of this transaction, and no other marker
    follows. The action `confirm` breaks the lemma `a_verified_request_is_covered`.
    """

    def vouches(s, x: Transaction, t: TopicPartition) -> Bool:
        m = s.metadata_of(x)
        return all_of(any_of(m.is_ongoing, m.is_prepared), s.is_current(x), m.partitions[t])


# ---- what verification does not promise


@bug(
    "believes-late-records",
    breaks="faithful",
    steps=15,
    fixed_by="kip-1228",
    in_force=kafka("3.6", "3.9"),
)
class BelievesLateRecords(Verification):
    """The spec's version `kip-890-part-1`, with claims that make no exception for late records.

    A leader verifies a late record of an aborted transaction as a record of the next transaction,
    because both transactions have the same epoch. The late record is then committed with the next
    transaction. Only a separate epoch for each transaction prevents this (KIP-890 part 2). The
    action `append` breaks the lemma `pending_records_are_of_the_newest_epoch`.
    """

    def is_late_record(s, x: Transaction, t: TopicPartition) -> Bool:
        return false


@bug(
    "believes-late-requests",
    breaks="the_client_decides",
    steps=17,
    fixed_by="kip-1228",
    issue="KAFKA-17754",
    in_force=kafka("3.6", "3.9"),
)
class BelievesLateRequests(Verification):
    """The spec's version `kip-890-part-1`, with claims that make no exception for late requests
    (KAFKA-17754).

    A late request to commit has the same epoch as the next transaction, so it commits the next
    transaction. The action `prepare_commit` breaks the lemma `a_record_has_a_begun_transaction`.
    """

    def is_late_request(s, x: Transaction) -> Bool:
        return false


@bug(
    "confirms-after-failover",
    breaks="no_hanging_transaction",
    steps=13,
    at={"transactions": 1},
    fixed_by="kip-1228",
    in_force=kafka("3.6", "3.9"),
)
class ConfirmsAfterFailover(Verification):
    """A coordinator that was replaced still confirms transactions, from its memory.

    The replaced coordinator does not know that another coordinator has ended the transaction. It
    confirms the transaction to a leader that has already written the marker. The leader then
    appends a record, and no marker ends the transaction of this record. The action `confirm` breaks
    the lemma `a_verified_request_is_covered`.

    Source: TransactionCoordinator.handleVerifyPartitionsInTransaction of Apache Kafka 3.9, which
    writes nothing to the log. Kafka 4.0 to 4.3 do the same for clients of transaction version 1.
    """

    remembered: Map[TransactionalId, Metadata]  # in the memory of the replaced coordinator

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log. The replaced coordinator still has its copy of the log
        in memory.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        Simplified: only the most recently replaced coordinator has a copy.
        """
        for i in TransactionalId:
            s.remembered[i] = s.log[i]
        super().fail_over(epoch)

    def vouches(s, x: Transaction, t: TopicPartition) -> Bool:
        m = s.remembered[s.stamp[x].transactional_id]
        is_remembered = all_of(
            m.is_ongoing,
            m.producer_id == s.stamp[x].producer_id,
            m.producer_epoch == s.stamp[x].producer_epoch,
            m.partitions[t],
        )
        return super().vouches(x, t) | is_remembered
