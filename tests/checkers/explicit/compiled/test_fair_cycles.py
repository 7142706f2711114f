"""On random graphs, the C code and plain Python find the same fair sets, paths, cycles and
verdicts.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.explicit.actions import Program
from checkers.explicit.compiled.fair_cycles import KINDS, FairCycles
from checkers.explicit.exploration import Budget
from checkers.explicit.fairness import Fairness
from checkers.explicit.instance import Instance
from checkers.explicit.lassos import Judge, Mask
from checkers.explicit.transitions import Transitions
from tests.checkers.explicit.random_graphs import (
    Drawn,
    Graph,
    Place,
    Scattered,
    graphs,
    spec_of,
)

NODES = 12
DRAWN = graphs(nodes=NODES, edges=range(4, 16))
MADE = st.sampled_from([Graph, Scattered])
MASK = st.integers(0, 2**NODES - 1)
MOST = st.integers(0, NODES - 1).map(lambda k: 2**NODES - 1 - 2**k)  # all nodes but one


def graph_of(drawn: Drawn, make: type[Graph]) -> Transitions:
    spec = spec_of(*drawn, make)
    program = Program(Instance.of(spec, {Place: range(NODES)}))
    return Transitions.of(program, Budget())


def in_c(graph: Transitions, quota: int = 1_000) -> FairCycles:
    """Returns the graph as the arrays that the C code reads. The C code visits `quota` nodes at a
    time.
    """
    nodes, depths = np.arange(len(graph.states) + 1), graph.depths
    kinds = [KINDS[action.fair] for action, _ in graph.program.labels]
    levels = [*np.searchsorted(depths, range(depths.max(initial=-1) + 1)), len(depths)]
    came = graph.came_by
    return FairCycles(
        offsets=np.searchsorted(graph.source, nodes).astype(np.uint32),
        targets=graph.target.astype(np.uint32),
        labels=graph.label.astype(np.uint8),
        kinds=np.array(kinds, np.uint8),
        levels=np.array(levels, np.uint32),
        parent=lambda node: int(graph.source[came[node]]) if came[node] >= 0 else -1,
        quota=quota,
    )


def mask_of(bits: int, size: int) -> Mask:
    return np.array([bits >> k & 1 for k in range(size)], dtype=bool)


@settings(max_examples=150, deadline=None)
@given(
    drawn=DRAWN, make=MADE, within=MOST | MASK, through=MASK, begun=MASK, quota=st.integers(1, 99)
)
def test_sets_paths_and_cycles_are_those_of_the_oracle(
    drawn: Drawn, make: type[Graph], within: int, through: int, begun: int, quota: int
) -> None:
    graph = graph_of(drawn, make)
    oracle, fast = Fairness(graph), in_c(graph, quota)
    size = len(graph.states)
    inside, passed, entered = (mask_of(bits, size) for bits in (within, through, begun))
    fair = oracle.fair(inside, passed)
    assert fast.fair(inside, passed).tolist() == fair.tolist()
    assert fast.resting().tolist() == oracle.resting().tolist()
    assert fast.path(entered, inside, passed) == oracle.path(entered, inside, passed)
    for node in np.flatnonzero(fair).tolist():
        if not (oracle.resting()[node] and passed[node]):
            assert fast.cycle(node, fair, passed) == oracle.cycle(node, fair, passed)


@settings(max_examples=100, deadline=None)
@given(drawn=DRAWN, make=MADE)
def test_verdicts_and_lassos_are_those_of_the_oracle(drawn: Drawn, make: type[Graph]) -> None:
    graph = graph_of(drawn, make)
    oracle, fast = Judge(graph, Fairness(graph)), Judge(graph, in_c(graph))
    for claim in graph.program.at.spec.liveness_properties:
        assert fast.verdict(claim) == oracle.verdict(claim)
