"""`urteil replay` repeats a recorded trace, on the variant of a spec that the trace names.

With `--variant`, it repeats the trace on another variant, such as the one in which the bug is
fixed. If a trace was edited by hand, each state that differs from the spec's state is marked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checkers.cli.test_check_behaviours import LEASE


@pytest.fixture
def trace(call: Any, tmp_path: Path) -> Path:
    output = call(
        "check", "replication", "--variant", "truncate-to-hw", "--property", "weak_isr",
        "--set", "replicas=2", "--set", "max_leader_epoch=2",
    )  # fmt: skip
    (file,) = tmp_path.glob("runs/*/*.itf.json")
    (evidence,) = output.named("evidence")
    assert evidence["text"].splitlines()[-1].split()[-3:] == ["urteil", "replay", str(file)]
    assert evidence["trace"] == json.loads(file.read_text())
    assert (
        evidence["drawing"] + "\n"
        == file.with_name(file.name.replace(".itf.json", ".svg")).read_text()
    )
    return file


def changed(file: Path, change: Callable[[Any], object]) -> str:
    read = json.loads(file.read_text())
    change(read)
    other = file.with_name("changed.itf.json")
    other.write_text(json.dumps(read))
    return str(other)


def test_a_trace_replayed_on_its_own_variant_is_still_a_counterexample(
    call: Any, trace: Path
) -> None:
    output = call("replay", str(trace))
    assert output.exit_code == 1
    assert output.verdicts() == {"weak_isr": "violated"}
    (decided,) = output.named("property_decided")
    assert (decided["engine"], decided["trace_length"]) == ("replay", 8)
    assert "replication truncate-to-hw: from Kafka 0.8 to 0.10" in output.stderr
    assert decided["in_force"] == "from Kafka 0.8 to 0.10"


def test_on_the_fixed_variant_the_conjunct_that_forbids_the_step_is_named(
    call: Any, trace: Path
) -> None:
    output = call("replay", str(trace), "--variant", "kip-320")
    assert output.exit_code == 0
    (evidence,) = output.named("evidence")
    assert "!    8  become_follower(b1, b0, leader_epoch 1) is not allowed:" in evidence["text"]
    assert "replica[b0].leader_epoch 0 is 1  is false" in evidence["text"]
    (decided,) = output.named("property_decided")
    assert "along this trace: step 8 is not possible" in decided["reason"]


def test_a_trace_without_actions_is_followed_by_its_states(call: Any, trace: Path) -> None:
    bare = changed(trace, lambda read: [state.pop("#meta") for state in read["states"]])
    assert call("replay", bare).verdicts() == {"weak_isr": "violated"}
    cut = changed(
        trace, lambda read: [s.pop("#meta") for s in read["states"]] and read["states"].pop(3)
    )
    (evidence,) = call("replay", cut).named("evidence")
    assert "no action leads to the next state of the trace" in evidence["text"]


def test_a_state_that_differs_is_marked(call: Any, trace: Path) -> None:
    other = changed(trace, lambda read: read["states"][4].update(next_id=2))
    (evidence,) = call("replay", other).named("evidence")
    assert "~    4  leader_write(b0)  (differs: next_id)" in evidence["text"]


def test_a_behaviour_that_loops_forever_is_replayed(call: Any, tmp_path: Path) -> None:
    spec = tmp_path / "lease.py"
    spec.write_text(LEASE.replace('@action(fair="weak")', "@action"))
    assert call("check", str(spec)).exit_code == 1
    (file,) = tmp_path.glob("runs/*/*is_released.itf.json")
    assert call("replay", str(file)).verdicts() == {"is_released": "violated"}
    spec.write_text(LEASE)
    assert call("replay", str(file)).verdicts() == {"is_released": "holds"}


@pytest.mark.parametrize(
    ("spec", "variant", "message"),
    [
        ("replication", "kip-101", "`urteil reproduce` lists those that have one"),
        ("election", "elects-anybody", "urteil reproduce unclean-election --on apache-kafka:4.3.0"),
    ],
)
def test_a_trace_of_a_model_names_the_schedule_for_real_brokers(
    call: Any, tmp_path: Path, spec: str, variant: str, message: str
) -> None:
    file = tmp_path / "trace.itf.json"
    file.write_text(json.dumps({"#meta": {"spec": spec, "variant": variant}, "states": []}))
    output = call("replay", str(file), "--on", "apache-kafka:4.3.0")
    assert output.exit_code == 2
    assert "a trace of a model has no schedule for real brokers" in output.stderr
    assert message in output.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a trace"),
        ("{", "not JSON"),
        ("{}", "does not name its spec"),
        ('{"#meta": {"spec": "replication"}}', "replication fetch-divergence has no property"),
    ],
)
def test_a_file_that_is_not_a_trace_is_rejected(
    call: Any, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "some.json"
    file.write_text(text)
    output = call("replay", str(file))
    assert output.exit_code == 2
    assert message in output.stderr
    assert call("replay", str(tmp_path / "missing")).exit_code == 2
