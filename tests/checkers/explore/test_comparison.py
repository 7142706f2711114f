"""Two variants are compared step by step: states, and actions that only one of them enables."""

from __future__ import annotations

from typing import Any

from checkers.counterexample_record import kept

Ask = Any
STEPS = kept()["replication", "truncate-to-hw"].steps


def compared(ask: Ask, path: str, other: str) -> dict[str, Any]:
    found: dict[str, Any] = ask("walk", path=path, compare=other)["compare"]
    return found


def test_one_variant_forbids_a_step_that_the_other_allows(ask: Ask) -> None:
    found = compared(ask, "; ".join(STEPS[:7]), "kip-320")
    assert (found["step"], found["stopped"], found["differs"]) == (7, None, [])
    (only,) = found["only_here"]
    assert only["call"] == "become_follower(b1, b0, leader_epoch 1)"
    assert only["why"].endswith(": replica[b0].leader_epoch 0 is 1")
    assert found["only_there"] == []


def test_a_path_that_the_other_variant_forbids_is_compared_before_the_step(ask: Ask) -> None:
    found = compared(ask, "; ".join(STEPS), "kip-320")
    assert found["step"] == 7
    assert found["stopped"].startswith(
        "step 8, become_follower(b1, b0, leader_epoch 1), is not possible in replication kip-320, "
        "as this is false in line "
    )
    assert [one["call"] for one in found["only_here"]] == [STEPS[-1]]


def test_the_fields_in_which_two_states_differ_are_listed(ask: Ask) -> None:
    # one variant truncates to the high watermark, the other to the end of the leader's epoch
    found = compared(ask, "; ".join(STEPS), "kip-101")
    assert (found["step"], found["differs_from"]) == (8, 8)
    assert {"place": "log[b1].end_offset", "here": "0", "there": "1"} in found["differs"]


def test_a_variant_is_equal_to_itself(ask: Ask) -> None:
    found = compared(ask, "; ".join(STEPS), "truncate-to-hw")
    assert (found["differs_from"], found["only_here"], found["only_there"]) == (None, [], [])


def test_an_action_that_the_other_variant_lacks_does_not_stop_a_comparison(ask: Ask) -> None:
    there = ask("spec", variant="fetch-divergence")
    here = {one["name"] for one in ask("spec")["actions"]}
    assert {one["name"] for one in there["actions"]} - here == {"follower_truncate"}
    found = ask("walk", variant="fetch-divergence", path="; ".join(STEPS[:3]),
                compare="truncate-to-hw")["compare"]  # fmt: skip
    assert found["stopped"] is None
