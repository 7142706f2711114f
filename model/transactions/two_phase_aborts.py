"""Two-phase commit: a new instance that keeps no prepared transaction aborts the ongoing one.

A new instance may send InitProducerId without keepPreparedTxn. The coordinator then aborts the
ongoing transaction, although it takes part in two-phase commit. This is safe only in a certain
order: first the application makes its database refuse the old instance, then it looks for a
prepared state. If there is none, no part of the ongoing transaction is committed in the database,
and none will be.

A client removes its prepared state from the database when it knows that Kafka has committed too.

Source: KIP-939; TransactionCoordinator.prepareInitProducerIdTransit of Apache Kafka 4.3.
Simplified: as in `two_phase_commit`. The new instance looks for a prepared state when its request
arrives. A prepared state that another instance has completed is never removed.
"""

from __future__ import annotations

from model.language import Bool, action, any_of, exists, true, when, witness
from model.releases import UNRELEASED, unreleased
from model.transactions.state import ABORT, ONGOING, Instance, Transaction
from model.transactions.two_phase_bugs import ONE
from model.transactions.two_phase_commit import TwoPhaseCommit
from model.variants import bug, version


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
    """The version `kip-939`, but a new instance may abort the ongoing transaction of the old one.

    Before, the database must refuse the old instance, and have no prepared state.
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
        """True if the database accepts a commit of the instance, which it does not refuse yet."""
        return super().may_decide(i) & (s.newest_in_database <= i)

    def is_refused_before(s, i: Instance) -> Bool:
        """True if the database refuses the instances that are older than `i`.

        Without this rule, the claim `a_database_commit_stays` breaks (bug `aborts-first`, 8 steps).
        """
        return s.newest_in_database == i

    def has_prepared_state(s) -> Bool:
        return exists(s.in_database[k] & ~s.end_confirmed[k] for k in Transaction)

    @action
    def abort_ongoing(s, i: Instance) -> None:
        """The coordinator answers InitProducerId without keepPreparedTxn: it aborts the ongoing
        transaction.

        Kafka: TransactionMetadata.prepareFenceProducerEpoch; the answer is CONCURRENT_TRANSACTIONS,
        and the new instance sends its request again. Without the guard that the database has no
        prepared state, the claim `a_database_commit_stays` breaks in 9 steps.
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
        """True if the instance may be fenced; a newer instance counts as soon as the database
        refuses older ones.
        """
        return any_of(super().may_be_fenced(i), i < s.newest_in_database)

    # ---- witnesses

    @witness
    def a_prepared_state_is_met(s) -> Bool:
        """Reachable: the database refuses an old instance, and has a prepared state of it."""
        return exists(
            (s.owner[k] == i) & s.in_database[k] & ~s.end_confirmed[k] & (i < s.newest_in_database)
            for k in Transaction
            for i in Instance
        )

    @witness
    def an_old_instance_is_refused(s) -> Bool:
        """Reachable: an old instance is refused by the database after its transaction is
        aborted.
        """
        return exists(
            (s.owner[k] == i) & (s.decided[k] == ABORT) & (i < s.newest_in_database)
            for k in Transaction
            for i in Instance
        )


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
    old one.

    It finds no prepared state. Then the old instance commits in the database, and Kafka aborts the
    transaction.
    """

    def is_refused_before(s, i: Instance) -> Bool:
        return true
