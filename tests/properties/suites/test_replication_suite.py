"""With each of ten seeds, the suite `replication` finds three bugs; equal seeds give equal runs."""

from __future__ import annotations

from functools import partial

import pytest

from model.faults import UnknownName
from properties.suites.machines.judged import Shown
from properties.suites.registry import SUITES, suite_named
from properties.suites.replication.rules import ReplicationMachine
from properties.suites.replication.sides import SUITE
from properties.suites.search.deciding import decide, run
from properties.suites.search.searching import search
from reference_impl.node.bugs import Bug, bugs_named

SEEDED = (Bug.NO_DEDUP, Bug.TRUNCATE_TO_HIGH_WATERMARK, Bug.ACK_BEFORE_REPLICATION)


@pytest.mark.parametrize("bug", SEEDED, ids=lambda bug: bug.value)
def test_a_seeded_bug_is_found_on_ten_seeds_of_ten_and_the_program_fails_again(bug: Bug) -> None:
    side = next(side for side in SUITE.outside if side.bugs == frozenset({bug}))
    for seed in range(10):
        verdict = decide(SUITE, side, seed=seed, shrinks=seed == 0)
        assert verdict.outcome == "violated", f"seed {seed}: {verdict.why}"
        (program,) = verdict.programs
        assert program.endswith(f"\n# Broken: {verdict.claim}: {verdict.why}\n")
        assert f'bugs_named("{bug.value}")' in program
        with pytest.raises(Shown) as shown:
            exec(program, {})
        assert str(shown.value) == f"{verdict.claim}: {verdict.why}"


def test_without_the_bug_the_same_program_shows_nothing() -> None:
    result = run(SUITE, bugs=bugs_named("truncate-to-high-watermark"))
    (program,) = result.violated[0].programs
    exec(program.replace(', bugs=bugs_named("truncate-to-high-watermark")', ""), {})


def test_equal_seeds_give_equal_verdicts() -> None:
    bugs = bugs_named("no-dedup")
    assert run(SUITE, bugs=bugs, seed=5).verdicts == run(SUITE, bugs=bugs, seed=5).verdicts


def test_an_unknown_suite_name_lists_the_nearest() -> None:
    assert suite_named("replication") is SUITES["replication"]
    with pytest.raises(UnknownName, match="no suite 'replicaton'; the nearest: replication"):
        suite_named("replicaton")


def test_a_producer_session_that_should_last_but_ends_is_no_progress() -> None:
    machine = ReplicationMachine(bugs=bugs_named("ack-before-replication"), judge=())
    machine.send_and_await(1)
    machine.cluster.run_for(100)  # the followers have this record, and know the producer
    machine.isolate_leader()
    machine.send_and_await(1)  # acknowledged, but lost with the leader
    machine.crash_leader()
    machine.await_election()
    machine.send_and_await(1)  # the new leader misses the sequence number before
    with pytest.raises(Shown, match="progress: the producer session ended with OUT_OF_ORDER"):
        machine.teardown()


def test_a_claim_that_the_smallest_run_does_not_break_is_undecided() -> None:
    result = run(SUITE, bugs=bugs_named("zero-offset-ack"))
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes["offset_identifies"] == "violated"
    assert outcomes["committed_survives"] == "undecided"


@pytest.mark.parametrize(
    ("setting", "log"), [("new epoch", "v0 v1 v2 v1 v2"), ("new epoch, one in flight", "v0 v1 v2")]
)
def test_brokers_that_restart_append_two_batches_in_flight_twice(setting: str, log: str) -> None:
    """Restarted brokers that remember only a producer's newest batch append two batches twice.

    The producer retries both batches, because the responses are lost. Kafka's brokers have this
    defect, too. With one batch in flight, no batch is appended twice.
    """
    bugs = bugs_named("snapshot-keeps-newest")
    machine = ReplicationMachine(setting, bugs=bugs, judge=())
    machine.send_and_await(1)
    machine.lose_responses_and_restart(2)
    assert " ".join(value for _, value in machine.publish().log) == log


def test_with_one_batch_in_flight_a_restart_duplicates_nothing() -> None:
    machine = partial(
        ReplicationMachine,
        "new epoch, one in flight",
        bugs=bugs_named("snapshot-keeps-newest"),
        judge=("exactly_once_publish",),
    )
    assert search(machine, seed=0, runs=40, rules=16, simpler=ReplicationMachine.SIMPLER) is None
