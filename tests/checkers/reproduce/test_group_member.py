"""Members of consumer groups (KIP-848), and the actions of schedules on them."""

from __future__ import annotations

import pytest

from checkers.reproduce import group_member
from checkers.reproduce.actions import send
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.group_actions import consume, join_group
from checkers.reproduce.schedules.static_member_refused import REFUSED
from checkers.reproduce.stage import Stage
from tests.checkers.reproduce.test_stage import create, take


def test_a_member_reads_the_records_of_the_topic(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, send("a", "b"), acknowledged("a", "b"))

    assert take(stage, join_group("c1"), done).reached
    assert take(stage, consume("c1"), is_noted("a")).reached
    assert take(stage, consume("c1"), is_noted("b")).reached


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
