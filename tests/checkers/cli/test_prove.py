"""`urteil prove`: what is proved holds, what a run breaks is violated, the rest is undecided."""

from __future__ import annotations

from typing import Any


def test_version_2_is_proved_for_any_number_of_everything(call: Any) -> None:
    said = call("prove", "transactions")
    assert said.exit_code == 0
    assert said.verdicts() == {
        "atomic": "holds",
        "no_hanging_transaction": "holds",
        "faithful": "holds",
    }


def test_version_1_fails_at_append_and_at_marker_each_paired_with_a_real_run(call: Any) -> None:
    said = call("prove", "transactions", "--variant", "v1")
    assert said.exit_code == 1
    verdicts = said.verdicts()
    assert verdicts["no_hanging_transaction"] == verdicts["faithful"] == "violated"
    lengths = {e["property"]: e["trace_length"] for e in said.those("property_decided")}
    assert (lengths["no_hanging_transaction"], lengths["faithful"]) == (6, 9)
    shown = [e["text"] for e in said.those("evidence")]
    broken = [t.splitlines()[0] for t in shown if "does not preserve" in t]
    assert any("append does not preserve no_hanging_transaction" in line for line in broken)
    assert any("write_marker does not preserve faithful" in line for line in broken)
    assert {line.split()[1] for line in broken} == {"append", "write_marker"}
    assert any(t.startswith("a real run of it:") for t in shown)


def test_a_solver_that_may_not_think_leaves_everything_undecided(call: Any) -> None:
    said = call("prove", "transactions", "--limit-ms", "1")
    assert said.exit_code == 3
    assert set(said.verdicts().values()) == {"undecided"}


def test_a_limit_of_nothing_is_refused(call: Any) -> None:
    said = call("prove", "transactions", "--limit-ms", "0")
    assert said.exit_code == 2
    assert "--limit-ms 0: at least 1" in said.stderr
