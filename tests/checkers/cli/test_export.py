"""`urteil export` writes a TLA+ module and a configuration for the model checker TLC."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_a_module_and_its_configuration(call: Any, tmp_path: Path) -> None:
    to = tmp_path / "build"
    output = call(
        "export", "replication", "--variant", "kip-101", "--property", "weak_isr", "--to", str(to)
    )
    assert output.exit_code == 0
    assert (to / "Kip101.tla").read_text().startswith("---- MODULE Kip101 ----\n")
    assert (to / "Kip101.cfg").read_text().endswith("INVARIANTS\n  TypeOK\n  WeakIsr\n")
    assert {e["metric"] for e in output.named("measured")} == {
        "tla Kip101.tla",
        "tla Kip101.cfg",
    }


def test_another_format_is_rejected(call: Any) -> None:
    assert call("export", "replication", "--as", "alloy").exit_code == 2
