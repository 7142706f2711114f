"""Each step of the spec `group-offsets` is zero, one or more steps of `pipeline-abstract`.

Here `group-offsets` is called the detailed spec, because it has more detail than the abstract one.
Its offsets are never reset, expired or deleted.
"""

from __future__ import annotations

import pytest

from model.group_offsets.bugs import (
    CommitsWithoutOffsets,
    CountsAborted,
    ForgetsGeneration,
    KeepsLostPartitions,
    MixesUpPartitions,
    ReturnsUnstable,
)
from model.group_offsets.state import Entry, Member, TopicPartition
from model.group_offsets.versions import GroupOffsets
from model.language import action, when
from model.language.interpreter import Interpreter, State
from model.variants import Constants
from properties.refinement.behaviour import Call
from properties.refinement.detailed_group_offsets import Refinement, WithoutResets
from properties.refinement.history_mapping import Transition
from tests.model.runs import run

TWO_GENERATIONS: Constants = {"generations": 2, "log_size": 2}
ONE_GENERATION: Constants = {"generations": 1, "log_size": 3}
TWO_PARTITIONS: Constants = {"partitions": 2, "generations": 1, "log_size": 2}


def test_every_step_of_the_detailed_spec_is_explained() -> None:
    refinement = Refinement(WithoutResets(**TWO_GENERATIONS))
    walk = refinement.walk()
    assert (walk.pairs, walk.unexplained) == (4_400, [])
    actions = {action.name for action in refinement.abstract.actions}
    assert {*walk.explained} == actions - {"init_transactions"} | {"none"}


def test_every_step_with_two_partitions_is_explained() -> None:
    walk = Refinement(WithoutResets(**TWO_PARTITIONS)).walk()
    assert (walk.pairs, walk.unexplained) == (2_874, [])


def test_the_detailed_spec_allows_no_reset_where_group_offsets_does() -> None:
    state = run(GroupOffsets(**ONE_GENERATION), ("reset_offset", 0, 1))
    allowed, allowed_without_resets = (
        {action.name for action, *_ in Interpreter.of(spec).steps(spec, state)}
        for spec in (GroupOffsets(**ONE_GENERATION), WithoutResets(**ONE_GENERATION))
    )
    resets = {"reset_offset", "expire_offset", "delete_group"}
    assert allowed - allowed_without_resets == resets


class Zombies(ForgetsGeneration, WithoutResets):
    """The coordinator accepts offsets of an old generation."""


class Unstable(ReturnsUnstable, WithoutResets):
    """A new owner reads at the committed offset while a later one is pending."""


class Aborted(CountsAborted, WithoutResets):
    """A bug: the offset of an aborted transaction becomes the committed offset."""


class CommitsFurther(WithoutResets):
    """A commit outside a transaction has an offset above an input that was not processed."""

    @action
    def commit(self, m: Member, p: TopicPartition) -> None:
        position = self.consumer[m].position[p]
        when(self.has_position(m, p), self.has_nothing_open(m), self.accepts(m), position == 0)
        self.append(Entry.plain(p, position + 1))


class KeepsLost(KeepsLostPartitions, WithoutResets):
    """A consumer that loses one of its partitions goes on reading it."""


class MixesUp(MixesUpPartitions, WithoutResets):
    """A consumer starts to read at the committed offset of another partition."""


class SendsOneOffset(CommitsWithoutOffsets, WithoutResets):
    """A transaction commits without the offset of one of its partitions."""


@pytest.mark.parametrize(
    ("wrong", "constants", "reason"),
    [
        (Zombies, TWO_GENERATIONS, "commit_in_transaction"),
        (Unstable, TWO_GENERATIONS, "fetch_offset"),
        (Aborted, ONE_GENERATION, "fetch_offset"),
        (CommitsFurther, ONE_GENERATION, "commit"),
        (KeepsLost, {**TWO_PARTITIONS, "generations": 2, "log_size": 1}, "learn_generation"),
        (MixesUp, TWO_PARTITIONS, "fetch_offset"),
        (SendsOneOffset, TWO_PARTITIONS, "end_commit"),
    ],
)
def test_bugs_take_unexplained_steps(
    wrong: type[GroupOffsets], constants: Constants, reason: str
) -> None:
    unexplained = Refinement(wrong(**constants)).first_unexplained()
    assert unexplained is not None
    assert unexplained.transition.action == reason


class SendsNothing(Refinement):
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [c for c in super().calls(step, abstract) if c.action != "send_offset"]


def test_a_wrong_mapping_is_noticed() -> None:
    assert SendsNothing(WithoutResets(**ONE_GENERATION)).first_unexplained() is not None


@pytest.mark.parametrize("changed", ["output", "repeated", "consumer.written"])
def test_an_effect_that_only_the_detailed_state_has_is_noticed(changed: str) -> None:
    """The mapping compares the effects of every input, also of the last one."""
    spec = WithoutResets(inputs=2, **ONE_GENERATION)
    refinement = Refinement(spec)
    (detailed, *_), (abstract, *_) = (
        Interpreter.of(it).initial(it) for it in (spec, refinement.abstract)
    )
    assert not refinement.disagreement(detailed, abstract)
    for o in range(spec.inputs):
        at = (0, 0, o) if changed == "consumer.written" else (0, o)
        assert refinement.disagreement({**detailed, (changed, at): True}, abstract)
