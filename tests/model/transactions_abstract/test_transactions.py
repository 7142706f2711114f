"""Runs of the abstract transactions spec: late and repeated requests in each protocol version."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.language import Spec
from model.transactions_abstract.bugs import LaxMarkers
from model.transactions_abstract.versions import Transactions, Version1
from tests.model.runs import Call, broken, refused, run

FIRST, SECOND = 0, 1  # transactions
P, T = 0, 0  # the producer, the partition


def begun(x: int) -> tuple[Call, ...]:
    return ("begin", x, P), ("add_partition", x, T)


# ---- a late record (KIP-890)


def test_version_1_lets_a_late_record_hang() -> None:
    """In version 1 a record that arrives after the marker of its transaction stays open for ever.

    This run is the shortest one that leads to a hanging transaction.
    """
    spec = Version1()
    ended: tuple[Call, ...] = (
        *begun(FIRST),
        ("end_abort", FIRST, 0),
        ("write_marker", FIRST, T),
        ("complete_transaction", FIRST),
    )
    assert broken(spec, run(spec, *ended)) == set()
    assert broken(spec, run(spec, *ended, ("append", FIRST, T))) == {"no_hanging_transaction"}


def test_version_2_refuses_a_late_record() -> None:
    spec = Transactions()
    state = run(spec, *begun(FIRST), ("end_abort", FIRST, 1), ("write_marker", FIRST, T))
    assert refused(spec, state, "append", FIRST, T) == (
        "seen_epoch[t][producer[x]] <= producer_epoch[x]"
    )


def test_version_2_accepts_a_record_between_decision_and_marker() -> None:
    spec = Transactions()
    state = run(
        spec,
        *begun(FIRST),
        ("end_commit", FIRST, 1),
        ("append", FIRST, T),
        ("write_marker", FIRST, T),
    )
    assert state["kept", (FIRST, T)] is True
    assert broken(spec, state) == set()


# ---- a marker that comes again (KIP-1228)

NEXT_HAS_BEGUN: tuple[Call, ...] = (
    *begun(FIRST),
    ("end_abort", FIRST, 1),
    ("write_marker", FIRST, T),
    ("complete_transaction", FIRST),
    *begun(SECOND),
    ("append", SECOND, T),
)


def test_a_lax_partition_closes_the_next_transaction_with_an_old_marker() -> None:
    """Before KIP-1228, the marker of one transaction may close the next transaction.

    The late marker and the records of the next transaction have the same epoch, 1.
    """
    spec = LaxMarkers()
    state = run(spec, *NEXT_HAS_BEGUN, ("write_marker", FIRST, T))
    assert state["dropped", (SECOND, T)] is True
    assert state["aborted", (SECOND,)] is False
    assert broken(spec, state) == {"faithful"}


def test_since_kip_1228_the_old_marker_is_refused() -> None:
    spec = Transactions()
    state = run(spec, *NEXT_HAS_BEGUN)
    assert refused(spec, state, "write_marker", FIRST, T) == (
        "seen_epoch[t][producer[x]] < marker_epoch[x]"
    )


# ---- fencing, and what the coordinator refuses


def test_a_new_instance_aborts_the_open_transaction_of_the_old_one() -> None:
    spec = Transactions()
    state = run(
        spec, *begun(FIRST), ("append", FIRST, T), ("fence", FIRST, 2), ("write_marker", FIRST, T)
    )
    assert state["dropped", (FIRST, T)] is True
    assert state["current_epoch", (P,)] == 2


def test_one_transaction_commits_after_another() -> None:
    spec = Transactions()
    state = run(spec, *begun(FIRST), ("end_commit", FIRST, 1))
    assert "producer" in refused(spec, state, "begin", SECOND, P)
    assert "committed" in refused(spec, state, "end_abort", FIRST, 2)
    assert "marked" in refused(spec, state, "complete_transaction", FIRST)


# ---- explored


@pytest.mark.parametrize(
    ("partitions", "counts"), [(1, (1_660, 5_579, 14)), (2, (17_164, 79_371, 20))]
)
def test_version_2_holds_in_every_state_of_a_small_scope(
    partitions: int, counts: tuple[int, int, int]
) -> None:
    found = explore(Transactions(partitions=partitions))
    assert found.exhausted
    assert (found.distinct, found.generated, found.depth) == counts
    assert not found.violated
    assert not found.never_taken
    assert all(seen.states for seen in found.witnesses.values())


@pytest.mark.parametrize(
    ("spec", "steps"),
    [
        (Version1(), {"no_hanging_transaction": 6, "faithful": 9, "atomic": 11}),
        (LaxMarkers(), {"faithful": 9, "atomic": 12}),
    ],
)
def test_earlier_versions_fail_in_the_recorded_steps(spec: Spec, steps: dict[str, int]) -> None:
    """In an earlier protocol version, claims break after the expected number of steps.

    `steps` has the length of the shortest counterexample to each violated claim.
    """
    found = explore(spec)
    assert {name: found.discoveries[name].steps for name in found.violated} == steps


def test_lemmas_hold_in_every_state() -> None:
    names = [c.name for c in Transactions().claims if c.lemma]
    assert len(names) == 7
    assert not explore(Transactions(), properties=names).violated
