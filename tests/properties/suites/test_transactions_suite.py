"""The suite `transactions`: each bug breaks a claim at a certain moment of a transaction.

At the same moment, a correct broker breaks no claim.
"""

from __future__ import annotations

from functools import partial

import pytest

from model.histories import History
from properties.anomalies.catalogue import CATALOGUE
from properties.anomalies.declarations import NOTHING_DECLARED
from properties.claims.transactions import ALWAYS, Transacted
from properties.suites.machines.judged import Tally
from properties.suites.search.deciding import Search
from properties.suites.search.programs import Call, calls_in
from properties.suites.search.searching import replay, search
from properties.suites.transactions.rules import TransactionsMachine
from properties.suites.transactions.sides import SUITE
from reference_impl.node.bugs import NO_BUGS, Bug
from reference_impl.node.seeded_bugs import SEEDED_BUGS

STUCK = "readers are stuck at offset 1"

# By bug: the setting and the calls that show it, the broken claim, and the anomaly.
MOMENTS = {
    Bug.GUARD_OUTLIVES_MARKER: ("V1", "verify_late()", "timeout_aborts", "G1a"),
    Bug.LATE_PRODUCE_ACCEPTED: ("V1", "send_late()", "timeout_aborts", "G1a"),
    Bug.LATE_MARKER_ACCEPTED: ("V2", "mark_late()", "atomic_commit", "torn-transaction"),
    Bug.DELAYED_END_ACCEPTED: ("V2", "end_late(commits=1) abort()", "atomic_commit", "G1a"),
    Bug.ZOMBIE_NOT_FENCED: ("V2", "zombie_commits(count=1)", "retry_resumes", "zombie-write"),
    Bug.UNREPLICATED_MARKER_COUNTS: (
        "read at the leader",
        "commit_and_crash_leader_of_marker()",
        "read_committed_waits",
        "stale-end-offset",
    ),
    Bug.MARKER_ON_ONE_PARTITION: ("V2", "send(count=2) commit()", "atomic_commit", "unseen"),
    Bug.ABORTED_NOT_LISTED: ("V2", "send(count=2) abort()", "atomic_commit", "G1a"),
    Bug.LAST_STABLE_OFFSET_READ: (
        "read at the leader",
        "send(count=1) pass_time(pause_ms=150) abort()",
        "read_committed_waits",
        "open-transaction-read",
    ),
    Bug.OFFSETS_DESPITE_ABORT: (
        "V2",
        "ask_offset(stable=1) send_offset() abort()",
        "offsets_in_transaction",
        "aborted-offset-read",
    ),
    Bug.OFFSETS_LOST_AT_COMMIT: (
        "V2",
        "send_offset() commit()",
        "offsets_in_transaction",
        "stale-group-offset",
    ),
    Bug.NO_DEDUP: (
        "V2",
        "send(count=1) lose_responses(count=1) send(count=2) commit()",
        "transactional_implies_idempotent",
        "duplicate",
    ),
}


def calls(text: str) -> tuple[Call, ...]:
    return calls_in("\n".join(f"state.{call}" for call in text.split()))


def ended(setting: str, text: str, *bugs: Bug) -> TransactionsMachine:
    machine = TransactionsMachine(setting, bugs=frozenset(bugs), judge=())
    assert replay(machine, calls(text)) is None
    return machine


def anomalies(history: History) -> set[str]:
    """Returns the anomalies in the history, without those that are always permitted."""
    permitted = NOTHING_DECLARED.conditions()
    looked_for = [one for one in CATALOGUE if permitted.isdisjoint(one.permits)]
    return {anomaly.id for anomaly in looked_for if anomaly.find(history)}


@pytest.mark.parametrize("bug", MOMENTS, ids=lambda bug: bug.value)
def test_a_bug_shows_at_its_moment_and_a_correct_broker_shows_nothing(bug: Bug) -> None:
    setting, text, claim, anomaly = MOMENTS[bug]
    broken = ended(setting, text, bug)
    assert broken.shows(claim) is not None
    assert anomaly in anomalies(broken.observed.history)
    correct = ended(setting, text)
    assert [correct.shows(every) for every in ALWAYS] == [None] * len(ALWAYS)
    assert anomalies(correct.observed.history) == set()


def test_each_bug_that_the_suite_catches_breaks_the_claims_of_its_row() -> None:
    rows = {row.bug: row for row in SEEDED_BUGS if "suite transactions" in row.caught_by}
    assert set(rows) == set(MOMENTS)
    for bug, (_, _, claim, anomaly) in MOMENTS.items():
        assert {claim, anomaly} <= set(rows[bug].breaks)
        assert "history analysis" in rows[bug].caught_by


class Analysed(TransactionsMachine):
    def end(self) -> Transacted:
        run = super().end()
        assert anomalies(run.history) == set()
        return run


def test_no_run_of_a_correct_broker_shows_an_anomaly() -> None:
    tally = Tally()
    machine = partial(Analysed, "read at the leader", judge=(), tally=tally)
    assert search(machine, seed=3, runs=10, rules=12, simpler=Analysed.SIMPLER) is None
    assert tally.runs >= 10


@pytest.mark.parametrize(
    ("setting", "call", "why"),
    [
        ("V1, late ends", "end_late(commits=1)", "atomic_commit: work 2.0:2 is read"),
        ("V1, not verified", "send_late()", f"timeout_aborts: output-1: {STUCK}"),
    ],
)
def test_v1_breaks_a_claim_that_v2_keeps(setting: str, call: str, why: str) -> None:
    claim = why.partition(":")[0]
    assert f"{claim}: {ended(setting, call).shows(claim)}".startswith(why)
    assert ended("V2", call).shows(claim) is None


def test_v1_holds_while_only_records_are_late() -> None:
    where = Search(suite=SUITE, seed=0, runs=10, rules=12, tally=Tally())
    claims = [claim for claim in ALWAYS if claim != "read_committed_waits"]
    assert where.found("V1", NO_BUGS, claims) is None
