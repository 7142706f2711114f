"""Random walks through the API agree with the interpreter, the oracle, on every spec.

In every state, the interpreter has the same enabled calls, successors and false conjuncts.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from checkers.explore.requests import Explorer
from model.language.interpreter import Interpreter, State, Undefined
from model.language.spec import Spec
from model.language.values import Writer
from model.specs import SPECS
from tests.checkers.explore.explorers import explorer_of, walk_of

STEPS = 4


def texts(writer: Writer, state: State) -> list[str]:
    return [f"{item.place} = {item.value}" for item in writer.items(state)]


def listed(view: dict[str, Any]) -> list[str]:
    return [f"{item['place']} = {item['value']}" for item in view["state"]]


def by_oracle(spec: Spec, interpreter: Interpreter, state: State) -> dict[str, State | str]:
    """Returns the interpreter's result for each call, that is, for each action with its arguments.

    The result is the next state, the first false conjunct of the action's guard, or an error.
    """
    writer, found = Writer(spec, interpreter.ranges), dict[str, State | str]()
    for action in spec.actions:
        for values in interpreter.calls(action):
            call = writer.call(action, values)
            try:
                guard = interpreter.why_disabled(action, state, values)
                after = None if guard is not None else interpreter.step(action, state, values)
            except Undefined as fault:
                found[call] = f"undefined: {fault}"
                continue
            found[call] = after if after is not None else str(guard)
    return found


def by_api(view: dict[str, Any]) -> tuple[set[str], dict[str, str]]:
    """Returns the enabled calls, and for each other call its false conjunct or its error."""
    enabled = {one["call"] for one in view["enabled"]}
    refused = {one["call"]: f"undefined: {one['why']}" for one in view["undefined"]}
    for group in view["disabled"]:
        refused |= dict.fromkeys([group["call"], *group["others"]], group["guard"])
    return enabled, refused


@pytest.mark.parametrize("name", SPECS)
def test_a_random_walk_is_that_of_the_interpreter(name: str, request: Any) -> None:
    rng = Random(request.node.name)
    spec, explorer = walk_of(name).spec, explorer_of(name)
    interpreter = Interpreter.of(spec)
    writer = Writer(spec, interpreter.ranges)
    path = list[str]()
    state = interpreter.initial(spec)[0]
    for _ in range(STEPS):
        view = explorer.answer("walk", {"spec": name, "path": "; ".join(path)})
        assert listed(view) == texts(writer, state)
        expected = by_oracle(spec, interpreter, state)
        enabled, refused = by_api(view)
        assert enabled == {call for call, after in expected.items() if not isinstance(after, str)}
        assert refused.items() <= {c: w for c, w in expected.items() if isinstance(w, str)}.items()
        hidden = sum(group["more"] for group in view["disabled"])
        assert len(enabled) + len(refused) + hidden == len(expected)
        for one in view["enabled"]:
            after = expected[one["call"]]
            assert not isinstance(after, str)
            found = [(c["place"], c["fields"]) for c in one["changes"]]
            assert found == writer.changes(state, after)
        if not enabled:
            break
        # prefers a step that changes the state, so that the walk goes on
        moving = [one["call"] for one in view["enabled"] if one["changes"]]
        path.append(rng.choice(moving or sorted(enabled)))
        chosen = expected[path[-1]]
        assert not isinstance(chosen, str)
        state = chosen


def test_a_spec_is_read_once_for_equal_constants() -> None:
    explorer = Explorer(opened={"spec": "consumer-group"})
    constants = explorer.answer("spec", {})["constants"]
    (first,) = explorer._walks.values()
    explorer.answer("walk", {"constants": constants})
    assert list(explorer._walks.values()) == [first]


def test_a_walk_with_one_wrong_answer_is_noticed() -> None:
    spec = walk_of("replication").spec
    interpreter = Interpreter.of(spec)
    view = explorer_of("replication").answer("walk", {"path": ""})
    expected = by_oracle(spec, interpreter, interpreter.initial(spec)[0])
    view["disabled"][0]["guard"] = "true"
    _, refused = by_api(view)
    false = {c: w for c, w in expected.items() if isinstance(w, str)}
    assert not refused.items() <= false.items()
