"""Each step of the spec `share-group` is one or more steps of `share-group-abstract`.

Here `share-group` is called the detailed spec, because it has more detail than the abstract one.
"""

from __future__ import annotations

import pytest

from model.language.interpreter import Interpreter, State
from model.share_group.bugs import (
    ALL_IS_WELL,
    ONE_RECORD,
    AcknowledgesForOthers,
    AcquiresInTransition,
    AvailableAfterTheLimit,
    DeliversWithoutLimit,
    KeepsExpiredLock,
    LastWriteWins,
    LocksNothing,
    ReadsWithoutFencing,
    StartOffsetWaits,
)
from model.share_group.versions import Kafka43, ShareGroup
from model.share_group_abstract.versions import Kafka43 as AbstractKafka43
from model.variants import Constants
from properties.refinement.behaviour import Call
from properties.refinement.detailed_share_group import Refinement
from properties.refinement.history_mapping import Transition

SMALL: Constants = {"records": 1, "max_deleted": 1}
ONE_OF_TWO: Constants = {"records": 1, **ALL_IS_WELL}
LATE: Constants = {"members": 1, "writes": 2, "max_leader_epoch": 0, **ALL_IS_WELL}


def test_every_step_of_the_detailed_spec_is_explained() -> None:
    """The constants are small. `python -m tools.abstract_steps` maps the steps at the default
    constants, and also the steps of the version `kafka-4.3`.
    """
    refinement = Refinement(ShareGroup(**SMALL))
    walk = refinement.walk()
    assert (walk.pairs, walk.unexplained) == (1_385, [])
    assert {*walk.explained} == {action.name for action in refinement.abstract.actions}


def test_steps_of_two_records_are_explained() -> None:
    walk = Refinement(ShareGroup(members=1, **ALL_IS_WELL)).walk()
    assert (walk.pairs, walk.unexplained) == (1_270, [])


def test_steps_of_kafka_are_those_of_its_abstract_version() -> None:
    """A pair has a state of each spec. In 53 of the visited pairs, the stored start offset has gone
    back.
    """
    kafka = Refinement(Kafka43(**LATE), version=AbstractKafka43)
    walk = kafka.walk()
    assert (walk.pairs, walk.unexplained) == (1_520, [])


@pytest.mark.parametrize(
    ("wrong", "constants", "at"),
    [
        (Kafka43, LATE, "persist"),
        (KeepsExpiredLock, ONE_RECORD, "lose_write"),
        (AcquiresInTransition, ONE_OF_TWO, "acquire"),
        (ReadsWithoutFencing, ONE_OF_TWO, "initialize"),
        (AvailableAfterTheLimit, ONE_RECORD, "lose_write"),
        (LastWriteWins, {"writes": 2, **ONE_OF_TWO}, "persist"),
        (AcknowledgesForOthers, ONE_OF_TWO, "accept"),
        (DeliversWithoutLimit, ONE_OF_TWO, "release"),
        (LocksNothing, ONE_OF_TWO, "acquire"),
    ],
)
def test_bugs_take_unexplained_steps(
    wrong: type[ShareGroup], constants: Constants, at: str
) -> None:
    unexplained = Refinement(wrong(**constants)).first_unexplained()
    assert unexplained is not None
    assert unexplained.transition.action == at


def test_a_start_offset_that_waits_is_no_step_of_its_own() -> None:
    assert Refinement(StartOffsetWaits(**ONE_RECORD)).first_unexplained() is None


class ForgetsMoves(Refinement):
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [call for call in super().calls(step, abstract) if call.action != "move_start"]


def test_a_wrong_mapping_is_noticed() -> None:
    unexplained = ForgetsMoves(ShareGroup(**SMALL)).first_unexplained()
    assert unexplained is not None
    assert "start" in unexplained.reason


def test_only_the_abstract_limit_of_the_detailed_spec_agrees() -> None:
    refinement = Refinement(ShareGroup(delivery_limit=3))
    (detailed,) = Interpreter.of(refinement.detailed).initial(refinement.detailed)
    limits = {
        abstract["limit", ()]: refinement.disagreement(detailed, abstract) == ""
        for abstract in Interpreter.of(refinement.abstract).initial(refinement.abstract)
    }
    assert limits == {1: False, 2: False, 3: True, 4: False}
