"""Measures the trace validation of broker runs: its speed, its coverage, and the bugs that it
finds.

For the speed, the time to simulate and validate runs is compared with the time to simulate them.
The coverage of a spec has the number of times that each action is taken, and the share of the
events that change nothing in the spec. A table has the seeded bugs and the mutated runs that are
rejected.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from benchmarks.pairs import Pairing, paired
from properties.refinement.trace_validation import Refinement, validate
from tests.properties.refinement.mutants.runs import validate_mutants
from tests.properties.refinement.scenarios import SCENARIOS, Events, validate_scenario
from tests.properties.refinement.seeded_bugs import DETECTED, NOT_DETECTED, Detection

# In `replicated`, seed 15 elects a last known leader while the ISR is empty. This is no step of the
# spec, and is reported. In seed 25, the controller refuses a proposal.
LATE = {"late markers": (0,), "late ends": (0,)}
SEEDS = {"replicated": (*range(10), 15, 25), "transactional": range(4), **LATE}
MUTATED = {"replicated": range(10), "transactional": range(6), **LATE}
PER_KIND = 12  # mutants of a kind in each run
TIMED = ("replicated", "transactional")


def run() -> list[Pairing]:
    return [
        paired(
            ("2 runs, made and validated", lambda: events_of(validated=True)),
            ("2 runs, made", lambda: events_of(validated=False)),
            runs=3,
        )
    ]


def events_of(*, validated: bool) -> int:
    """Simulates runs, and returns the number of their events.

    If `validated` is True, the runs are also validated, and the specs must allow all events.
    """
    events = 0
    for scenario in TIMED:
        found = SCENARIOS[scenario].make(0)
        events += len(found)
        if validated:
            assert all(after.accepted for after in validate_scenario(scenario, found).values())
    return events


def facts() -> Mapping[str, object]:
    return {
        "specs": specs(),
        "seeded bugs": {
            **{row.bug.value: detected(row) for row in DETECTED},
            **{bug.value: f"not in these states: {why}" for bug, why in NOT_DETECTED.items()},
        },
        "mutants": {name: of_mutants(name) for name in SCENARIOS},
    }


def specs() -> Mapping[str, object]:
    """Returns, for each spec, the runs, events, rejected runs, the speed, and how often each action
    was taken.
    """
    found: dict[str, OfSpec] = {}
    for name, runs in SCENARIOS.items():
        for seed in SEEDS[name]:
            events = runs.make(seed)
            for key, mapping in runs.mappings(events).items():
                of_spec = found.setdefault(key.split(" of ")[0], OfSpec())
                of_spec.add_run(mapping, events, f"{name} {seed}, {key}")
    return {spec: of_spec.shown() for spec, of_spec in found.items()}


@dataclass(slots=True)
class OfSpec:
    actions: tuple[str, ...] = ()
    taken: Counter[str] = field(default_factory=Counter[str])
    runs: int = 0
    events: int = 0
    steps: int = 0
    cpu_s: float = 0.0
    unexplained: dict[str, str] = field(default_factory=dict[str, str])

    def add_run(self, mapping: Refinement, events: Events, run: str) -> None:
        started = time.process_time()
        after = validate(mapping, events)
        self.cpu_s += time.process_time() - started
        self.actions = tuple(action.name for action in mapping.behaviour.spec.actions)
        self.taken += after.actions
        self.runs += 1
        self.events += after.consumed
        self.steps += after.steps
        if not after.accepted:
            self.unexplained[run] = str(after.unexplained)

    def shown(self) -> Mapping[str, object]:
        return {
            "runs": self.runs,
            "accepted": self.runs - len(self.unexplained),
            "not accepted": self.unexplained,
            "events": self.events,
            "stutter_share": round(1 - self.steps / self.events, 4),
            "events_per_cpu_s": round(self.events / self.cpu_s),
            "taken": {action: self.taken[action] for action in self.actions},
            "never taken": [action for action in self.actions if not self.taken[action]],
        }


def detected(row: Detection) -> str:
    """Repeats a run of a broker with a seeded bug. Returns a text with the first event that the
    spec rejects, or with `missed` if the spec rejects no event.
    """
    runs = SCENARIOS[row.scenario]
    events = runs.make(row.seed, frozenset({row.bug}))
    found = validate(runs.mappings(events)[row.spec], events)
    return f"{row.scenario}, seed {row.seed}, {row.spec}: {found.unexplained or 'missed'}"


def of_mutants(scenario: str) -> Mapping[str, object]:
    """Returns the numbers of mutated runs: made, rejected, and left out because they are equivalent
    to a valid run.
    """
    made: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    equivalent: Counter[str] = Counter()
    survivors: list[str] = []
    runs = SCENARIOS[scenario]
    started = time.process_time()
    for seed in MUTATED[scenario]:
        events = runs.make(seed)
        drawn = [*runs.mutants(events, Random(seed), PER_KIND)]
        equivalent.update(mutant.kind for mutant in drawn if mutant.is_equivalent)
        wrong = (mutant for mutant in drawn if not mutant.is_equivalent)
        for mutant, unexplained in validate_mutants(
            [*runs.mappings(events).values()], events, wrong
        ):
            made[mutant.kind] += 1
            if unexplained is None:
                survivors.append(f"seed {seed}: {mutant}")
            else:
                rejected[mutant.kind] += 1
    return {
        "seeds": len(MUTATED[scenario]),
        "cpu_s": round(time.process_time() - started, 1),
        "made": made.total(),
        "rejected": rejected.total(),
        "rejected_share": round(rejected.total() / made.total(), 4),
        "survivors": survivors,
        "made, rejected, equivalent and not counted": {
            kind: [made[kind], rejected[kind], equivalent[kind]]
            for mutations in runs.mutations
            for kind in mutations.kinds
        },
    }
