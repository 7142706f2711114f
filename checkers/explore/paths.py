"""A path through the states of a spec as text: calls of actions, separated by semicolons.

    controller_elect_leader(b0); leader_write(b0); follower_replicate(b1, b0)

The steps of a printed counterexample are valid text. An argument is an element (`b0`), a name and a
number (`leader_epoch 1` or `leader_epoch=1`), or a number. If a spec has several initial states,
the path can begin with a call of `init` that selects one. Without this call, the path begins in the
first initial state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from checkers.explore.scopes import is_wide
from checkers.explore.walks import Call, Option, Start, Walk
from model.faults import InputFault, UnknownName
from model.language import terms as t
from model.language.actions import Action
from model.language.rows import RowState

INIT: Final = "init"


class PathFault(InputFault):
    """Raised if a step of a path cannot be read, or is not possible. `step` is its number,
    counted from 1.
    """

    def __init__(self, message: str, step: int) -> None:
        super().__init__(message)
        self.step = step


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The calls of a path, its initial state, and the state after each call.

    `stopped` is the first call that was not possible, or None. The path ends in the state before
    this call.
    """

    walk: Walk
    start: Start
    calls: tuple[Call, ...]
    states: tuple[RowState, ...]
    stopped: Option | None = None
    # whether a property holds after a step, as far as somebody asked: (property, step) -> verdict
    verdicts: dict[tuple[str, int], bool | None] = field(
        default_factory=dict[tuple[str, int], "bool | None"], compare=False, repr=False
    )

    @property
    def state(self) -> RowState:
        return self.states[-1]

    @property
    def text(self) -> str:
        first = [self.start.call.text] if self.start is not self.walk.starts[0] else []
        return "; ".join([*first, *(call.text for call in self.calls)])

    def why_stopped(self) -> str:
        """Returns a text with the step that was not possible, and the reason. Raises
        AssertionError if all steps were possible.
        """
        assert self.stopped is not None
        step, call = len(self.states), self.stopped.call
        head = f"step {step}, {call.text}, is not possible in {self.walk.title}"
        if self.stopped.guard is None:
            return f"{head}: undefined: {self.stopped.undefined}"
        why = self.walk.why_disabled(self.state, self.stopped)
        return f"{head}, as this is false in line {self.stopped.guard.line}: {why}"


def split(text: str) -> list[str]:
    return [call for part in re.split(r"[;\n]", text) if (call := part.strip())]


def read(walk: Walk, text: str) -> tuple[Start, tuple[Call, ...]]:
    """Returns the initial state and the calls that a text describes. Raises PathFault if a call
    cannot be read. The calls need not be possible.
    """
    texts = split(text)
    start = walk.starts[0]
    if texts and _name(texts[0]) == INIT:
        values = _call(walk, [walk.spec.initial], texts[0], 0).values
        found = [one for one in walk.starts if one.call.values == values]
        if not found:
            known = ", ".join(one.call.text for one in walk.starts[:8])
            raise PathFault(f"{texts[0]} is no initial state of {walk.title}; use: {known}", 0)
        start, texts = found[0], texts[1:]
    calls = [_call(walk, walk.spec.actions, one, k) for k, one in enumerate(texts, 1)]
    return start, tuple(calls)


def follow(walk: Walk, start: Start, calls: Sequence[Call], known: Path | None = None) -> Path:
    """Returns the path that makes the calls one after another, from an initial state.

    The path ends before the first call that is not possible. `known` is an earlier path or None. If
    both paths begin with the same calls, the states of `known` after these calls are reused.
    """
    taken, states = list[Call](), [start.state]
    verdicts = dict[tuple[str, int], bool | None]()
    if known is not None and known.walk is walk and known.start is start:
        for ours, theirs in zip(calls, known.calls, strict=False):
            if ours.key != theirs.key:
                break
            taken.append(ours)
        states = [*known.states[: len(taken) + 1]]
        verdicts = {at: one for at, one in known.verdicts.items() if at[1] <= len(taken)}
    stopped: Option | None = None
    for call in calls[len(taken) :]:
        option = walk.option(states[-1], call)
        if option.after is None:
            stopped = option
            break
        taken.append(call)
        states.append(option.after)
    return Path(
        walk=walk,
        start=start,
        calls=tuple(taken),
        states=tuple(states),
        stopped=stopped,
        verdicts=verdicts,
    )


def walked(walk: Walk, text: str, known: Path | None = None) -> Path:
    """Returns the path that `text` describes. Raises PathFault if a step is not possible.

    `known` is an earlier path or None. If both paths begin with the same steps, the states of
    `known` after these steps are reused.
    """
    found = follow(walk, *read(walk, text), known)
    if found.stopped is not None:
        raise PathFault(found.why_stopped(), len(found.states))
    return found


def walked_from_any_start(walk: Walk, text: str) -> Path:
    """Returns the path of the calls in `text`, from the first initial state in which all of them
    are possible.

    Raises PathFault if there is no such initial state.
    """
    _, calls = read(walk, text)
    paths = [follow(walk, start, calls) for start in walk.starts]
    for path in paths:
        if path.stopped is None:
            return path
    longest = max(paths, key=lambda path: len(path.states))
    raise PathFault(longest.why_stopped(), len(longest.states))


def before(text: str, step: int) -> str:
    """Returns the text of the path before the step with the number `step`, counted from 1. A
    call of `init` is not counted.
    """
    calls = split(text)
    first = 1 if calls and _name(calls[0]) == INIT and step > 0 else 0
    return "; ".join(calls[: max(step - 1, 0) + first])


# ---- one call


def _name(text: str) -> str:
    return text.partition("(")[0].strip()


def _call(walk: Walk, actions: Sequence[Action], text: str, step: int) -> Call:
    known = {action.name: action for action in actions}
    shape = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", text)
    if shape is None:
        raise PathFault(f"step {step}: {text!r} is no call; write ACTION(ELEMENT, ...)", step)
    action = known.get(shape[1])
    if action is None:
        raise PathFault(
            f"step {step}: {UnknownName('action', shape[1], known, of=walk.title)}", step
        )
    words = (
        [word.strip() for word in (shape[2] or "").split(",")] if (shape[2] or "").strip() else []
    )
    if len(words) != len(action.params):
        wanted = ", ".join(f"{p.name}: {p.sort.name}" for p in action.params)
        raise PathFault(f"step {step}: {text} needs the arguments ({wanted})", step)
    values = [_value(walk, p, w, step) for p, w in zip(action.params, words, strict=True)]
    return walk.call(action, values)


def _value(walk: Walk, param: t.Local, word: str, step: int) -> int:
    elements = walk.interpreter.elements(param.sort)
    short = re.sub(rf"^{re.escape(param.name)}\s*[= ]\s*", "", word)
    number = re.search(r"-?\d+$", short)
    likely = [int(number[0])] if number and int(number[0]) in elements else []
    others: Sequence[int] = () if is_wide(elements) else elements
    for element in (*likely, *others):
        if short in (walk.writer.value(element, param.sort), str(element)):
            return element
    first, last = (walk.writer.value(x, param.sort) for x in (elements[0], elements[-1]))
    raise PathFault(
        f"step {step}: {word!r} is no {param.sort.name} of {walk.title}: use {first} to {last}",
        step,
    )
