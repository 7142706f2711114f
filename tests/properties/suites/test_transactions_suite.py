"""The suite `transactions`: the delicate moments, each of one rule, on brokers with and without the
bug that shows there.
"""

from __future__ import annotations

import pytest

from properties.suites.deciding import Search
from properties.suites.programs import calls_in
from properties.suites.searching import Tally, replay
from properties.suites.transactions import TransactionsMachine
from properties.suites.transactions_sides import SUITE
from properties.transactions_claims import ALWAYS
from reference_impl.bugs import NO_BUGS, Bug

HANGS = "readers are held at offset 1 for ever"
MOMENTS = (
    ("V1", Bug.GUARD_OUTLIVES_MARKER, "verify_late()", "timeout_aborts", HANGS),
    ("V1", Bug.LATE_PRODUCE_ACCEPTED, "send_late()", "timeout_aborts", HANGS),
    ("V2", Bug.LATE_MARKER_ACCEPTED, "mark_late()", "atomic_commit", "work 2.1:2 is not"),
    ("V2", Bug.DELAYED_END_ACCEPTED, "end_late(commits=1)", "atomic_commit", "not committed"),
    ("V2", Bug.ZOMBIE_NOT_FENCED, "zombie_commits(count=1)", "retry_resumes", "replaced"),
    (
        "read at the leader",
        Bug.UNREPLICATED_MARKER_COUNTS,
        "commit_and_crash_leader_of_marker()",
        "read_committed_waits",
        "the end was 1, and then 0",
    ),
)


@pytest.mark.parametrize(("setting", "bug", "call", "claim", "why"), MOMENTS)
def test_a_bug_shows_at_its_moment_and_a_correct_broker_shows_nothing(
    setting: str, bug: Bug, call: str, claim: str, why: str
) -> None:
    calls = calls_in(f"state.{call}")
    shown = replay(TransactionsMachine(setting, bugs=frozenset({bug}), judge=(claim,)), calls)
    assert shown is not None
    assert (shown.name, why in shown.how) == (claim, True)
    assert replay(TransactionsMachine(setting), calls) is None


@pytest.mark.parametrize(
    ("setting", "call", "why"),
    [
        ("V1, late ends", "end_late(commits=1)", "atomic_commit: work 2.0:2 is read"),
        ("V1, not verified", "send_late()", f"timeout_aborts: output-1: {HANGS}"),
    ],
)
def test_the_first_protocol_breaks_where_the_second_holds(
    setting: str, call: str, why: str
) -> None:
    calls = calls_in(f"state.{call}")
    judge = (why.partition(":")[0],)
    assert str(replay(TransactionsMachine(setting, judge=judge), calls)).startswith(why)
    assert replay(TransactionsMachine("V2"), calls) is None


def test_the_first_protocol_holds_while_only_records_are_late() -> None:
    where = Search(suite=SUITE, seed=0, runs=15, rules=16, tally=Tally())
    claims = [claim for claim in ALWAYS if claim != "read_committed_waits"]
    assert where.found("V1", NO_BUGS, claims) is None
