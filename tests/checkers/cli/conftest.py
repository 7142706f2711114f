"""Fixtures that run the command line in this process and return its output."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checkers.cli.main import urteil
from model.faults import InputFault


@dataclass(frozen=True, slots=True)
class Output:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    def named(self, event: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e["event"] == event]

    def verdicts(self) -> dict[str, str]:
        decided = self.named("property_decided") + self.named("anomaly_decided")
        return {e.get("property") or e["anomaly"]: e["verdict"] for e in decided}


Call = Callable[..., Output]


@pytest.fixture(autouse=True)
def proves_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test a cache of proofs of its own, so that no test rests on an earlier run."""
    monkeypatch.setattr("checkers.cli.prove.cache", lambda name: tmp_path / "cache" / name)


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Returns a function: `call("check", "replication")` runs `urteil check replication --json`."""

    def calling(*words: str, json_events: bool = True) -> Output:
        options = ["--out", str(tmp_path / "runs"), *(["--json"] if json_events else [])]
        result = CliRunner().invoke(urteil, [*words, *options])
        if isinstance(result.exception, InputFault):
            return Output(2, result.stdout, f"urteil: {result.exception}\n")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Output(result.exit_code, result.stdout, result.stderr)

    return calling
