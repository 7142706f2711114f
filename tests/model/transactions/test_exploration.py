"""Explorations of the transactions spec: scopes in which the claims hold, and liveness."""

from __future__ import annotations

import pytest

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.language import Spec
from model.specs import find, variants_of
from model.transactions.partition_bugs import RefusesRepeatedMarkers, UncleanElection
from model.transactions.state import QUIET
from model.transactions.versions import LaxMarkers, Transactions, Version1

BUGS = [v for v in variants_of("transactions") if v.breaks]


@pytest.mark.parametrize(
    ("spec", "distinct"),
    [
        (Transactions(**QUIET), 272),
        (Transactions(**QUIET, partitions=2), 5_310),
        (Transactions(**QUIET, instances=2), 1_846),
        (Version1(**QUIET), 299),
        (LaxMarkers(**QUIET), 272),
    ],
)
def test_versions_hold_without_faults(spec: Spec, distinct: int) -> None:
    found = explore(spec, engine="python")
    assert (found.exhausted, found.distinct) == (True, distinct)
    assert not found.violated


def test_two_instances_keep_the_claims_with_every_fault() -> None:
    """Two instances of a producer keep all claims, whichever faults happen.

    The faults are failovers, replication lag, late copies of messages, expiry and exhausted epochs.
    """
    row = find("transactions")
    found = explore(row.make({"instances": 2}))
    assert (found.exhausted, found.distinct) == (True, 616_658)
    assert not found.violated
    assert not found.never_taken


def test_two_partitions_that_change_leaders_keep_the_claims() -> None:
    late = {"records_late": True, "ends_late": True, "markers_late": True}
    faults = {"leader_changes": 1, "replication_lags": True}
    found = explore(Transactions(**{**QUIET, **late, **faults, "partitions": 2}))
    assert (found.exhausted, found.distinct) == (True, 365_920)
    assert not found.violated


@pytest.mark.parametrize(
    ("spec", "broken"),
    [
        (Transactions(transactions=1), set()),
        (
            RefusesRepeatedMarkers(**{**QUIET, "coordinator_failures": 1}),
            {"decided_transactions_complete"},
        ),
        (UncleanElection(**{**QUIET, "leader_changes": 1}), {"open_transactions_close"}),
        (Version1(**{**QUIET, "records_late": True}), {"open_transactions_close"}),
    ],
)
def test_every_open_transaction_closes(spec: Spec, broken: set[str]) -> None:
    """Every open transaction is eventually closed, and every decision is eventually carried out.

    Each of three variants with a bug breaks one of these two liveness claims.
    """
    assert {n for n, d in decide(spec).items() if d.verdict == "violated"} == broken


def test_every_bug_names_its_issue() -> None:
    """Every bug was reported, with three exceptions: the bugs of KIP-939, which no release has, and
    the bugs `acts-on-unreplicated` and `confirms-by-name`.
    """
    of_kip_939 = {bug.name for bug in BUGS if (bug.fixed_by or "").startswith("kip-939")}
    unreported = {*of_kip_939, "acts-on-unreplicated", "confirms-by-name"}
    assert (len(BUGS), len(unreported)) == (30, 9)
    assert {bug.name for bug in BUGS if not bug.issue} == unreported
