"""Runs of brokers with two log directories: two failures of Kafka, and their fixes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from model.election.log_directories import LogDirectories
from model.election.log_directory_bugs import (
    AcceptsFailedReplica,
    ElectsFailedReplica,
    IgnoresFailedDirectory,
    KeepsLostReplica,
    ReportsTooLate,
)
from model.language import Spec

if TYPE_CHECKING:
    from tests.model.conftest import Play  # pytest gives the fixture; its class is named here

    Begin = Callable[[Spec], Play]

# b0 leads, and a record is on both before it is committed
COMMITTED = ("write 0", "fetch 1 0", "fetch 1 0", "advance_high_watermark 0")
# b0 is fenced, then the directory of b1 fails; the operator removes it, and b1 returns
RETURNS_WITHOUT_DIRECTORY = (
    *("expire_session 0", "fail_directory 1", "report_failure 1", "remove_directory 1"),
    *("register 1", "unfence 1", "assign_directory 1"),
)
LEADER, IN_ISR = "partition_registration.leader", "partition_registration.isr 1"


def test_a_broker_without_its_directory_is_elected_with_an_empty_log(play: Begin) -> None:
    """`urteil reproduce removed-disk` shows this on real brokers."""
    lost = play(KeepsLostReplica()).do(*COMMITTED, *RETURNS_WITHOUT_DIRECTORY)
    assert (lost[LEADER], lost["broker.end_offset 1"]) == (1, 0)
    assert "leader_completeness" in lost.broken()


def test_a_broker_that_registers_without_its_directory_leaves_the_elr(play: Begin) -> None:
    run = play(LogDirectories()).do(*COMMITTED, *RETURNS_WITHOUT_DIRECTORY)
    assert (run[LEADER], run["partition_registration.elr 1"]) == (None, False)
    run.do("unfence 0")
    assert (run[LEADER], run.broken()) == (0, set())


def test_the_same_happens_if_the_directory_is_lost_while_the_broker_is_stopped(
    play: Begin,
) -> None:
    stopped = (*COMMITTED, "shut_down 0", "replace_disk 0", "expire_session 1")
    returns = ("register 0", "unfence 0", "assign_directory 0")
    lost = play(KeepsLostReplica(max_disruptions=2)).do(*stopped, *returns)
    assert (lost[LEADER], lost["broker.end_offset 0"]) == (0, 0)
    assert "leader_completeness" in lost.broken()
    run = play(LogDirectories(max_disruptions=2)).do(*stopped, *returns)
    assert (run[LEADER], run.broken()) == (None, set())


# the directory of b1 fails while its fetch is in flight; the leader then reads the fetch
PROPOSED_AFTER_FAILURE = (
    *("fail_directory 1", "report_failure 1", "apply_metadata 0", "take_late_fetch 0 1"),
)


def test_a_replica_joins_the_isr_after_its_directory_failed(play: Begin) -> None:
    """`urteil reproduce failed-disk-joins-isr` shows the same result by another path."""
    run = play(AcceptsFailedReplica()).do(*PROPOSED_AFTER_FAILURE, "grant_isr 0")
    assert run.broken() == {"failed_is_out_of_sync"}
    run.do("expire_session 0", "unfence 0")
    assert (run[LEADER], run[IN_ISR]) == (None, True)
    assert run.broken() == {"failed_is_out_of_sync", "candidates_are_elected"}


def test_a_request_to_add_a_replica_without_its_directory_is_refused(play: Begin) -> None:
    run = play(LogDirectories()).do(*PROPOSED_AFTER_FAILURE)
    assert "directory" in run.refused("grant_isr 0")
    run.do("refuse_isr 0", "expire_session 0", "unfence 0")
    assert (run[LEADER], run[IN_ISR], run.broken()) == (0, False, set())


def test_the_controller_elects_no_broker_whose_directory_failed(play: Begin) -> None:
    failed = ("fail_directory 0", "report_failure 0")
    moved = play(LogDirectories()).do(*failed)
    assert (moved[LEADER], moved["partition_registration.isr 0"]) == (1, False)
    alone = ("expire_session 1", *failed, "unfence 1")
    assert play(LogDirectories()).do(*alone)[LEADER] == 1
    elected = play(ElectsFailedReplica()).do(*alone)
    assert (elected[LEADER], elected.broken()) == (0, {"failed_is_out_of_sync"})


def test_one_heartbeat_unfences_a_broker_and_reports_its_directory(play: Begin) -> None:
    """`urteil reproduce failed-disk-is-elected` shows this on real brokers."""
    fenced = ("expire_session 1", "expire_session 0", "fail_directory 0", "unfence 0")
    run = play(ReportsTooLate(max_disruptions=2)).do(*fenced)
    assert (run[LEADER], run.broken()) == (0, {"failed_is_out_of_sync"})
    right = play(LogDirectories(max_disruptions=2)).do(*fenced, "report_failure 0")
    assert (right[LEADER], right.broken()) == (None, set())
    assert right.do("unfence 1")[LEADER] == 1


def test_a_report_that_the_controller_ignores_keeps_the_leader(play: Begin) -> None:
    run = play(IgnoresFailedDirectory()).do("fail_directory 1", "report_failure 1")
    assert (run[IN_ISR], run.broken()) == (True, {"failed_is_out_of_sync"})


@pytest.mark.parametrize("step", ["write 0", "fetch 1 0", "advance_high_watermark 0"])
def test_a_leader_whose_directory_failed_does_nothing_more(play: Begin, step: str) -> None:
    before = COMMITTED[: COMMITTED.index(step)]
    assert "directory" in play(LogDirectories()).do(*before, "fail_directory 0").refused(step)


def test_a_new_replica_copies_the_log_and_may_lead(play: Begin) -> None:
    run = play(LogDirectories(max_disruptions=2)).do(*COMMITTED, "fail_directory 1")
    run.do("report_failure 1", "remove_directory 1", "register 1", "unfence 1", "apply_metadata 1")
    run.do("apply_metadata 0", "fetch 1 0", "fetch 1 0")
    assert "directory" in run.refused("grant_isr 0")
    run.do("assign_directory 1", "apply_metadata 0", "fetch 1 0", "grant_isr 0", "shut_down 0")
    assert (run[LEADER], run["broker.end_offset 1"], run.broken()) == (1, 1, set())
