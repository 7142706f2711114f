"""Bugs of two-phase commit. Each class changes a rule of the version `kip-939` or
`kip-939-without-keeping`, so that a claim breaks.

No release of Kafka has KIP-939, so nobody has reported these bugs. The rules of KIP-939 prevent
them.

Source: KIP-939.
"""

from __future__ import annotations

from model.language import Bool, ite, true
from model.releases import UNRELEASED
from model.transactions.state import (
    ABORT,
    ONGOING,
    QUIET,
    Instance,
    Metadata,
    ProducerEpoch,
    Stamp,
    Transaction,
)
from model.transactions.two_phase_aborts import WithoutKeeping
from model.transactions.two_phase_commit import TwoPhaseCommit
from model.transactions.versions import Transactions
from model.variants import Constants, bug

ONE: Constants = {**QUIET, "transactions": 1}


@bug(
    "times-out",
    breaks="a_database_commit_stays",
    steps=8,
    at={**ONE, "instances": 1},
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class TimesOut(TwoPhaseCommit):
    """The coordinator aborts a transaction of two-phase commit that timed out.

    The transaction is prepared, and the client does not know of the abort. So the database commits
    its part of the transaction, and Kafka has no committed part.
    """

    def may_fence(s) -> Bool:
        return Transactions.may_fence(s)


@bug(
    "aborts-prepared",
    breaks="a_database_commit_stays",
    steps=8,
    at=ONE,
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class AbortsPrepared(TwoPhaseCommit):
    """The coordinator ignores keepPreparedTxn: it aborts the ongoing transaction when a new
    instance starts.

    Kafka 4.1 to 4.3 refuse a request with keepPreparedTxn. If a new instance sends InitProducerId
    without keepPreparedTxn, Kafka 4.1 to 4.3 abort the ongoing transaction.
    """

    def keep(s, i: Instance) -> None:
        s.prepare(s.metadata.transaction, ABORT, s.epoch_of_decision(), s.ends_epochs())


@bug(
    "raises-epoch-once",
    breaks="no_two_instances_are_one",
    steps=9,
    at={**ONE, "max_epoch": 3},
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class RaisesEpochOnce(TwoPhaseCommit):
    """The coordinator does not raise the epoch when a new instance ends the prepared transaction of
    an older instance.

    So the epoch is raised only once, by the InitProducerId of the new instance. Then a retried
    abort of the old instance looks like a retry of a successful request. So the coordinator answers
    the old instance with the epoch of the new instance.
    """

    def epoch_of_decision(s) -> ProducerEpoch:
        m = s.metadata
        is_kept = (m.state == ONGOING) & ~s.is_current(m.transaction)
        return ite(is_kept, m.producer_epoch, super().epoch_of_decision())


@bug(
    "marks-new-id",
    breaks="no_hanging_transaction",
    steps=10,
    at={**ONE, "max_epoch": 1},
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class MarksNewId(TwoPhaseCommit):
    """The markers carry the producer id of the new instance, and not the producer id of the
    transaction's records.

    The epochs of the old producer id ran out at InitProducerId, so the new instance has another
    producer id. Markers with this producer id do not close the transaction of the old producer id.
    """

    def stamp_of_markers(s, metadata: Metadata) -> Stamp:
        return Transactions.stamp_of_markers(s, metadata)


@bug(
    "ignores-prepared-epoch",
    breaks="the_client_decides",
    steps=16,
    at=QUIET,
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class IgnoresPreparedEpoch(TwoPhaseCommit):
    """completeTransaction compares only the producer ids of the prepared state and of the
    transaction.

    The database may still have the prepared state of the previous transaction. A new instance then
    commits a transaction that the database has not committed.
    """

    def is_recorded(s, j: Transaction, k: Transaction) -> Bool:
        return s.stamp[j].producer_id == s.stamp[k].producer_id


@bug(
    "zombie-commits-database",
    breaks="a_database_commit_stays",
    steps=9,
    at=ONE,
    fixed_by="kip-939",
    in_force=UNRELEASED,
)
class ZombieCommitsDatabase(TwoPhaseCommit):
    """The database accepts a commit of an instance that a new instance has replaced.

    The new instance finds no prepared state, and aborts the transaction in Kafka. The database then
    commits its part for the old instance. The application must fence the old instance in the
    database too, because Kafka cannot do so.
    """

    def may_decide(s, i: Instance) -> Bool:
        return true


@bug(
    "aborts-first",
    breaks="a_database_commit_stays",
    steps=8,
    at=ONE,
    fixed_by="kip-939-without-keeping",
    in_force=UNRELEASED,
)
class AbortsFirst(WithoutKeeping):
    """A new instance sends InitProducerId without keepPreparedTxn before the database refuses the
    old instance.

    The new instance finds no prepared state in the database. Then the old instance commits in the
    database, and Kafka aborts the transaction.
    """

    def is_refused_before(s, i: Instance) -> Bool:
        return true
