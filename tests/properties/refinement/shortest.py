"""Finds the shortest counterexample of a variant with a bug, by exploration."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from checkers.explicit.exploration import Trace
from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.specs import find
from tests.properties.refinement.replays.replay import Action, Replay

HarnessT = TypeVar("HarnessT")


def counterexample(replay: Replay[HarnessT]) -> Trace:
    """Returns the shortest counterexample of the replay's variant.

    If `replay.claim` belongs to the replayed spec, the counterexample violates this claim.
    """
    return _counterexample(replay.spec, replay.variant, replay.claim)


@cache
def _counterexample(spec_name: str, name: str, claim: str) -> Trace:
    variant = find(spec_name, name)
    spec = variant.make(variant.at)
    temporal = {one.name for one in spec.liveness_properties}
    assert variant.breaks is not None
    assert claim == variant.breaks or claim not in temporal | {one.name for one in spec.claims}
    if variant.breaks in temporal:
        return decide(spec, [variant.breaks])[variant.breaks].trace
    return explore(spec, properties=[variant.breaks]).discoveries[variant.breaks].trace


def actions_of(trace: Trace) -> list[Action]:
    """Returns the actions of a trace, each with its arguments."""
    return [(step.action, step.values) for step in trace]


def replayed(replay: Replay[HarnessT]) -> tuple[Trace, HarnessT, HarnessT]:
    """Returns the counterexample, and two harnesses on which it was replayed.

    A harness contains a part of a broker, and carries out the actions on it. The first harness has
    the bug, and the second one does not.
    """
    trace = counterexample(replay)
    actions = actions_of(trace)
    with_bug, without = (replay.run(actions, defective=bug) for bug in (True, False))
    return trace, with_bug, without
