"""A path is a sequence of actions as text, and can be pasted from a counterexample.

If a step of the path is wrong, the error names this step.
"""

from __future__ import annotations

from typing import Any

import pytest

from checkers.counterexample_record import kept
from checkers.explore.paths import PathFault, before, walked, walked_from_any_start
from checkers.explore.walks import Walk
from model.specs import find
from tests.checkers.explore.explorers import explorer_of

Ask = Any
BEGUN = "controller_elect_leader(b0); become_leader(b0, leader_epoch 0)"


def test_each_step_has_the_words_of_the_counterexample_table(ask: Ask) -> None:
    view = ask("walk", path="controller_elect_leader(b0)")
    assert view["steps"] == [
        {
            "call": "controller_elect_leader(b0)",
            "changes": [
                {
                    "place": "registration",
                    "fields": ["leader_epoch -1 → 0", "leader nothing → b0"],
                },
                {
                    "place": "request[0]",
                    "fields": ["leader_epoch -1 → 0", "leader nothing → b0", "isr {} → {b0 b1}"],
                },
            ],
        }
    ]


@pytest.mark.parametrize(
    "path",
    [
        "controller_elect_leader(b0);become_leader(b0,leader_epoch=0)",
        "  controller_elect_leader ( b0 )\n become_leader(0, 0) ;",
        BEGUN,
    ],
)
def test_several_notations_are_read_and_one_is_written(ask: Ask, path: str) -> None:
    assert ask("walk", path=path)["path"] == BEGUN


@pytest.mark.parametrize(
    ("path", "step", "message"),
    [
        ("leader_wite(b0)", 1, "replication truncate-to-hw has no action 'leader_wite'; the nearest"
         ": leader_write"),
        (f"{BEGUN}; leader_write", 3, "leader_write needs the arguments (leader: Replica)"),
        ("leader_write(b9)", 1, "'b9' is no Replica of replication truncate-to-hw: use b0 to b1"),
        ("leader_write(b0", 1, "'leader_write(b0' is no call; write ACTION(ELEMENT, ...)"),
        ("init(1)", 0, "init(1) needs the arguments ()"),
        (f"{BEGUN}; leader_write(b1)", 3, "step 3, leader_write(b1), is not possible in "
         "replication truncate-to-hw, as this is false in line 1"),
    ],
)  # fmt: skip
def test_the_error_for_a_wrong_step_names_it(ask: Ask, path: str, step: int, message: str) -> None:
    with pytest.raises(PathFault, match="step") as caught:
        ask("walk", path=path)
    assert caught.value.step == step
    assert message in str(caught.value)


def test_an_impossible_step_ends_the_path_on_request(ask: Ask) -> None:
    view = ask("walk", path=f"{BEGUN}; leader_write(b1); leader_write(b0)", as_far=True)
    assert view["path"] == BEGUN
    assert view["stopped"]["step"] == 3
    assert "replica[b1].leader nothing is b1" in view["stopped"]["error"]


def test_a_spec_with_several_initial_states_begins_with_init() -> None:
    explorer = explorer_of("retention")
    first, second = explorer.answer("walk", {"path": ""})["starts"]
    view = explorer.answer("walk", {"path": second})
    assert (view["path"], view["start"]) == (second, second)
    assert explorer.answer("walk", {"path": first})["path"] == ""
    assert before(f"{second}; a(b0); b(b1)", 2) == f"{second}; a(b0)"
    assert before("a(b0); b(b1)", 2) == "a(b0)"


@pytest.mark.parametrize("row", list(kept())[::20], ids=" ".join)
def test_recorded_counterexamples_are_paths(row: tuple[str, str]) -> None:
    found = kept()[row]
    variant = find(*row)
    walk = Walk.of(variant, variant.make(variant.at))
    path = walked_from_any_start(walk, "; ".join(found.steps))
    assert walked(walk, path.text).state == path.state
    assert len(path.calls) == len([call for call in found.steps if not call.startswith("init(")])


def test_a_counterexample_from_another_initial_state_names_this_state() -> None:
    variant = find("coordinator-abstract", "fences-nobody")
    walk = Walk.of(variant, variant.make(variant.at))
    steps = "; ".join(kept()[variant.spec, variant.name].steps)
    with pytest.raises(PathFault, match="step 1, init_producer"):
        walked(walk, steps)
    path = walked_from_any_start(walk, steps)
    assert path.text.startswith("init(")
    assert walked(walk, path.text).state == path.state
    with pytest.raises(PathFault, match="step 2, "):
        walked_from_any_start(walk, "; ".join([steps.split("; ")[0]] * 2))


def test_states_of_a_longer_path_are_reused() -> None:
    variant = find("replication")
    walk = Walk.of(variant, variant.make())
    short = walked(walk, BEGUN)
    longer = walked(walk, f"{BEGUN}; leader_write(b0)", short)
    assert all(a is b for a, b in zip(short.states, longer.states, strict=False))
    assert longer.state == walked(walk, f"{BEGUN}; leader_write(b0)").state
