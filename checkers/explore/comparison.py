"""Compares two variants of a spec (versions, or bugs) after the same path, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from checkers.explore.paths import Path, PathFault, follow, read
from checkers.explore.walks import Option, Walk
from model.language.interpreter import State
from model.language.values import Writer

Compared = dict[str, Any]


def compared(here: Path, other: Walk) -> Compared:
    """Follows the path `here` in the variant `other`, and returns how the two variants differ.

    The result has the variables whose values differ after the last step that both variants allow.
    It has the number of the first step after which the states differ. It also has the actions that
    are enabled after the last step in one of the two variants, and not in the other.
    """
    try:
        start, calls = read(other, here.text)
    except PathFault as fault:
        return {"variant": other.variant.name, "step": 0, "stopped": str(fault)}
    there = follow(other, start, calls)
    step = len(there.states) - 1
    ours = replace(here, calls=here.calls[:step], states=here.states[: step + 1])
    is_alike = here.walk.spec.variables == other.spec.variables
    differs = [
        [] if is_alike and a == b else [*_differs(here.walk.writer, a, other.writer, b)]
        for a, b in zip(ours.states, there.states, strict=True)
    ]
    return {
        "variant": other.variant.name,
        "step": step,
        "stopped": there.why_stopped() if there.stopped is not None else None,
        "differs_from": next((k for k, found in enumerate(differs) if found), None),
        "differs": differs[-1],
        "only_here": [*_only(ours, there)],
        "only_there": [*_only(there, ours)],
    }


def _differs(
    writer: Writer, state: State, other: Writer, there: State
) -> Iterator[dict[str, str | None]]:
    ours = {item.place: item.value for item in writer.items(state)}
    theirs = {item.place: item.value for item in other.items(there)}
    for place in dict.fromkeys((*ours, *theirs)):
        if ours.get(place) != theirs.get(place):
            yield {"place": place, "here": ours.get(place), "there": theirs.get(place)}


def _only(path: Path, other: Path) -> Iterator[dict[str, str]]:
    # The calls that are enabled at the end of `path`, but not at the end of `other`.
    others = {o.call.text: o for o in other.walk.options(other.state)}
    known = {action.name: action for action in other.walk.spec.actions}
    for option in path.walk.options(path.state):
        same, action = others.get(option.call.text), known.get(option.call.action.name)
        if same is None and action is not None and path.walk.wide:
            # with a wide sort, the options have only arguments near the values of their state
            same = other.walk.option(other.state, other.walk.call(action, option.call.values))
        if option.kind == "enabled" and (same is None or same.kind != "enabled"):
            yield {"call": option.call.text, "why": _why_not(other, same)}


def _why_not(path: Path, option: Option | None) -> str:
    if option is None:
        return f"{path.walk.title} has no such action"
    if option.guard is None:
        return f"undefined: {option.undefined}"
    return f"line {option.guard.line}: {path.walk.why_disabled(path.state, option)}"
