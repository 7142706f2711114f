"""Each step of the spec `retention` is one step of `retention-abstract`.

Here `retention` is called the detailed spec, because it has more detail than the abstract one.
"""

from __future__ import annotations

import pytest

from model.language.interpreter import State
from model.retention.bugs import (
    AnswersAlone,
    CleansPastHighWatermark,
    ExpiresUncommitted,
    LeavesHighWatermarkBehind,
    TakesLeadersStart,
    WaitsForTheLive,
)
from model.retention.eligible import WithElr
from model.retention.versions import Kafka43, Retention
from model.retention_abstract.versions import Kafka43 as AbstractKafka43
from model.variants import Constants
from properties.refinement.behaviour import Call
from properties.refinement.detailed_retention import Refinement
from properties.refinement.history_mapping import Transition

SMALL: Constants = {"keys": 1}
ONE_RECORD: Constants = {"keys": 1, "log_size": 1}
OF_ELR = {"shrink_to_elr", "elect_eligible"}


def test_every_step_of_the_detailed_spec_is_explained() -> None:
    """`python -m tools.abstract_steps` explores logs of two records."""
    walk = Refinement(Retention(**ONE_RECORD)).walk()
    assert (walk.pairs, walk.unexplained) == (332, [])


def test_steps_without_elections_are_explained_also_with_two_keys() -> None:
    walk = Refinement(Retention(max_leader_epoch=0)).walk()
    assert (walk.pairs, walk.unexplained) == (2_392, [])
    assert walk.explained["compact"]


def test_compaction_is_explained_by_the_next_record_of_the_key() -> None:
    """In a log of three records, the last record of the key may be above the high watermark."""
    spec = Retention(keys=1, log_size=3, max_leader_epoch=0)
    walk = Refinement(spec).random_walks(50, length=20, seed=0)
    assert walk.unexplained == []
    assert walk.explained["compact"]


def test_every_step_with_an_elr_is_explained() -> None:
    walk = Refinement(WithElr(**ONE_RECORD)).walk()
    assert (walk.pairs, walk.unexplained) == (268, [])
    assert {*walk.explained} >= OF_ELR


def test_steps_of_kafka_are_those_of_its_abstract_version() -> None:
    walk = Refinement(Kafka43(**ONE_RECORD), version=AbstractKafka43).walk()
    assert (walk.pairs, walk.unexplained) == (336, [])


@pytest.mark.parametrize(
    ("wrong", "constants", "at"),
    [
        (Kafka43, ONE_RECORD, "expand_isr"),
        (WaitsForTheLive, ONE_RECORD, "answer_delete_records"),
        (AnswersAlone, ONE_RECORD, "answer_delete_records"),
        (ExpiresUncommitted, ONE_RECORD, "expire"),
        (LeavesHighWatermarkBehind, ONE_RECORD, "truncate_fully"),
        (CleansPastHighWatermark, SMALL, "compact"),
        (TakesLeadersStart, ONE_RECORD, "fetch"),
    ],
)
def test_bugs_take_unexplained_steps(wrong: type[Retention], constants: Constants, at: str) -> None:
    unexplained = Refinement(wrong(**constants)).first_unexplained()
    assert unexplained is not None
    assert unexplained.transition.action == at


class ForgetsElr(Refinement):
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        calls = super().calls(step, abstract)
        return [Call("shrink_isr", c.arguments) if c.action in OF_ELR else c for c in calls]


def test_a_wrong_mapping_is_noticed() -> None:
    unexplained = ForgetsElr(WithElr(**ONE_RECORD)).first_unexplained()
    assert unexplained is not None
    assert "in the ELR" in unexplained.reason
