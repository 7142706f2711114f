"""The settings of a drawn plan permit no lost record, and equal seeds give equal plans.

A plan describes one run of the hunt: the Kafka version, the settings, the workload and the faults.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from checkers.systems.rounds import KINDS
from tools.hunt.changes import CHANGES
from tools.hunt.plan import FEATURES, KNOWN, VERSIONS, drawn

SEEDS = st.integers(1, 10_000)


@given(SEEDS)
def test_a_drawn_plan_may_lose_nothing(seed: int) -> None:
    plan = drawn(seed)

    assert plan.acks == "all"
    assert plan.settings["unclean.leader.election.enable"] == "false"
    assert 1 <= int(plan.settings["min.insync.replicas"]) < plan.replicas
    assert plan.faults
    assert {*plan.faults} <= KINDS.keys() - {"blackout"}
    assert plan.replicas == 3 or "power-loss" not in plan.faults
    assert {*plan.changes} <= CHANGES.keys()


@given(SEEDS)
def test_only_versions_that_have_a_feature_get_it(seed: int) -> None:
    plan = drawn(seed)

    assert plan.version in VERSIONS
    assert {*plan.features} == ({*FEATURES} if plan.version.startswith("4.") else set())


def test_a_seed_draws_the_same_plan_again_and_seeds_differ() -> None:
    assert drawn(7) == drawn(7)
    assert len({str(drawn(seed)) for seed in range(20)}) == 20
    assert {drawn(seed, ["4.3.0"]).version for seed in range(5)} == {"4.3.0"}
    assert all(drawn(n) == drawn(n, [drawn(n).version]) for n in range(20))


def test_the_plans_of_known_defects_promise_less() -> None:
    for name, plan in KNOWN.items():
        assert plan.known == name
        assert plan.settings["unclean.leader.election.enable"] == "true" or plan.acks == "1"
