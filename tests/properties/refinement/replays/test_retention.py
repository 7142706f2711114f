"""What breaks the logs of the model breaks two replicas: the same plan, the same claim."""

from __future__ import annotations

import pytest

from model.language.interpreter import Cell, Interpreter
from properties.refinement.replays.retention import (
    DELETES,
    RETENTION_REPLAYS,
    RetentionReplay,
    Stage,
    cells,
    spec_of,
)
from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.shortest import counterexample


@pytest.mark.parametrize("replay", RETENTION_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_replicas_with_the_bug_and_no_other(
    replay: RetentionReplay,
) -> None:
    trace = counterexample("retention", replay.variant, replay.claim)
    plan = [(step.action, step.values) for step in trace]
    broken = replay.carried_out(plan, with_bug=True)
    assert not replay.holds(broken)
    assert replay.holds(replay.carried_out(plan, with_bug=False))
    # And with the bug the replicas are where the model is, but for what the plan simplifies.
    read = cells(broken)
    differs = {cell for cell, value in trace[-1].state.items() if read.get(cell, value) != value}
    assert differs == SIMPLIFIED.get(replay.variant, set())


SIMPLIFIED: dict[str, set[Cell]] = {
    # A third record closes the segment of the second; the follower is behind, and in the ISR.
    "cleans-past-hw": {
        ("isr", (1,)),
        ("log.end_offset", (0,)),
        ("log.end_offset", (1,)),
        ("log.record.key", (0, 2)),
        ("log.record.key", (1, 0)),
        ("log.record.key", (1, 1)),
    }
}


def test_in_the_beginning_the_replicas_are_in_a_first_state_of_the_spec() -> None:
    stage = Stage.of(DELETES, NO_BUGS)
    spec = spec_of(stage)
    assert cells(stage) in Interpreter.of(spec).initial(spec)


def test_a_follower_that_starts_anew_begins_where_the_leader_does() -> None:
    stage = Stage.of(DELETES, NO_BUGS)
    stage.produce(0, 1)
    stage.shrink(1)
    stage.expire(0)
    stage.fetch(1)
    logs = [replica.log for replica in stage.replicas]
    assert [(log.log_start, log.end_offset, log.high_watermark) for log in logs] == [(1, 1, 1)] * 2


def test_a_deletion_is_told_when_the_follower_has_heard_of_it() -> None:
    stage = Stage.of(DELETES, NO_BUGS)
    stage.produce(0, 1)
    stage.advance(0)
    stage.delete(0, 1)
    assert (stage.asked, stage.deleted) == (1, 0)
    stage.fetch(1)  # it hears of it
    assert stage.deleted == 0
    stage.fetch(1)  # and says so
    assert stage.deleted == 1
