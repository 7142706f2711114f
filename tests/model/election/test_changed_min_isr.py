"""Runs of elections with a changed min.insync.replicas: the losses of Kafka, and their fixes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from model.election.changed_min_isr import ChangedMinIsr
from model.election.min_isr_bugs import (
    AnswersWithoutMinIsr,
    ClearsElr,
    KeepsElrAtElection,
    NeverClearsElr,
)
from model.language import Spec

if TYPE_CHECKING:
    from tests.model.conftest import Play  # pytest gives the fixture; its class is named here

    Begin = Callable[[Spec], Play]

LOWERED = ChangedMinIsr(max_changes=1, max_disruptions=3)
RAISED = {"min_isr": 1, "other_min_isr": 2, "max_changes": 1}

# min.insync.replicas is lowered while the ISR is empty; both brokers return
LOWERED_IN_AN_OUTAGE = (
    *("shut_down 1", "shut_down 0", "change_min_isr", "register 0", "register 1"),
)


def test_kafka_clears_the_elr_of_a_partition_without_a_leader(play: Begin) -> None:
    """`urteil reproduce cleared-elr` shows the same on real brokers."""
    stuck = play(ClearsElr(max_changes=1)).do(*LOWERED_IN_AN_OUTAGE, "unfence 0", "unfence 1")
    assert stuck["partition_registration.leader"] is None


def test_a_kept_elr_elects_a_leader_and_is_then_emptied(play: Begin) -> None:
    run = play(LOWERED).do(*LOWERED_IN_AN_OUTAGE)
    assert run["partition_registration.elr 1"] is True
    run.do("unfence 0", "unfence 1", "apply_metadata 0")
    assert (run["partition_registration.leader"], run["partition_registration.elr 1"]) == (0, False)
    run.do("write 0", "advance_high_watermark 0")
    assert run.broken() == set()
    run.do("expire_session 0")
    assert run["partition_registration.leader"] is None


def test_an_elr_that_is_kept_too_long_elects_a_broker_without_the_record(play: Begin) -> None:
    lost = play(KeepsElrAtElection(max_changes=1, max_disruptions=3)).do(*LOWERED_IN_AN_OUTAGE)
    lost.do("unfence 0", "apply_metadata 0", "write 0", "advance_high_watermark 0")
    assert "candidate_completeness" in lost.broken()
    lost.do("expire_session 0", "unfence 1")
    assert lost["partition_registration.leader"] == 1
    assert "leader_completeness" in lost.broken()


def test_a_lowered_setting_clears_the_elr_because_the_leader_may_commit_alone(play: Begin) -> None:
    alone = ("write 0", "expire_session 1", "unfence 1", "change_min_isr", "apply_metadata 0")
    run = play(LOWERED).do(*alone, "advance_high_watermark 0", "expire_session 0")
    assert (run["partition_registration.leader"], run.broken()) == (None, set())
    lost = play(NeverClearsElr(max_changes=1)).do(*alone)
    lost.do("advance_high_watermark 0", "expire_session 0")
    assert "leader_completeness" in lost.broken()


def test_a_raised_setting_is_in_the_answer(play: Begin) -> None:
    """A leader that does not know the raised setting may commit and lose a record: `urteil
    reproduce raised-min-isr` shows this on real brokers.
    """
    shrunk = ("write 0", "change_min_isr", "shrink_isr 0 1", "grant_isr 0", "take_answer 0")
    lost = play(AnswersWithoutMinIsr(**RAISED)).do(*shrunk, "advance_high_watermark 0")
    assert "leader_completeness" in lost.do("expire_session 0").broken()
    run = play(ChangedMinIsr(**RAISED)).do(*shrunk)
    assert run["known_minimum 0"] == 2
    assert "known_minimum" in run.refused("advance_high_watermark 0")


def test_a_leader_learns_the_setting_by_its_metadata(play: Begin) -> None:
    run = play(LOWERED).do("change_min_isr")
    assert run["known_minimum 0"] == 2
    assert run.do("learn_min_isr 0")["known_minimum 0"] == 1
