"""Exploration: actions compiled to Python against the reference interpreter, at one scope."""

from __future__ import annotations

from benchmarks.pairs import Pairing, paired
from checkers.explicit.search import explore
from model.language import Spec
from model.language.meaning import Meaning
from model.replication.versions import Kip320

SMALL = {"replicas": 2, "max_leader_epoch": 1}


def run() -> list[Pairing]:
    spec = Kip320(**SMALL)
    compiled = explore(spec).distinct
    interpreted = interpret(spec)
    assert compiled == interpreted, (compiled, interpreted)
    return [
        paired(
            (f"compiled, {compiled:,} states", lambda: explore(spec)),
            (f"interpreted, {interpreted:,} states", lambda: interpret(spec)),
            runs=3,
        )
    ]


def interpret(spec: Spec) -> int:
    """The number of reachable states, by the definition of the language."""
    meaning = Meaning.of(spec)
    todo = meaning.initial(spec)
    seen = {frozenset(state.items()) for state in todo}
    while todo:
        for _, _, after in meaning.steps(spec, todo.pop()):
            key = frozenset(after.items())
            if key not in seen:
                seen.add(key)
                todo.append(after)
    return len(seen)
