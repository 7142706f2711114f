"""Bugs of two-phase commit (KIP-939). Each class replaces a rule of the spec's version `kip-939`.

A new instance *keeps* the ongoing transaction of an older instance: it sends InitProducerId with
keepPreparedTxn. Then it ends this transaction as the database decided.

No release of Kafka has KIP-939, so nobody has reported these bugs. The first six bugs have the same
names in the spec `transactions`.

Source: KIP-939.
"""

from __future__ import annotations

from model.coordinator_abstract.actions import AbstractCoordinatorActions
from model.coordinator_abstract.state import (
    CoordinatorEpoch,
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.two_phase_claims import TwoPhaseCommit
from model.coordinator_abstract.two_phase_commit import PreparedState
from model.language import Bool, action, false, ite, true
from model.releases import UNRELEASED
from model.variants import Constants, bug

ONE: Constants = {"instances": 2, "transactions": 1}


@bug(
    "times-out",
    breaks="the_coordinator_aborts_nothing_alone",
    steps=8,
    at={"instances": 1, "transactions": 1},
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class TimesOut(TwoPhaseCommit):
    """The coordinator aborts a transaction of two-phase commit that timed out.

    The client does not know of the abort. So the database commits its part of the transaction, and
    Kafka does not. The action `fence` breaks the lemma `a_record_has_a_begun_transaction`.
    """

    def may_fence(s, m: Metadata) -> Bool:
        return AbstractCoordinatorActions.may_fence(s, m)


@bug(
    "aborts-prepared",
    breaks="a_database_commit_stays",
    steps=9,
    at=ONE,
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class AbortsPrepared(TwoPhaseCommit):
    """When a new instance starts, the coordinator aborts the ongoing transaction: it ignores
    keepPreparedTxn.

    Kafka 4.1 to 4.3 do not have this bug: they refuse a request with keepPreparedTxn. If a request
    does not have keepPreparedTxn, they abort the ongoing transaction of the older instance. The
    action `keep_prepared` breaks the lemma `a_record_has_a_begun_transaction`.
    """

    def keep(
        s, i: TransactionalId, c: Instance, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> None:
        m, another = s.log[i], s.log[i].producer_id != producer_id
        marker_epoch = ite(another, s.last_epoch, producer_epoch)
        s.prepare(i, (m.transaction, false), marker_epoch, producer_id, another)


@bug(
    "raises-epoch-once",
    breaks="one_instance_has_an_epoch",
    steps=13,
    at=ONE,
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class RaisesEpochOnce(TwoPhaseCommit):
    """When a new instance ends the transaction of an older instance, the coordinator does not raise
    the epoch.

    The coordinator raises the epoch only when the new instance starts. Suppose that the new
    instance aborts the transaction, and that the old instance then retries its own abort request.
    The epoch of this retry is one below the epoch in the log. A retry has such an epoch also after
    an abort that raised the epoch. So the coordinator answers the old instance with the epoch of
    the new instance. The action `complete_prepared` breaks the lemma `a_decision_follows`.
    """

    def raises_epoch(s, m: Metadata, marker_epoch: ProducerEpoch) -> Bool:
        return ite(
            s.is_kept(m), m.producer_epoch == marker_epoch, super().raises_epoch(m, marker_epoch)
        )

    @action
    def complete_prepared(
        s, i: TransactionalId, raised_epoch: ProducerEpoch, next_id: ProducerId
    ) -> None:
        """The coordinator commits or aborts a transaction that a new instance keeps
        (keepPreparedTxn).

        The log then has the producer id and epoch of the transaction's records as the previous ones
        (`last_id`, `last_epoch`). In the version `kip-939`, the previous ones are those of the new
        instance.

        Kafka: KIP-939, as in the spec's version `kip-939`.
        """
        records = s.stamp[s.log[i].transaction]
        super().complete_prepared(i, raised_epoch, next_id)
        s.appended[i].last_id = records.producer_id
        s.appended[i].last_epoch = records.producer_epoch


@bug(
    "marks-new-id",
    breaks="no_hanging_transaction",
    steps=15,
    at={**ONE, "producer_ids": 3, "producer_epochs": 2},
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class MarksNewId(TwoPhaseCommit):
    """The markers carry the producer id of the new instance, not the producer id of the records.

    The two producer ids differ if the epochs of the old producer id ran out when the new instance
    received its epoch. Markers with the new producer id do not end the transaction. The action
    `write_marker` breaks the claim `no_hanging_transaction`.
    """

    def id_in_marker(s, x: Transaction) -> ProducerId:
        m = s.metadata_of(x)
        is_new = s.is_ended_for_another(m) & (m.transaction == x)
        return ite(is_new, m.last_id, super().id_in_marker(x))


@bug(
    "ignores-prepared-epoch",
    breaks="the_client_decides",
    steps=15,
    at={"instances": 2, "coordinator_epochs": 1},
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class IgnoresPreparedEpoch(TwoPhaseCommit):
    """completeTransaction compares only the producer ids of the prepared state and the transaction,
    not their epochs.

    The database may still have the prepared state of the previous transaction, with another epoch.
    Then the new instance commits a transaction that the database has not committed. The action
    `request_completion` breaks the lemma `requests_follow_the_database`.
    """

    def is_recorded(s, x: Transaction, state: PreparedState) -> Bool:
        return s.in_database[x] & (s.stamp[x].producer_id == state.producer_id)


@bug(
    "zombie-commits-database",
    breaks="a_database_commit_stays",
    steps=12,
    at=ONE,
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class ZombieCommitsDatabase(TwoPhaseCommit):
    """The database accepts a commit of an instance that a new instance has replaced.

    The new instance finds no prepared state in the database, so it aborts the transaction in Kafka.
    Then the database commits its part for the old instance. Kafka cannot prevent this: the
    application has to fence the old instance in the database, too. The action `commit_in_database`
    breaks the lemma `the_database_commits_or_refuses`.
    """

    def may_decide(s, x: Transaction) -> Bool:
        return true


@bug(
    "forgets-new-epoch",
    breaks="one_instance_has_an_epoch",
    steps=11,
    at=ONE,
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class ForgetsNewEpoch(TwoPhaseCommit):
    """The coordinator's log does not have the producer id and epoch of the new instance.

    After a failover, the next coordinator finds only the epoch of the transaction's records. It
    gives the epoch of the new instance to another instance. The action `fail_over` breaks the lemma
    `no_stamp_is_newer_than_the_log`.
    """

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """The next coordinator reads the log. In this bug, the log lacks the producer id and epoch
        of an instance that keeps a transaction (keepPreparedTxn).

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        """
        super().fail_over(epoch)
        for i in TransactionalId:
            m, records = s.log[i], s.stamp[s.log[i].transaction]
            kept, last_id, last_epoch = s.is_kept(m), records.producer_id, records.producer_epoch
            marker_epoch = ite(kept, ProducerEpoch.least(), m.marker_epoch)
            s.log[i].producer_id = ite(kept, last_id, m.producer_id)
            s.log[i].producer_epoch = ite(kept, last_epoch, m.producer_epoch)
            s.log[i].marker_epoch = marker_epoch
