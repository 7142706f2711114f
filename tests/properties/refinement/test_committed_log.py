"""Each step of the replication specs is a step of the committed log, or does not change that log.

The committed log is the abstract log that the transactions spec uses.
"""

from __future__ import annotations

from collections import Counter

import pytest

from checkers.explicit.graph import compiled_graph
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101, Kip320
from model.transactions.partition_bugs import UncleanElection
from model.transactions.state import QUIET
from model.transactions.versions import Transactions
from properties.refinement.committed_log import (
    CommittedLog,
    actions_between,
    coverage,
    log_of_partition,
    log_of_replication,
)
from tests.model.runs import run
from tests.properties.refinement.replication_history import RemembersWhatIsCommitted, Replication


class RememberingKip320(RemembersWhatIsCommitted, Kip320):
    pass


class RememberingKip101(RemembersWhatIsCommitted, Kip101):
    """KIP-101 with a history variable, which keeps the largest high watermark of any leader.

    The spec loses a committed record in eleven steps.
    """


def of_replication(spec: RemembersWhatIsCommitted) -> tuple[int, Counter[str]]:
    """Returns the number of a replication spec's states, and how many transitions take each action.

    The actions are those of the committed log, the abstract spec that the transitions refine.
    """
    found = compiled_graph(spec)
    logs = [log_of_replication(state, spec.replicas) for state in found.states]
    return len(logs), coverage((logs[a], logs[b]) for a, b in found.graph.edges())


def of_transactions(spec: Transactions) -> Counter[str]:
    found = compiled_graph(spec)
    steps: Counter[str] = Counter()
    for p in range(spec.partitions):
        logs = [log_of_partition(state, p) for state in found.states]
        steps += coverage((logs[a], logs[b]) for a, b in found.graph.edges())
    return steps


# ---- the abstract log


def log(ids: str, high_watermark: int, leader_epoch: int = 0) -> CommittedLog:
    """Returns a log: in `log("ab", 1)` the records are a and b, and a is committed."""
    records = tuple((ord(i),) for i in ids)
    return CommittedLog(leader_epoch=leader_epoch, records=records, high_watermark=high_watermark)


@pytest.mark.parametrize(
    ("before", "after", "actions"),
    [
        (log("a", 0), log("a", 0), ()),
        (log("a", 0), log("ab", 0), ("append",)),
        (log("a", 0), log("a", 1), ("advance_high_watermark",)),
        (log("ab", 1), log("a", 1, 1), ("change_leader",)),
        (log("ab", 1), log("ac", 1, 1), ("change_leader", "append")),
        (log("ab", 1), log("ab", 1, 1), ("change_leader",)),
        (log("ab", 1), log("a", 1), None),  # the same leader does not truncate
        (log("ab", 2), log("a", 1, 1), None),  # nor does a new leader truncate a committed record
        (log("ab", 1), log("cb", 1, 1), None),
        (log("a", 0, 1), log("a", 0, 0), None),
        (log("a", 0), None, None),
    ],
)
def test_the_abstract_actions_between_two_logs_are_found(
    before: CommittedLog, after: CommittedLog | None, actions: tuple[str, ...] | None
) -> None:
    assert actions_between(before, after) == actions


# ---- replication


def test_the_committed_log_has_the_leaders_records_above_its_high_watermark() -> None:
    elected = ("controller_elect_leader", 0), ("become_leader", 0, 0)
    state = run(Replication(replicas=2), *elected, ("leader_write", 0))
    assert log_of_replication(state, 2) == CommittedLog(
        leader_epoch=0, records=((0, 0),), high_watermark=0
    )


def test_todays_replication_provides_a_committed_log() -> None:
    states, steps = of_replication(Replication(replicas=2, max_leader_epoch=2))
    assert states == 7_043
    assert steps == {
        "none": 8_904,
        "append": 1_732,
        "advance_high_watermark": 2_158,
        "change_leader": 2_028,
    }


def test_three_replicas_with_one_record_provide_a_committed_log() -> None:
    spec = Replication(replicas=3, max_leader_epoch=1, log_size=1, max_records=1)
    states, steps = of_replication(spec)
    assert states > 2_000
    assert set(steps) == {"none", "append", "advance_high_watermark", "change_leader"}


def test_kip_320_before_kafka_2_7_provides_a_committed_log() -> None:
    _, steps = of_replication(RememberingKip320(replicas=2, max_leader_epoch=2))
    assert not steps["unexplained"]


@pytest.mark.parametrize(
    ("spec", "unexplained"),
    [
        (RemembersWhatIsCommitted(replicas=2), 76),
        (RememberingKip101(replicas=2, max_leader_epoch=2), 26),
    ],
)
def test_replication_that_loses_records_provides_no_committed_log(
    spec: RemembersWhatIsCommitted, unexplained: int
) -> None:
    assert of_replication(spec)[1]["unexplained"] == unexplained


def test_the_history_variable_changes_no_other_variable() -> None:
    remembering = compiled_graph(RemembersWhatIsCommitted(replicas=2))
    forgetful = compiled_graph(TruncateToHighWatermark(replicas=2))
    seen = {
        frozenset((cell, v) for cell, v in state.items() if cell[0] != "true_high_watermark")
        for state in remembering.states
    }
    assert seen == {frozenset(state.items()) for state in forgetful.states}


# ---- transactions


def test_transactions_need_only_a_committed_log() -> None:
    faults = {**QUIET, "leader_changes": 1, "replication_lags": True}
    steps = of_transactions(Transactions(**faults))
    assert set(steps) == {"none", "append", "advance_high_watermark", "change_leader"}


def test_an_unclean_election_breaks_the_committed_log() -> None:
    steps = of_transactions(UncleanElection(**{**QUIET, "leader_changes": 1}))
    assert steps["unexplained"]
