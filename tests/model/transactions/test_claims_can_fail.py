"""Mutants of the spec `transactions` break the claims that no recorded bug breaks."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.language import Bool, Spec, all_of, false
from model.transactions.state import (
    COMPLETE,
    QUIET,
    CoordinatorEpoch,
    Metadata,
    Outcome,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionState,
)
from model.transactions.versions import Transactions, Version1
from model.variants import Constants


class OneEpochForAll(Transactions):
    """A mutant in which a new producer instance gets the epoch of the previous instance."""

    def idle(
        s,
        state: TransactionState,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        previous_id: ProducerId | None = None,
    ) -> Metadata:
        return super().idle(state, producer_id, s.metadata.producer_epoch, previous_id)


class FencesNobody(Version1):
    """A mutant in which a partition accepts batches of every producer epoch."""

    def fences(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        return false


class ObeysOldCoordinators(Transactions):
    """A mutant in which a partition accepts markers of every coordinator epoch."""

    def has_newer_marker(s, p: TopicPartition, i: ProducerId, epoch: CoordinatorEpoch) -> Bool:
        return false


class SaysYes(Transactions):
    """A mutant in which EndTxn succeeds after the opposite decision: for example, a commit succeeds
    after an abort.
    """

    def is_done(s, k: Transaction, outcome: Outcome) -> Bool:
        return all_of(s.metadata.state == COMPLETE, s.is_decided_under(k))


class NeverBusy(Transactions):
    """A mutant in which the coordinator accepts calls while a decision is not complete."""

    def is_busy(s) -> Bool:
        return false


@pytest.mark.parametrize(
    ("cls", "faults", "claim"),
    [
        (OneEpochForAll, {"instances": 2}, "no_two_instances_are_one"),
        (FencesNobody, {"records_late": True}, "epochs_do_not_go_back"),
        (
            ObeysOldCoordinators,
            {"coordinator_failures": 1, "markers_late": True},
            "coordinator_epochs_do_not_go_back",
        ),
        (SaysYes, {}, "answers_are_true"),
        (NeverBusy, {}, "states_follow_the_table"),
    ],
)
def test_without_a_rule_a_claim_fails(cls: type[Spec], faults: Constants, claim: str) -> None:
    found = explore(cls(**{**QUIET, **faults}), properties=[claim], engine="python")
    assert found.violated == (claim,)
