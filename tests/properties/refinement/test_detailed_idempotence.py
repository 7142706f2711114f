"""Each step of the spec `idempotence` is zero, one or more steps of `idempotence-abstract
with-restarts`.

The tests call `idempotence` the detailed spec, because it has more detail than the abstract spec.
"""

from __future__ import annotations

from collections import Counter

import pytest

from model.idempotence.bugs import SnapshotKeepsNewest, WindowOfOne
from model.idempotence.state import QUIET
from model.idempotence.versions import IdempotentProducer, Kip360
from model.idempotence_abstract.versions import SnapshotKeepsNewest as AbstractSnapshot
from model.variants import Constants
from properties.refinement.behaviour import Call
from properties.refinement.detailed_idempotence import Refinement
from properties.refinement.history_mapping import Transition, Walk
from tests.model.runs import run

CHANGES: Constants = {**QUIET, "leader_changes": 2}


def actions(walk: Walk) -> Counter[str]:
    """Returns, for each action of the detailed spec, how many of its steps are no steps of the
    abstract spec.
    """
    return Counter(one.transition.action for one in walk.unexplained)


def test_a_send_is_mapped_to_a_send_of_the_only_producer() -> None:
    """A send of the abstract spec has three arguments: batch, producer and sequence number."""
    refinement = Refinement(IdempotentProducer(**CHANGES))
    first, second = ("send", 0, 0), ("send", 0, 1)
    before, after = run(refinement.detailed, first), run(refinement.detailed, first, second)
    (producer,) = range(refinement.abstract.producers)
    step = Transition("send", (0, 1), before, after)
    assert refinement.calls(step, {}) == [Call("send", (1, producer, 1))]


def test_leader_changes_and_retries_refine_the_abstract_spec() -> None:
    """A new leader recognises the producer's recent batches as duplicates.

    So it refuses no retry of a batch that is in its log.
    """
    walk = Refinement(IdempotentProducer(**CHANGES)).walk()
    assert not walk.unexplained
    assert walk.explained == {
        "send": 17,
        "append_first": 12,
        "append_next": 15,
        "advance_high_watermark": 17,
        "change_leader": 38,
        "acknowledge": 23,
    }


@pytest.mark.parametrize(
    "constants", [{**CHANGES, "batches": 3}, {**CHANGES, "deletes": True}], ids=["three", "deletes"]
)
def test_three_batches_and_deleted_records_refine_the_abstract_spec(constants: Constants) -> None:
    assert not Refinement(IdempotentProducer(**constants)).walk().unexplained


def test_with_the_snapshots_of_kafka_a_leader_refuses_a_batch_that_is_in_its_log() -> None:
    """With Kafka's snapshots, two steps of the detailed spec match no step of the abstract spec.

    In both steps, a leader refuses a batch that is already in its log. A snapshot of Kafka has only
    the newest batch of a producer.
    """
    walk = Refinement(SnapshotKeepsNewest(**CHANGES)).walk()
    assert actions(walk) == {"refuse": 2}


def test_the_snapshots_of_kafka_refine_the_abstract_spec_with_the_same_rule() -> None:
    """If both specs have Kafka's snapshots, the abstract spec explains every step.

    With these snapshots, a restarted leader recognises only the newest batch of the producer. It
    refuses an older batch that is in its log. The client numbers this batch again, and the leader
    appends it a second time.
    """
    walk = Refinement(SnapshotKeepsNewest(**CHANGES), version=AbstractSnapshot).walk()
    assert not walk.unexplained
    assert (walk.explained["restart"], walk.explained["refuse"]) == (4, 2)
    assert walk.explained["renumber"] == 2


@pytest.mark.parametrize(
    ("version", "unexplained"), [(Kip360, {"append": 7}), (WindowOfOne, {"refuse": 12})]
)
def test_rules_that_break_the_proof_take_unexplained_steps(
    version: type[IdempotentProducer], unexplained: dict[str, int]
) -> None:
    assert actions(Refinement(version(**CHANGES)).walk()) == unexplained
