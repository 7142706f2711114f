"""The NumPy engine agrees with the reference interpreter and with the plain Python engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.explicit import frontiers
from checkers.explicit.columns import Columns, Value
from checkers.explicit.exploration import Budget, Exploration, Task
from checkers.explicit.instance import Instance
from checkers.explicit.keys import Numbering
from checkers.explicit.search import explore
from checkers.explicit.seen import Seen
from checkers.explicit.tables import Part, Table
from model.language import terms as t
from model.language.actions import Action, Claim
from model.language.interpreter import Interpreter, State, joined
from model.replication.versions import Kip320
from model.specs import SPECS, all_variants, find
from model.variants import Variant
from tests.checkers.explicit.random_programs import (
    SMALL,
    Found,
    about_steps,
    actions,
    interpreted,
    spec_of,
    states,
    steps,
    terms,
)
from tests.checkers.explicit.test_action_properties import Epochs, Forgets

AT = Instance.of(SMALL)
SOME = st.lists(states(), min_size=1, max_size=6)


def rows_of(some: Sequence[State]) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.array([list(AT.pack(s)) for s in some], dtype=np.uint8)


def column_values(columns: Columns, value: Value, some: Sequence[State]) -> list[bool | str]:
    table = Table(rows_of(some), columns.ops)
    part = Part(table, np.arange(len(some)))
    truth, bad = (np.broadcast_to(part.of(code), len(some)) for code in value)
    return ["undefined" if b else bool(v) for v, b in zip(truth, bad, strict=True)]


@settings(max_examples=300, deadline=None)
@given(formula=terms(t.BOOL, depth=4), some=SOME)
def test_random_formulas_agree_with_the_interpreter(formula: t.Node, some: Sequence[State]) -> None:
    columns = Columns(AT)
    value = columns.value(formula, {})
    assert column_values(columns, value, some) == [interpreted(formula, state) for state in some]


def successors(search: frontiers.Search, some: Sequence[State]) -> list[Found]:
    table = Table(rows_of(some), search.columns.ops)
    out: list[Found] = [[] for _ in some]
    for transition in search.transitions:
        last: object = 1
        for enabled, bad in transition.guard:
            for row in table.where(bad):
                out[row] = "undefined"
            last = enabled
        part = Part(table, table.where(last))  # type: ignore[arg-type]
        bad_writes = np.broadcast_to(part.of(transition.undefined), part.rows.shape)
        for k, row in enumerate(part.rows):
            found = out[row]
            after = bytearray(AT.pack(some[row]))
            for cell, code in transition.after.items():
                after[cell] = int(np.broadcast_to(part.of(code), part.rows.shape)[k])
            if bad_writes[k] or found == "undefined":
                out[row] = "undefined"
            else:
                assert isinstance(found, list)
                found.append((transition.values, AT.unpack(bytes(after))))
    return out


@settings(max_examples=200, deadline=None)
@given(first=actions(), second=actions(), some=SOME)
def test_random_actions_agree_with_the_interpreter(
    first: Action, second: Action, some: Sequence[State]
) -> None:
    spec = spec_of(first, second)
    search = frontiers.Search(Task(spec=spec, claims=()))
    assert successors(search, some) == [steps(spec, state) for state in some]


@settings(max_examples=200, deadline=None)
@given(action=actions(), formula=about_steps(), state=states())
def test_random_formulas_about_steps_agree_with_the_interpreter(
    action: Action, formula: t.Node, state: State
) -> None:
    spec = spec_of(action)
    search = frontiers.Search(Task(spec=spec, claims=()))
    values = {x.values: search.columns.value(formula, {}, x.after) for x in search.transitions}
    found = steps(spec, state)
    if not isinstance(found, str):
        for arguments, after in found:
            (value_after,) = column_values(search.columns, values[arguments], [state])
            assert value_after == interpreted(formula, joined(state, after))


# ---- whole explorations


def results(found: Exploration) -> dict[str, object]:
    return {
        "counts": (found.distinct, found.generated, found.depth, found.why_stopped),
        "taken": found.taken,
        "deadlocks": (found.deadlocks, len(found.deadlock)),
        "verdicts": {n: (d.verdict, d.steps, d.reason) for n, d in found.discoveries.items()},
        "witnesses": {n: (w.states, len(w.trace)) for n, w in found.witnesses.items()},
    }


def quickest(spec: str) -> Variant:
    broken = [v for v in all_variants() if v.spec == spec and v.breaks]
    return min(broken, key=lambda v: v.steps or 99)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("which", [find, quickest])
def test_two_variants_of_every_spec_have_equal_results(
    name: str, which: Callable[[str], Variant]
) -> None:
    variant = which(name)
    spec = variant.make(variant.at)
    expected = explore(spec)  # plain Python, or what is held to it level by level
    found = explore(spec, engine="numpy")
    assert found.engine == "numpy"
    assert results(found) == results(expected)
    for discovery in found.discoveries.values():
        if discovery.verdict == "violated":
            assert isinstance(discovery.claim, Claim)
            before, after = discovery.trace[-2].state, discovery.trace[-1].state
            read = after if discovery.claim.about == "states" else joined(before, after)
            assert not Interpreter.of(spec).holds(discovery.claim.formula, read)


@pytest.mark.parametrize("cls", [Epochs, Forgets])
def test_action_properties_have_equal_results(cls: type[Epochs]) -> None:
    plain, found = explore(cls(), engine="python"), explore(cls(), engine="numpy")
    assert results(found) == results(plain)
    assert found.discoveries.keys() == plain.discoveries.keys()


def test_a_level_of_many_batches_has_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontiers, "BATCH", 7)
    spec = Kip320(replicas=2, max_leader_epoch=1)
    assert results(explore(spec, engine="numpy")) == results(explore(spec, engine="python"))


def test_unsupported_options_are_declined() -> None:
    spec = Kip320(replicas=2, max_leader_epoch=1, log_size=1, max_records=1)
    counted = explore(spec, engine="numpy", coverage=True)
    assert counted.engine == "python"
    assert "numpy: it cannot count the conjuncts that disable actions" in counted.notes[0]


def test_a_budget_ends_the_search() -> None:
    found = explore(Kip320(replicas=3), engine="numpy", budget=Budget(states=10))
    assert found.why_stopped == "states"
    assert {d.verdict for d in found.discoveries.values()} == {"undecided"}


# ---- keys


def test_keys_are_exact_where_they_fit_and_bounded_where_they_do_not() -> None:
    small, large = Numbering(AT), Numbering(Instance.of(Kip320(replicas=5)))
    assert (small.exact, small.collision(10**9)) == (True, 0.0)
    assert not large.exact
    assert 1e-9 < large.collision(10**6) < 1e-6
    assert len({int(w) for w in large.weights}) == len(large.at.cells)


@given(some=st.lists(states(), min_size=2, max_size=20))
def test_an_exact_key_identifies_its_state(some: Sequence[State]) -> None:
    keys = Numbering(AT).keys(rows_of(some))[:, 0]
    assert len(set(keys.tolist())) == len({AT.pack(s) for s in some})


@given(
    blocks=st.lists(
        st.lists(st.integers(1, 40) | st.integers(1, 2**64 - 1), max_size=60), max_size=6
    )
)
def test_the_set_of_keys_agrees_with_a_python_set(blocks: list[list[int]]) -> None:
    seen, expected = Seen(), set[int]()
    for block in blocks:
        new = seen.add(np.array(block, dtype=np.uint64))
        assert {block[k] for k in new} == set(block) - expected
        assert len(new) == len(set(block) - expected)
        expected |= set(block)
        assert seen.count == len(expected)


def test_a_growing_set_keeps_its_keys() -> None:
    seen = Seen()
    many = np.arange(1, 300_001, dtype=np.uint64)
    assert len(seen.add(many)) == 300_000
    assert len(seen.add(many[::-1].copy())) == 0
    assert seen.add(np.array([300_001, 5, 300_001], dtype=np.uint64)).size == 1
