"""Log directories of Apache Kafka, and assertions on an audit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checkers.histories.columnar.rows import as_rows
from checkers.log_dirs.audit import Audit
from checkers.log_dirs.coordinator import coordinated
from checkers.log_dirs.folders import log_dirs
from tests.checkers.log_dirs import plain

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka"


def brokers(story: str) -> list[Path]:
    return [KAFKA / story / f"broker-{number}" for number in (1, 2, 3)]


KILLED, STOPPED = brokers("log_dirs_killed"), brokers("log_dirs_stopped")


def assert_literal(found: Audit, folders: Sequence[Path]) -> None:
    """Asserts that each check of the audit finds the same as its literal definition."""
    dirs = log_dirs(folders)
    read = plain.logs(dirs, coordinated(dirs))
    assert found.batches == sum(len(log.batches) for log in read.replicas)
    for decision in found.decisions:
        check = decision.check
        if found.batches:
            assert (check.id, as_rows(decision.rows, check.row)) == (check.id, check.find(read))
            assert (check.id, decision.observations) == (check.id, check.observed(read))
        else:
            assert decision.verdict == "undecided"


def violated(found: Audit) -> list[str]:
    return [decision.check.id for decision in found.decisions if decision.count]
