"""Ctrl-C: what was decided is kept, and the exit code is 130."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path


def test_an_interrupted_exploration_keeps_what_it_has(tmp_path: Path) -> None:
    words = ["check", "replication", "--json", "--set", "max_leader_epoch=2", "--set", "log_size=3"]
    call = [sys.executable, "-c", "from checkers.cli.main import main; main()", *words]
    with subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        time.sleep(3)  # well inside the exploration of millions of states
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    told = [json.loads(line) for line in out.splitlines()]
    decided = [e for e in told if e["event"] == "property_decided"]
    assert process.returncode == 130
    assert told[-1] == {"v": 1, "event": "run_finished", "exit_code": 130}
    assert {e["verdict"] for e in decided} == {"undecided"}
    assert all(e["reason"] == "interrupted" and e["distinct_states"] > 0 for e in decided)
    kept = (tmp_path / started["folder"] / "events.ndjson").read_text()
    assert '"reason": "interrupted"' in kept
