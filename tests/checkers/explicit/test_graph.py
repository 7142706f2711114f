"""Two engines agree on every node and edge of small state graphs, and deadlocks are found."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from checkers.explicit.graph import StateGraph, compiled_graph, interpreted_graph
from checkers.explicit.search import explore
from model.idempotence_abstract.versions import IdempotentProducer
from model.language import Int, Map, Scope, Spec, SpecError, action, when
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101, Kip279, Kip320
from model.replication_abstract.versions import ReplicationProof
from model.transactions_abstract.versions import Transactions

SMALL: list[Spec] = [
    TruncateToHighWatermark(replicas=2, max_leader_epoch=0),
    Kip101(replicas=2, max_leader_epoch=1, log_size=1, max_records=1),
    Kip279(replicas=2, max_leader_epoch=1, log_size=1, max_records=1),
    Kip320(replicas=2, max_leader_epoch=1, log_size=1, max_records=1),
    Transactions(transactions=1),
    IdempotentProducer(producers=1, offsets=3),
    ReplicationProof(leader_epochs=1),
]


def edges(found: StateGraph) -> list[tuple[int, int, str, tuple[int, ...]]]:
    return [(a, b, e["action"], e["values"]) for a, b, e in found.graph.edges(data=True)]


@pytest.mark.parametrize("spec", SMALL, ids=lambda s: type(s).__name__)
def test_two_engines_agree_on_the_whole_graph(spec: Spec) -> None:
    fast, slow = compiled_graph(spec), interpreted_graph(spec)
    assert fast.states == slow.states
    assert edges(fast) == edges(slow)
    assert len(fast.states) == explore(spec).distinct > 10


class Seat(Int):
    pass


class TwoPhilosophers(Spec):
    """Two dining philosophers who both take the left fork first, so they can deadlock."""

    forks: Map[Seat, Seat]  # who holds it: 0 nobody

    def scope(s) -> Scope:
        return {Seat: range(3)}

    @action
    def take_left(s, who: Seat) -> None:
        when(who != 0, s.forks[who] == 0)
        s.forks[who] = who

    @action
    def take_right(s, who: Seat, right: Seat) -> None:
        when(who != 0, right != 0, right != who, s.forks[who] == who, s.forks[right] == 0)
        s.forks[right] = who

    @action
    def eat(s, who: Seat, right: Seat) -> None:
        when(right != who, s.forks[who] == who, s.forks[right] == who, who != 0)
        s.forks[who] = Seat(0)
        s.forks[right] = Seat(0)


def test_a_deadlock_and_the_path_to_it_are_found() -> None:
    found = compiled_graph(TwoPhilosophers())
    (node,) = found.deadlocks()
    assert {k: v for (_, (k,)), v in found.states[node].items()} == {0: 0, 1: 1, 2: 2}
    assert [(step.action, step.values) for step in found.path_to(node)] == [
        ("init", ()),
        ("take_left", (1,)),
        ("take_left", (2,)),
    ]
    assert found.terminal_components() == [frozenset({node})]


def test_the_graphml_export_is_readable(tmp_path: Path) -> None:
    found = compiled_graph(TwoPhilosophers())
    found.write_graphml(tmp_path / "fork.graphml")
    read = nx.read_graphml(tmp_path / "fork.graphml", node_type=int, force_multigraph=True)
    assert read.number_of_nodes() == len(found.states)
    assert read.number_of_edges() == found.graph.number_of_edges()
    assert read.nodes[0]["state"] == "forks[0] = 0\nforks[1] = 0\nforks[2] = 0"
    assert {e["label"] for _, _, e in read.out_edges(0, data=True)} == {
        "take_left(who 1)",
        "take_left(who 2)",
    }


def test_a_scope_too_large_for_a_graph_is_refused() -> None:
    with pytest.raises(SpecError, match="more than 20,000 states"):
        compiled_graph(Kip320())
