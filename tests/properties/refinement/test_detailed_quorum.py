"""Every step of the spec `quorum` is zero, one or more steps of `quorum-abstract`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from model.language.interpreter import State
from model.quorum.bugs import LeadsAfterRestart
from model.quorum.versions import Kafka43, Quorum
from properties.refinement.behaviour import Call
from properties.refinement.detailed_quorum import Refinement
from properties.refinement.history_mapping import Transition

TWO: Mapping[str, int] = {"replicas": 2}


def test_every_step_of_two_replicas_is_explained() -> None:
    refinement = Refinement(Quorum(**TWO))
    walk = refinement.walk()
    assert (walk.pairs, walk.explained["append"], walk.unexplained) == (646, 16, [])
    assert {a.name for a in refinement.abstract.actions} - {*walk.explained} == {
        "restart",  # nothing fails by default
        "truncate",  # needs three replicas
    }


@pytest.mark.parametrize(("replicas", "log_size", "pairs"), [(1, 1, 4), (1, 4, 80), (2, 3, 2746)])
def test_every_step_of_a_shorter_or_longer_log_is_explained(
    replicas: int, log_size: int, pairs: int
) -> None:
    walk = Refinement(Quorum(replicas=replicas, log_size=log_size)).walk()
    assert (walk.pairs, walk.unexplained) == (pairs, [])


@pytest.mark.parametrize(("log_size", "offsets"), [(1, 2), (2, 2), (4, 4)])
def test_the_abstract_spec_has_at_least_two_offsets(log_size: int, offsets: int) -> None:
    assert Refinement(Quorum(log_size=log_size)).abstract.offsets == offsets


@pytest.mark.parametrize("wrong", [LeadsAfterRestart, Kafka43])
def test_a_bug_takes_an_unexplained_step(wrong: type[Quorum]) -> None:
    spec = wrong(replicas=1, max_epoch=2, max_failures=1)
    assert Refinement(spec).first_unexplained() is not None


class ForgetsToFlush(Refinement):
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [] if step.action == "flush" else super().calls(step, abstract)


class AppendsTooLate(Refinement):
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return super().calls(step, abstract)[:1]


@pytest.mark.parametrize("mutant", [ForgetsToFlush, AppendsTooLate])
def test_a_wrong_mapping_is_noticed(mutant: type[Refinement]) -> None:
    unexplained = mutant(Quorum(**TWO)).first_unexplained()
    assert unexplained is not None
    assert "in the abstract state" in unexplained.reason
