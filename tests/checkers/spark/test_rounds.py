"""A search in rounds on Spark has the same counts, verdicts and shortest lengths as a search in one
process.

All tests share a Spark session, because a session is slow to start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from checkers.cli.main import urteil
from checkers.explicit.distributed.search import search
from checkers.explicit.exploration import Task
from checkers.explicit.search import chosen, explore
from checkers.rounds import Sent
from checkers.spark.rounds import SparkRounds
from checkers.spark.session import session
from model.faults import InputFault
from model.replication.actions import TruncateToHighWatermark
from tests.checkers.explicit.distributed.test_search import without_extra_traces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLOCK = '''
from model.language import Bool, Int, Scope, Spec, Temporal
from model.language import action, invariant, leads_to, liveness, when

class Tick(Int):
    """A number of ticks."""

class Clock(Spec):
    """A clock ticks until its end."""

    now: Tick

    def scope(s) -> Scope:
        return {Tick: range(4)}

    @action(fair="weak")
    def tick(s) -> None:
        """It ticks."""
        when(s.now < 3)
        s.now = s.now + 1

    @invariant
    def runs(s) -> Bool:
        """False at the end."""
        return s.now < 3

    @liveness
    def ends(s) -> Temporal:
        """It comes to its end."""
        return leads_to(s.now == 0, s.now == 3)
'''


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session("local[2]") as running:
        yield running


def test_spark_has_the_results_of_the_compiled_engine(spark: SparkSession) -> None:
    spec, names = TruncateToHighWatermark(replicas=2, max_leader_epoch=2), ["weak_isr"]
    compiled = explore(spec, properties=names, engine="compiled")
    with SparkRounds(spark, partitions=2, copied_together=4).closed() as rounds:
        found = search(Task(spec=spec, claims=chosen(spec, names)), rounds)
        assert len(rounds.copies) == 2
    assert without_extra_traces(found) == without_extra_traces(compiled)
    assert found.discoveries["weak_isr"].steps == 8


def test_the_command_explores_on_spark_and_leaves_liveness_undecided(
    spark: SparkSession, tmp_path: Path
) -> None:
    del spark
    (tmp_path / "clock.py").write_text(CLOCK)
    words = ["check", str(tmp_path / "clock.py"), "--engine", "spark", "--json"]
    ended = CliRunner().invoke(urteil, [*words, "--out", str(tmp_path / "runs")])
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    decided = {e["property"]: e for e in events if e["event"] == "property_decided"}
    assert ended.exit_code == 1
    assert decided["runs"]["trace_length"] == 3
    assert decided["runs"]["distinct_states"] == 4
    assert decided["ends"]["verdict"] == "undecided"
    assert decided["ends"]["reason"] == "--engine spark does not decide liveness"


def refuse(_sent: Iterable[bytes], _earlier: Iterable[bytes]) -> Iterator[Sent]:
    raise InputFault("a worker refuses")


def test_a_fault_on_a_worker_is_raised_in_the_driver(spark: SparkSession) -> None:
    with SparkRounds(spark).closed() as rounds, pytest.raises(InputFault, match="worker refuses"):
        rounds.begin([(0, b"state")], refuse)
