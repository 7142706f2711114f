"""Runs of the reference broker are behaviours of the proved specs; runs with a bug are not.

`python -m benchmarks.refinement` validates more seeds and hundreds of mutants.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest

from model.idempotence_abstract.versions import IdempotentProducer
from properties.refinement.behaviour import Behaviour, Call
from properties.refinement.broker_replication import BrokerReplication
from properties.refinement.broker_transactions import BrokerTransactions
from properties.refinement.trace_validation import Validated, first_unexplained, validate
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.node.bugs import Bug
from reference_impl.simulation.cluster import TOPIC_PARTITION
from tests.properties.refinement.mutants.runs import validate_mutants
from tests.properties.refinement.scenarios import SCENARIOS, Events, replicated, validate_scenario
from tests.properties.refinement.seeded_bugs import DETECTED, NOT_DETECTED, Detection

SEEDS = {"replicated": (4, 25), "transactional": (0, 3), "late markers": (0,), "late ends": (0,)}


@cache
def events_of(scenario: str, seed: int) -> Events:
    return SCENARIOS[scenario].make(seed)


@cache
def validated(scenario: str, seed: int) -> dict[str, Validated]:
    return validate_scenario(scenario, events_of(scenario, seed))


# ---- behaviours


def test_a_behaviour_takes_only_actions_that_the_spec_allows() -> None:
    behaviour = Behaviour.initial(
        IdempotentProducer(),
        {"Producer": 1, "ProducerEpoch": 1, "Sequence": 3, "Offset": 3},
        (0,),
    )
    assert behaviour.take(Call("append_first", (0, 0, 1))) is None
    refusal = behaviour.take(Call("append_next", (0, 2, 0, 2)))
    assert str(refusal) == (
        "append_next(producer=0, sequence=2, latest=0, end=2) is not allowed: "
        "it needs sequence comes next after stamp.sequence[latest]"
    )
    refusal = behaviour.take(Call("append_first", (0, 1, 2)))
    assert "is not allowed" in str(refusal)
    assert behaviour.state["end_offset", ()] == 1
    assert behaviour.taken == {"append_first": 1}


# ---- runs


@pytest.mark.parametrize(
    ("scenario", "seed"), [(name, seed) for name, seeds in SEEDS.items() for seed in seeds]
)
def test_a_run_is_accepted_to_its_last_event(scenario: str, seed: int) -> None:
    for spec, after in validated(scenario, seed).items():
        assert after.unexplained is None, (spec, str(after.unexplained))
        assert after.consumed == after.events == len(events_of(scenario, seed))
        assert after.accepted


def test_a_run_that_stops_in_the_middle_of_any_transaction_is_accepted_so_far() -> None:
    events = events_of("late ends", 0)
    for end in range(500, len(events), 50):
        mapping = BrokerTransactions.of(events[:end])
        assert validate(mapping, events[:end]).unexplained is None
    assert mapping.numbers.begun > 2


def test_the_runs_take_every_action_of_the_specs() -> None:
    """Together the simulated runs take every action of the specs, except perhaps `elect_nobody`.

    The benchmark has more seeds, and takes this action too.
    """
    taken: Counter[str] = Counter()
    actions: set[str] = set()
    for scenario, seeds in SEEDS.items():
        for seed in seeds:
            for after in validated(scenario, seed).values():
                taken += after.actions
    for mapping in SCENARIOS["late markers"].mappings(events_of("late markers", 0)).values():
        actions |= {action.name for action in mapping.behaviour.spec.actions}
    assert {action for action in actions if not taken[action]} <= {"elect_nobody"}


def _state(node: object) -> object:
    match node:
        case Broker() if TOPIC_PARTITION in node.replicas:
            replica = node.replicas[TOPIC_PARTITION]
            log = replica.log
            return log.end_offset, log.high_watermark, log.epochs, replica.state.leader_epoch
        case Controller() if TOPIC_PARTITION in node.topic_partitions:
            state = node.topic_partitions[TOPIC_PARTITION]
            return state.isr, state.leader, state.leader_epoch
        case _:
            return None


@pytest.mark.parametrize("seed", SEEDS["replicated"][1:])
def test_a_change_of_log_high_watermark_epoch_or_isr_takes_an_action(seed: int) -> None:
    events = events_of("replicated", seed)
    mapping = BrokerReplication.of(TOPIC_PARTITION, events)
    last: dict[object, object] = {}
    changes = 0
    for traced in events:
        taken = mapping.behaviour.taken.total()
        seen = mapping.expected_step(traced)
        for call in () if seen is None else seen.calls:
            mapping.behaviour.take(call)
        now = _state(traced.after)
        before = last.get(traced.node)
        if now is not None:
            last[traced.node] = now
        if before is not None and now is not None and before != now:
            changes += 1
            assert mapping.behaviour.taken.total() > taken, traced
    assert changes > 250


# ---- defects


@pytest.mark.parametrize("row", DETECTED, ids=lambda row: row.bug.value)
def test_a_run_with_a_seeded_bug_is_rejected(row: Detection) -> None:
    events = SCENARIOS[row.scenario].make(row.seed, frozenset({row.bug}))
    unexplained = validate(SCENARIOS[row.scenario].mappings(events)[row.spec], events).unexplained
    assert unexplained is not None
    assert row.action in unexplained.why[-1]


def test_every_seeded_bug_is_detected_or_has_a_reason_why_not() -> None:
    shown = [row.bug for row in DETECTED]
    assert sorted(b.value for b in (*shown, *NOT_DETECTED)) == sorted(b.value for b in Bug)


@pytest.mark.parametrize(("scenario", "seed"), [("replicated", 4), ("transactional", 0)])
def test_mutants_that_are_not_equivalent_are_rejected(scenario: str, seed: int) -> None:
    """Validation rejects at least 99 of 100 mutants of a run of the reference broker.

    Mutants of every kind are drawn. A mutant that is equivalent to the run does not count.
    """
    events, runs = events_of(scenario, seed), SCENARIOS[scenario]
    drawn = runs.mutants(events, Random(2), per_kind=6)
    wrong = [mutant for mutant in drawn if not mutant.is_equivalent]
    found = [*validate_mutants([*runs.mappings(events).values()], events, wrong)]
    kinds = {kind for mutations in runs.mutations for kind in mutations.kinds}
    assert {mutant.kind for mutant, _ in found} >= kinds - {"ISR with another replica"}
    survivors = [str(mutant) for mutant, unexplained in found if unexplained is None]
    assert len(survivors) <= len(found) // 100, survivors  # the benchmark names them


def test_a_fork_rejects_a_mutant_at_the_same_event_as_a_whole_validation() -> None:
    runs, events = SCENARIOS["late markers"], events_of("late markers", 0)
    drawn = Random(3).sample([*runs.mutants(events, Random(2), per_kind=1)], 8)
    for mutant, unexplained in validate_mutants([*runs.mappings(events).values()], events, drawn):
        again = first_unexplained([*runs.mappings(mutant.events).values()], mutant.events)
        assert (again is None) == (unexplained is None), mutant
        if again is not None and unexplained is not None:
            # The first leader is read from the run itself, so a later event reveals another one.
            assert again.number == unexplained.number or mutant.kind == "another leader"


def test_a_missing_event_is_reported_with_the_actions_tried() -> None:
    replication = replicated(4, sends=20)
    number = next(
        k
        for k, traced in enumerate(replication)
        if isinstance(traced.after, Controller)
        and (state := traced.after.topic_partitions.get(TOPIC_PARTITION))
        and state.leader_epoch > 0
    )
    epoch_unheard = tuple(
        traced
        for k, traced in enumerate(replication)
        if k < number or not isinstance(traced.after, Controller)
    )
    after = validate(BrokerReplication.of(TOPIC_PARTITION, epoch_unheard), epoch_unheard)
    assert after.unexplained is not None
    assert "elected[newer]" in after.unexplained.why[-1]
    assert str(after.unexplained).startswith(f"event {after.consumed}, UpdateMetadata at node ")
