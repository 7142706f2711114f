"""A search in rounds has the counts and verdicts of the compiled engine, for every number of
partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path

import pytest

from checkers.explicit.distributed.search import search
from checkers.explicit.exploration import Exploration, Task
from checkers.explicit.search import chosen, explore
from model.faults import InputFault
from model.language import Int, Scope, Spec, action
from model.language.interpreter import Interpreter
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101
from model.specs import find
from tests.checkers.explicit.compiled.test_agreement import results
from tests.checkers.explicit.distributed.in_process import InProcess

TWO = {"replicas": 2, "max_leader_epoch": 2}
# with a violated invariant, a violated action property, and none of both
VARIANTS = [
    ("replication", "truncate-to-hw"),
    ("replication", "obeys-old-requests"),
    ("transactions-abstract", None),
    ("group-offsets", "expires-in-rebalance"),
]


class Tick(Int):
    """How many ticks have passed."""


class Overrun(Spec):
    """A clock without an end."""

    now: Tick

    def scope(s) -> Scope:
        return {Tick: range(3)}

    @action
    def tick(s) -> None:
        """It ticks."""
        s.now = s.now + 1


def task(spec: Spec) -> Task:
    return Task(spec=spec, claims=chosen(spec, ()))


def without_extra_traces(found: Exploration) -> dict[str, object]:
    """Returns the results without the traces of witnesses and of deadlocks: the engine on Spark has
    none.
    """
    witnesses = {name: replace(seen, trace=()) for name, seen in found.witnesses.items()}
    return results(replace(found, witnesses=witnesses, deadlock=()))


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_search_in_rounds_has_the_results_of_the_compiled_engine(
    name: str, variant: str | None
) -> None:
    chosen_variant = find(name, variant)
    spec = chosen_variant.make(chosen_variant.at)
    compiled = explore(spec, engine="compiled")
    found = search(task(spec), InProcess(3))
    assert without_extra_traces(found) == without_extra_traces(compiled)


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_the_number_of_partitions_does_not_change_the_result(partitions: int) -> None:
    spec = Kip101(**TWO)
    compiled = explore(spec, engine="compiled")
    found = search(task(spec), InProcess(partitions))
    assert without_extra_traces(found) == without_extra_traces(compiled)


def test_a_trace_is_a_real_run_of_the_shortest_length() -> None:
    spec = TruncateToHighWatermark(**TWO)
    trace = search(task(spec), InProcess(3)).discoveries["strong_isr"].trace
    interpreter, actions = Interpreter.of(spec), {a.name: a for a in spec.actions}
    assert len(trace) == 10
    assert trace[0].state in interpreter.initial(spec)
    for before, step in pairwise(trace):
        assert interpreter.step(actions[step.action], before.state, step.values) == step.state


def test_no_level_has_a_state_of_an_earlier_one_and_every_partition_has_some() -> None:
    spec, rounds = TruncateToHighWatermark(**TWO), InProcess(3)
    found = search(task(spec), rounds)
    width = len(next(data for data in chain(*rounds.levels[0]) if data))
    of_partitions = [
        [
            data[k : k + width]
            for level in rounds.levels
            for data in level[partition]
            for k in range(0, len(data), width)
        ]
        for partition in range(3)
    ]
    assert sum(map(len, of_partitions)) == len(set(chain(*of_partitions))) == found.distinct
    assert min(map(len, of_partitions)) > found.distinct / 4


def test_an_undefined_term_is_found_with_a_trace_to_it() -> None:
    found = search(task(Overrun()), InProcess(2))
    assert found.ill_defined is not None
    assert found.ill_defined == explore(Overrun(), engine="compiled").ill_defined
    assert [step.action for step in found.ill_defined.trace] == ["init", "tick", "tick"]


def test_code_that_a_worker_cannot_load_is_refused_with_a_reason(tmp_path: Path) -> None:
    class OtherPlatform(InProcess):
        def on_workers(self, file: Path) -> Callable[[], str]:
            other = tmp_path / file.name
            other.write_text("code of another platform")
            return lambda: str(other)

    with pytest.raises(InputFault, match="workers need the driver's platform"):
        search(task(Kip101(**TWO)), OtherPlatform(2))
