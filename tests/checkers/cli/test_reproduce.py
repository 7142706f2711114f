"""`urteil reproduce` without brokers: its list of reproductions and its errors."""

from __future__ import annotations

from pathlib import Path

from checkers.reproduce.catalogue import REPRODUCTIONS
from tests.checkers.cli.conftest import Call


def test_without_a_name_all_reproductions_are_listed(call: Call, tmp_path: Path) -> None:
    done = call("reproduce")

    assert done.exit_code == 0
    assert [row["name"] for row in done.named("listed")] == [*REPRODUCTIONS]
    assert not (tmp_path / "runs").exists()


def test_an_unknown_name_is_a_usage_error(call: Call) -> None:
    done = call("reproduce", "duplicates")
    assert done.exit_code == 2
    assert "the nearest: duplicate-after-restart" in done.stderr


def test_only_a_cluster_that_urteil_started_can_be_killed(call: Call) -> None:
    for system in ("served", "127.0.0.1:9092"):
        done = call("reproduce", "unclean-election", "--on", system)
        assert done.exit_code == 2
        assert "use apache-kafka:VERSION" in done.stderr
