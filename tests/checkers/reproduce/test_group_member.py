"""Members of consumer groups, and the actions of schedules on them."""

from __future__ import annotations

import pytest

from checkers.record.processes import Topic
from checkers.reproduce import assigned_pipeline, group_member
from checkers.reproduce.actions import create_topic, fetch_committed, nothing, send
from checkers.reproduce.assigned_pipeline import OUTPUT
from checkers.reproduce.assigned_pipeline_actions import (
    begin_at_committed,
    process,
    start_assigned_pipeline,
)
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.committed_offset import has_offset, refuses_offsets
from checkers.reproduce.group_actions import (
    commit,
    commit_in_transaction,
    consume,
    coordinates_group,
    join_group,
    leave_group,
)
from checkers.reproduce.group_member import GroupProtocol
from checkers.reproduce.schedules.static_member_refused import REFUSED
from checkers.reproduce.stage import TOPIC, Stage
from tests.checkers.reproduce.test_stage import create, take


def test_a_member_reads_the_records_of_the_topic(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, send("a", "b"), acknowledged("a", "b"))

    assert take(stage, join_group("c1"), done).reached
    assert take(stage, consume("c1"), is_noted("a")).reached
    assert take(stage, consume("c1"), is_noted("b")).reached


@pytest.mark.parametrize("protocol", ["consumer", "classic"])
def test_the_next_member_begins_at_the_committed_offset(
    stage: Stage, protocol: GroupProtocol
) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, send("a", "b"), acknowledged("a", "b"))

    take(stage, join_group("c1", protocol=protocol), done)
    assert take(stage, consume("c1"), is_noted("a")).reached
    assert take(stage, nothing, has_offset(None, at=2), within_s=0).reached
    assert take(stage, commit("c1"), done).reached
    assert take(stage, nothing, has_offset(1, at=2), within_s=0).reached
    assert take(stage, leave_group("c1"), done).reached
    assert [*stage.group_members] == []

    take(stage, join_group("c2", protocol=protocol), done)
    assert take(stage, consume("c2"), is_noted("b")).reached


def test_a_second_process_of_a_static_member_fails_while_the_first_one_runs(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, send("a"), acknowledged("a"))

    take(stage, join_group("c1", "i"), done)
    assert take(stage, consume("c1"), is_noted("a")).reached
    take(stage, join_group("c2", "i"), done)
    assert take(stage, consume("c2"), is_noted(REFUSED)).reached


def test_a_group_without_records_is_noted(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_member, "WITHIN_S", 0.0)
    take(stage, create(1), partition(leader=1))
    take(stage, join_group("c1"), done)

    assert take(stage, consume("c1"), is_noted("no record")).reached


def test_a_member_commits_its_position_in_a_transaction_and_leaves(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, send("a", "b"), acknowledged("a", "b"))
    take(stage, join_group("c1"), done)
    take(stage, consume("c1"), is_noted("a"))
    coordinator = group_coordinator(stage)

    assert take(stage, nothing, has_offset(None, at=coordinator)).reached
    assert take(stage, commit_in_transaction("c1"), done).reached
    seen = take(stage, nothing, has_offset(1, at=coordinator))
    assert (seen.reached, seen.text) == (True, "committed offset 1")
    assert take(stage, leave_group("c1"), done).reached
    assert not stage.group_members


def test_only_the_coordinator_returns_the_committed_offset(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))
    coordinator = group_coordinator(stage)
    other = 3 - coordinator

    assert take(stage, nothing, coordinates_group(coordinator, at=other)).reached
    assert not take(stage, nothing, coordinates_group(other, at=other), within_s=0).reached
    assert take(stage, nothing, refuses_offsets(at=other)).reached
    assert not take(stage, nothing, refuses_offsets(at=coordinator), within_s=0).reached
    assert not take(stage, nothing, has_offset(0, at=other), within_s=0).reached


def test_pipelines_take_turns_and_process_each_input_once(stage: Stage) -> None:
    stage.topic = Topic(TOPIC, 2)
    take(stage, create_topic(1), partition(leader=1))
    take(stage, send("a", "b"), acknowledged("a", "b"))

    take(stage, start_assigned_pipeline("x1"), done)
    assert take(stage, begin_at_committed("x1"), is_noted("offset 0")).reached
    assert take(stage, process("x1"), is_noted("a")).reached
    take(stage, start_assigned_pipeline("x2", at=2), done)
    assert take(stage, begin_at_committed("x2"), is_noted("offset 1")).reached
    assert take(stage, process("x2"), is_noted("b")).reached
    take(stage, start_assigned_pipeline("x1"), done)
    assert take(stage, begin_at_committed("x1"), is_noted("offset 2")).reached
    outputs = "last stable offset 4, records [a b]"
    assert take(stage, fetch_committed(1, OUTPUT), is_noted(outputs)).reached


def test_a_pipeline_without_inputs_notes_this(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, start_assigned_pipeline("x1"), done)
    take(stage, begin_at_committed("x1"), done)
    monkeypatch.setattr(assigned_pipeline, "WITHIN_S", 0.0)

    assert take(stage, process("x1"), is_noted("no record")).reached


def group_coordinator(stage: Stage) -> int:
    found = take(stage, nothing, coordinates_group(1, at=1), within_s=0)
    return 1 if found.reached else 2
