"""A counterexample of a bug in the spec `retention` is replayed on two replicas with this bug. It
breaks the same claim there.
"""

from __future__ import annotations

import pytest

from model.language.interpreter import Cell, Interpreter
from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.replays.retention import (
    DELETES,
    RETENTION_REPLAYS,
    RetentionHarness,
    cells,
    spec_of,
)
from tests.properties.refinement.shortest import replayed


@pytest.mark.parametrize("replay", RETENTION_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_replicas_with_the_bug(
    replay: Replay[RetentionHarness],
) -> None:
    trace, broken, sound = replayed(replay)
    assert not replay.holds(broken)
    assert replay.holds(sound)
    # With the bug the replicas agree with the model, except for the cells of `SIMPLIFIED`.
    read = cells(broken)
    differs = {cell for cell, value in trace[-1].state.items() if read.get(cell, value) != value}
    assert differs == SIMPLIFIED.get(replay.variant, set())


SIMPLIFIED: dict[str, set[Cell]] = {
    # A third record closes the segment of the second; the follower lags inside the ISR.
    "cleans-past-hw": {
        ("isr", (1,)),
        ("log.end_offset", (0,)),
        ("log.end_offset", (1,)),
        ("log.record.key", (0, 2)),
        ("log.record.key", (1, 0)),
        ("log.record.key", (1, 1)),
    }
}


def test_new_replicas_are_in_an_initial_state_of_the_spec() -> None:
    harness = RetentionHarness.of(DELETES, NO_BUGS)
    spec = spec_of(harness)
    assert cells(harness) in Interpreter.of(spec).initial(spec)


def test_a_follower_below_the_leaders_log_start_starts_at_that_log_start() -> None:
    harness = RetentionHarness.of(DELETES, NO_BUGS)
    harness.produce(0, 1)
    harness.shrink(1)
    harness.expire(0)
    harness.fetch(1)
    logs = [replica.log for replica in harness.replicas]
    assert [(log.log_start, log.end_offset, log.high_watermark) for log in logs] == [(1, 1, 1)] * 2


def test_a_deletion_is_acknowledged_once_the_follower_has_deleted_too() -> None:
    harness = RetentionHarness.of(DELETES, NO_BUGS)
    harness.produce(0, 1)
    harness.advance(0)
    harness.delete(0, 1)
    assert (harness.asked, harness.deleted) == (1, 0)
    harness.fetch(1)  # the follower receives the new log start
    assert harness.deleted == 0
    harness.fetch(1)  # and reports it to the leader
    assert harness.deleted == 1
