"""Two-phase commit: a new instance does not keep the prepared transaction of the old instance, so
the coordinator aborts the ongoing transaction.

A new instance may send InitProducerId without keepPreparedTxn. The coordinator then aborts the
ongoing transaction, although the transaction takes part in two-phase commit. This is safe only in a
certain order. First, the application makes its database refuse the old instance. Second, the
application looks for a prepared state in the database. If the database has no prepared state, the
database has committed no part of the ongoing transaction, and it will never commit one.

Only then does the new instance send its request. A prepared state in the database means that Kafka
may not have committed yet: a client removes its prepared state when it knows that Kafka has
committed too.

This version adds two actions:

    database     refuse_older
    coordinator  abort_ongoing

Source: KIP-939; TransactionCoordinator.prepareInitProducerIdTransit of Apache Kafka 4.3.
Simplified: the simplifications of the module `two_phase_commit` apply. The new instance looks for a
prepared state when its request arrives. If another instance commits the transaction of a prepared
state, this prepared state stays in the database.
"""

from __future__ import annotations

from model.language import Bool, action, any_of, exists, when, witness
from model.releases import unreleased
from model.transactions.state import ABORT, ONGOING, Instance, Transaction
from model.transactions.two_phase_commit import TwoPhaseCommit
from model.variants import version


@version(
    "kip-939-without-keeping",
    at={
        "leader_changes": 0,
        "replication_lags": False,
        "markers_late": False,
        "ids_expire": False,
    },
    in_force=unreleased(
        "Kafka 4.1 to 4.3 abort the ongoing transaction of a new instance, and refuse "
        "keepPreparedTxn; the order is the application's"
    ),
)
class WithoutKeeping(TwoPhaseCommit):
    """The version `kip-939`, but a new instance may send InitProducerId without keepPreparedTxn.
    The coordinator then aborts the ongoing transaction of the old instance.

    An instance sends this request only after the application's database refuses commits of the old
    instance, and only if the database has no prepared state.
    """

    newest_in_database: Instance  # the database refuses older instances

    @action
    def refuse_older(s, i: Instance) -> None:
        """The application of a new instance makes its database refuse the older instances.

        Kafka: KIP-939 leaves this to the application.
        """
        when(s.newest_in_database < i, s.may_init(i))
        s.newest_in_database = i

    def may_decide(s, i: Instance) -> Bool:
        """Returns True if the database accepts a commit of the instance. In addition to the
        condition of `kip-939`, no application has made the database refuse the instance.
        """
        return super().may_decide(i) & (s.newest_in_database <= i)

    def is_refused_before(s, i: Instance) -> Bool:
        """Returns True if the application has made the database refuse the instances that are older
        than `i`.

        Without this rule, the claim `a_database_commit_stays` breaks (bug `aborts-first`, 8 steps).
        """
        return s.newest_in_database == i

    def has_prepared_state(s) -> Bool:
        return exists(s.in_database[k] & ~s.end_confirmed[k] for k in Transaction)

    @action
    def abort_ongoing(s, i: Instance) -> None:
        """The coordinator receives InitProducerId without keepPreparedTxn from a new instance, and
        aborts the ongoing transaction.

        Kafka: TransactionMetadata.prepareFenceProducerEpoch. The answer is CONCURRENT_TRANSACTIONS,
        and the new instance sends its request again.

        Without the guard that the database has no prepared state, the claim
        `a_database_commit_stays` breaks in 9 steps.
        """
        m = s.metadata
        when(
            ~s.is_busy(),
            m.state == ONGOING,
            s.may_init(i),
            s.is_refused_before(i),
            ~s.has_prepared_state(),
        )
        s.prepare(m.transaction, ABORT, s.epoch_of_decision(), s.ends_epochs())

    def may_be_fenced(s, i: Instance) -> Bool:
        """Returns True if the instance may receive an error. In addition to the reasons of
        `kip-939`, it may receive an error as soon as a newer instance has made the database refuse
        older instances.
        """
        return any_of(super().may_be_fenced(i), i < s.newest_in_database)

    # ---- witnesses

    @witness
    def a_prepared_state_is_met(s) -> Bool:
        """Reachable: the database refuses an old instance, and contains a prepared state of this
        instance.
        """
        return exists(
            (s.owner[k] == i) & s.in_database[k] & ~s.end_confirmed[k] & (i < s.newest_in_database)
            for k in Transaction
            for i in Instance
        )

    @witness
    def an_old_instance_is_refused(s) -> Bool:
        """Reachable: the transaction of an instance is aborted, and the database refuses this
        instance, because a newer one exists.
        """
        return exists(
            (s.owner[k] == i) & (s.decided[k] == ABORT) & (i < s.newest_in_database)
            for k in Transaction
            for i in Instance
        )
