"""Compiled Python and the interpreter agree on every node and edge of small state graphs."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.idempotence_abstract.versions import IdempotentProducer
from model.language import Spec
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101, Kip279, Kip320
from model.replication_abstract.versions import ReplicationProof
from model.transactions_abstract.versions import Transactions
from tests.checkers.explicit.state_graphs import StateGraph, compiled_graph, interpreted_graph

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
