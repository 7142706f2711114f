"""Whether runs of the broker are behaviours of the specs: how much of them, how fast, and what is
noticed.

Timed are runs that are made and followed, against the same runs made and not followed. Kept beside
that: the share of events that change nothing of which a spec speaks, how often each action was
taken and which never, the seeded bugs, and runs with one thing wrong.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from random import Random

from benchmarks.pairs import Pairing, paired
from properties.refinement.following import follow
from properties.refinement.mutants import mutants
from properties.refinement.scenarios import OF, REFINEMENTS, Events, judged
from properties.refinement.seeded_bugs import SHOWN, UNSEEN, Shown
from reference_impl.simulation.cluster import TOPIC_PARTITION

SEEDS = range(4)
MUTATED = range(1, 2)
OF_EACH = 3
TIMED = range(1)


def run() -> list[Pairing]:
    return [
        paired(
            ("2 runs, made and followed", lambda: events_of(is_followed=True)),
            ("2 runs, made", lambda: events_of(is_followed=False)),
            runs=3,
        )
    ]


def events_of(*, is_followed: bool) -> int:
    """How many events the timed runs have."""
    events = 0
    for scenario, (make, _) in OF.items():
        for found in map(make, TIMED):
            events += len(found)
            if is_followed:
                assert all(after.accepted for after in judged(scenario, found).values())
    return events


def facts() -> Mapping[str, object]:
    runs = {name: {seed: make(seed) for seed in SEEDS} for name, (make, _) in OF.items()}
    return {
        "specs": {
            spec: of_spec(spec, runs[name]) for name, (_, specs) in OF.items() for spec in specs
        },
        "seeded bugs": {
            **{row.bug.value: noticed(row) for row in SHOWN},
            **{bug.value: f"not in these states: {why}" for bug, why in UNSEEN.items()},
        },
        "mutants": of_mutants(),
    }


def of_spec(spec: str, runs: Mapping[int, Events]) -> Mapping[str, object]:
    """What becomes of the runs of all seeds."""
    taken: Counter[str] = Counter()
    refinements = {seed: REFINEMENTS[spec](events) for seed, events in runs.items()}
    started = time.process_time()
    followed = {seed: follow(refinements[seed], events) for seed, events in runs.items()}
    cpu_s = time.process_time() - started
    for after in followed.values():
        taken += after.actions
    consumed = sum(after.consumed for after in followed.values())
    steps = sum(after.steps for after in followed.values())
    actions = [action.name for action in refinements[0].behaviour.spec.actions]
    return {
        "runs": len(runs),
        "accepted": sum(after.accepted for after in followed.values()),
        "not accepted": {
            seed: str(after.unexplained)
            for seed, after in followed.items()
            if after.unexplained is not None
        },
        "events": consumed,
        "stutter_share": round(1 - steps / consumed, 4),
        "events_per_cpu_s": round(consumed / cpu_s),
        "taken": {action: taken[action] for action in actions},
        "never taken": [action for action in actions if not taken[action]],
    }


def noticed(row: Shown) -> str:
    """The first step of the run with the bug that its spec does not explain."""
    events = OF[row.scenario][0](row.seed, frozenset({row.bug}))
    found = follow(REFINEMENTS[row.spec](events), events)
    return f"{row.scenario}, seed {row.seed}, {row.spec}: {found.unexplained or 'missed'}"


def of_mutants() -> Mapping[str, object]:
    """How many runs with one thing wrong are noticed, of those that are no other order."""
    made: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    equivalent: Counter[str] = Counter()
    survivors: list[str] = []
    for seed in MUTATED:
        events = OF["replicated"][0](seed, sends=20)
        for mutant in mutants(events, TOPIC_PARTITION, Random(seed), OF_EACH):
            if mutant.is_equivalent:
                equivalent[mutant.kind] += 1
                continue
            made[mutant.kind] += 1
            found = (
                follow(REFINEMENTS[spec](mutant.events), mutant.events)
                for spec in OF["replicated"][1]
            )
            if all(after.accepted for after in found):
                survivors.append(f"seed {seed}: {mutant}")
            else:
                rejected[mutant.kind] += 1
    return {
        "made": dict(made),
        "rejected": dict(rejected),
        "rejected_share": round(rejected.total() / made.total(), 4),
        "survivors": survivors,
        "equivalent, not counted": dict(equivalent),
    }
