"""Bugs of the version `with-failover` of the spec `pipeline-abstract`: the next coordinator forgets
or changes a decision, or the failed coordinator answered too early.
"""

from __future__ import annotations

from model.language import Bool, all_of, ite
from model.pipeline_abstract.failover import WithFailover
from model.pipeline_abstract.late_bugs import ALONE
from model.pipeline_abstract.late_state import ProducerEpoch
from model.pipeline_abstract.state import TransactionalId
from model.releases import UNRELEASED
from model.variants import bug

FIX = "with-failover"


@bug(
    "forgets-prepared",
    breaks="position_is_exact",
    steps=14,
    at=ALONE,
    fixed_by=FIX,
    in_force=UNRELEASED,
)
class ForgetsPrepared(WithFailover):
    """The next coordinator treats a prepared transaction as complete, and sends no markers.

    If the output has the marker of the failed coordinator, the output records are committed without
    their position. The action `fail_over` breaks the claim `position_is_exact`.
    """

    def load(s, x: TransactionalId) -> None:
        s.forget_decision(x)


@bug(
    "decides-again",
    breaks="a_decision_survives",
    steps=13,
    at=ALONE,
    fixed_by=FIX,
    in_force=UNRELEASED,
)
class DecidesAgain(WithFailover):
    """The next coordinator may abort a transaction that is prepared to commit.

    The group coordinator may then drop the pending offsets of a transaction whose output records
    are committed. This breaks the claim `position_is_exact` in 16 steps. The action `abort` breaks
    the lemma `an_append_follows_the_log`.
    """

    def may_abort(s, x: TransactionalId) -> Bool:
        return s.ongoing[x] | (s.is_loaded[x] & s.committed[x])


@bug(
    "answers-early",
    breaks="position_is_exact",
    steps=24,
    at=ALONE,
    fixed_by=FIX,
    in_force=UNRELEASED,
)
class AnswersEarly(WithFailover):
    """The coordinator answers EndTxn before the record PrepareCommit is committed.

    If the coordinator fails, the transaction is aborted, but the client reads on after the inputs
    of the transaction. The action `receive_end` breaks the lemma `no_request_is_newer`.
    """

    def appends_commit_of(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return all_of(
            s.is_appending[x],
            s.appends_end[x],
            s.appends_commit[x],
            s.transaction_epoch[x] == e,
        )

    def answers_commit(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return s.committed_at[x][e] | s.appends_commit_of(x, e)

    def next_epoch(s, x: TransactionalId, e: ProducerEpoch) -> ProducerEpoch:
        return ite(s.committed_at[x][e], s.marker_epoch[x][e], s.appended_epoch[x])
