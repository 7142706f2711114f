"""`urteil explore` serves a page until Ctrl-C, prints a state, or names the mistake."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

BUG = (
    "explore", "replication", "--variant", "truncate-to-hw", "--set", "replicas=2",
    "--set", "max_leader_epoch=2",
)  # fmt: skip
BEGUN = "controller_elect_leader(b0); controller_shrink_isr(b1)"


def test_a_state_is_printed_as_text(call: Any) -> None:
    output = call(*BUG, "--path", BEGUN, "--print", "-v", "--compare", "kip-320", json_events=False)
    assert output.exit_code == 0
    text = output.stdout
    assert "     2  controller_shrink_isr(b1)\n          registration  leader_epoch 0 → 1" in text
    assert "  * registration.isr = {b0}\n" in text
    assert "enabled actions: 5\n    controller_shrink_isr(b0)\n" in text
    assert "become_leader(b0, leader_epoch -1)  line 1" in text
    assert "(and 5 more calls)" in text
    assert "compared with kip-320 after step 2" in text
    assert text.rstrip().endswith(f"--set max_leader_epoch=2 --path '{BEGUN}'")


def test_the_printed_command_prints_the_same_state(call: Any) -> None:
    (first,) = call(*BUG, "--path", BEGUN, "--print").named("state_shown")
    (again,) = call(*BUG, "--path", first["view"]["path"], "--print").named("state_shown")
    assert first == again


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["replicaton"], "no spec 'replicaton'; the nearest: replication"),
        (["--path", "leader_wite(b0)"], "step 1: replication fetch-divergence has no action"),
        (["--path", "leader_write(b0)"], "step 1, leader_write(b0), is not possible"),
        (["--compare", "kip"], "replication has no variant 'kip'"),
        (["--set", "replicas=many"], "--set replicas=many: write NAME=VALUE"),
        (["no/folder"], "no/folder: no such file; name a spec, a run folder"),
    ],
)
def test_a_mistake_ends_with_exit_code_2(call: Any, words: list[str], message: str) -> None:
    output = call("explore", *words, "--print")
    assert output.exit_code == 2
    assert message in output.stderr


def test_explore_opens_the_counterexample_of_a_run_folder(call: Any, tmp_path: Path) -> None:
    checked = call("check", *BUG[1:], "--property", "weak_isr")
    (evidence,) = checked.named("evidence")
    (file,) = tmp_path.glob("runs/*/*.itf.json")
    assert f"urteil explore {file}" in evidence["text"]
    for place in (file, file.parent):
        (shown,) = call("explore", str(place), "--print").named("state_shown")
        assert len(shown["view"]["steps"]) == 8
        broken = [p["name"] for p in shown["view"]["properties"] if p["broken_at"] is not None]
        assert broken == ["weak_isr"]
    refused = call("explore", str(file), "--variant", "kip-320", "--print")
    assert (refused.exit_code, "step 8, become_follower" in refused.stderr) == (2, True)
    assert call("explore", str(file), "--path", "a()", "--print").exit_code == 2


def test_a_spec_of_a_user_is_explored(call: Any, tmp_path: Path) -> None:
    from tests.checkers.cli.test_check_behaviours import LEASE

    file = tmp_path / "lease.py"
    file.write_text(LEASE)
    (shown,) = call("explore", str(file), "--print").named("state_shown")
    assert shown["view"]["enabled"]


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_ctrl_c_ends_the_server(number: signal.Signals) -> None:
    words = [sys.executable, "-c", "from checkers.cli.main import main; main()", *BUG]
    with subprocess.Popen(
        [*words, "--no-browser", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        ready = json.loads(server.stdout.readline())
        assert ready["event"] == "explorer_ready"
        assert ready["link"].startswith(f"{ready['url']}#spec=replication&variant=truncate-to-hw")
        with urllib.request.urlopen(ready["url"], timeout=30) as page:
            assert b"urteil explore" in page.read()
        server.send_signal(number)
        rest = server.stdout.read()
        assert server.wait(timeout=30) == 0
        assert json.loads(rest)["exit_code"] == 0
        assert server.stderr.read() == "Ctrl-C ends the server\n"
