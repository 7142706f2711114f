"""The graph in C's memory is exactly the oracle's: the same states, transitions and formulas."""

from __future__ import annotations

import numpy as np
import pytest

from checkers.explicit.actions import Program
from checkers.explicit.compiled.library import NO_MEMORY, TOO_MANY
from checkers.explicit.compiled.state_graph import StateGraph
from checkers.explicit.exploration import Budget
from checkers.explicit.instance import Instance
from checkers.explicit.liveness import decide
from checkers.explicit.transitions import Transitions
from model.faults import InputFault
from model.specs import all_variants
from model.variants import Variant

ENOUGH = 10**9  # bytes
# Small variants with each kind of claim and of fairness; the compiled code is that of
# `test_agreement`, where the constants are equal.
QUICK = [
    v
    for v in all_variants()
    if (v.spec, v.name) in {("replication", "truncate-to-hw"), ("replication", "never-truncates")}
    or (v.default and v.spec in {"classic-group", "consumer-group"})
]


def label(variant: Variant) -> str:
    return f"{variant.spec}-{variant.name}"


@pytest.mark.parametrize("variant", QUICK, ids=label)
def test_the_graph_is_that_of_plain_python(variant: Variant) -> None:
    at = Instance.of(variant.make(variant.at))
    oracle = Transitions.of(Program(at), Budget())
    with StateGraph.of(at, Budget(), ENOUGH) as graph:
        cycles, source = graph.cycles, graph.library.source
        assert [graph.state(k) for k in range(graph.library.count())] == list(oracle.states)
        assert graph.initial == oracle.initial
        degrees, edges = np.diff(cycles.offsets), len(oracle.target)
        assert (np.repeat(np.arange(len(degrees)), degrees) == oracle.source).all()
        assert (cycles.targets[:edges] == oracle.target).all()
        labels = list(map(source.instance, range(len(source.action_of_instances))))
        expected = [oracle.program.labels[label] for label in oracle.label]
        assert [labels[label] for label in cycles.labels[:edges]] == expected
        starts = np.searchsorted(oracle.depths, range(int(oracle.depths[-1]) + 1))
        assert cycles.levels.tolist() == [*starts, len(oracle.states)]
        for claim in at.spec.liveness_properties:
            values = [at.elements(p.sort)[-1] for p in claim.params]
            for formula in ("premise", "goal"):
                where = graph.where(claim, formula, values)
                assert (where == oracle.where(claim, formula, values)).all()


@pytest.mark.parametrize("variant", QUICK, ids=label)
def test_verdicts_and_lassos_are_those_of_plain_python(variant: Variant) -> None:
    spec = variant.make(variant.at)
    assert decide(spec, engine="compiled") == decide(spec, engine="python")


@pytest.mark.parametrize(
    ("failed", "advice"), [(NO_MEMORY, "set --memory"), (TOO_MANY, "use fewer --threads")]
)
def test_a_search_that_cannot_go_on_names_the_next_move(failed: int, advice: str) -> None:
    at = Instance.of(QUICK[0].make(QUICK[0].at))
    with StateGraph.of(at, Budget(), ENOUGH) as graph:
        graph.library.found[0].failed = failed
        with pytest.raises(InputFault, match=advice):
            graph.library.check_memory()
