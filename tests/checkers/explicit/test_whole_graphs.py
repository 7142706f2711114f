"""Compiled code and the reference interpreter reach the same states by the same steps."""

from __future__ import annotations

import random

import pytest

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance, Packed
from model.language import Spec
from model.language.meaning import Meaning
from model.replication import TruncateToHighWatermark
from model.replication_versions import Kip101, Kip279, Kip320

WHOLE_GRAPHS: list[Spec] = [
    TruncateToHighWatermark(replicas=2, max_leader_epoch=0),
    Kip101(replicas=2, max_leader_epoch=1, log_size=1, max_records=1),
    Kip279(replicas=2, max_leader_epoch=1, log_size=1, max_records=1),
    Kip320(replicas=2, max_leader_epoch=1, log_size=1, max_records=1),
]


@pytest.mark.parametrize("spec", WHOLE_GRAPHS, ids=lambda s: type(s).__name__)
def test_on_a_whole_reachable_graph(spec: Spec) -> None:
    at = Instance.of(spec)
    program, meaning = Program(at), Meaning.of(spec)
    seen = set(program.initial())
    assert {at.pack(s) for s in meaning.initial(spec)} == seen
    todo, checked = list(seen), 0
    while todo:
        state = todo.pop()
        out: list[tuple[int, Packed]] = []
        program.successors(state, out.append)
        whole = [(*program.labels[label], after) for label, after in out]
        slow = [(a, v, at.pack(after)) for a, v, after in meaning.steps(spec, at.unpack(state))]
        assert whole == slow
        fresh = {after for _, after in out} - seen
        seen |= fresh
        todo += fresh
        checked += 1
    assert checked == len(seen) > 50


def test_on_sampled_states_of_a_larger_graph() -> None:
    spec = Kip320(replicas=2, max_leader_epoch=2)
    at, meaning, program = Instance.of(spec), Meaning.of(spec), Program(Instance.of(spec))
    rng = random.Random(0)
    state = program.initial()[0]
    for _ in range(60):
        out: list[tuple[int, Packed]] = []
        program.successors(state, out.append)
        slow = [at.pack(after) for _, _, after in meaning.steps(spec, at.unpack(state))]
        assert [after for _, after in out] == slow
        state = rng.choice(slow) if slow else program.initial()[0]
