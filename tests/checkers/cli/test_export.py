"""`urteil export` writes a spec as TLA+ with a configuration for TLC, or as a state graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx


def test_export_writes_a_module_and_its_configuration(call: Any, tmp_path: Path) -> None:
    to = tmp_path / "build"
    output = call(
        "export", "replication", "--variant", "kip-101", "--property", "weak_isr", "--to", str(to)
    )
    assert output.exit_code == 0
    module = (to / "Kip101.tla").read_text()
    assert "- MODULE Kip101 -" in module.splitlines()[0]
    assert "Made by  urteil export replication --variant kip-101" in module
    assert "\n\nINVARIANTS\n  TypeOK\n  WeakIsr\n\n" in (to / "Kip101.cfg").read_text()
    assert {e["metric"] for e in output.named("measured")} == {
        "tla Kip101.tla",
        "tla Kip101.cfg",
    }


def test_another_format_is_rejected(call: Any) -> None:
    assert call("export", "replication", "--as", "alloy").exit_code == 2


def test_export_writes_a_state_graph_and_reports_its_counts(call: Any, tmp_path: Path) -> None:
    output = call("export", "transactions-abstract", "--as", "graphml", "--to", str(tmp_path))
    assert output.exit_code == 0
    (file,) = tmp_path.glob("*.graphml")
    graph = nx.read_graphml(file, force_multigraph=True)
    measured = {
        e["metric"].removeprefix(f"{file.name} "): e["value"] for e in output.named("measured")
    }
    assert measured["states"] == graph.number_of_nodes() > 100
    assert measured["transitions"] == graph.number_of_edges()
    assert measured["deadlocks"] == sum(degree == 0 for _, degree in graph.out_degree())
    assert measured["terminal components"] >= measured["deadlocks"]


def test_a_graph_that_is_too_large_names_the_next_move(call: Any, tmp_path: Path) -> None:
    output = call("export", "replication", "--as", "graphml", "--to", str(tmp_path))
    assert output.exit_code == 2
    assert "more than 20,000 states" in output.stderr
    assert "--set" in output.stderr
    assert not list(tmp_path.iterdir())


def test_a_state_graph_has_no_properties(call: Any) -> None:
    output = call("export", "transactions-abstract", "--as", "graphml", "--property", "weak_isr")
    assert output.exit_code == 2
    assert "leave --property out" in output.stderr
