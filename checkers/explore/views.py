"""The view of the last state of a path: the JSON fields that `urteil explore` displays."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from checkers.explicit.exploration import Step
from checkers.explore.paths import Path
from checkers.explore.pictures import Painter
from checkers.explore.walks import Option, Walk
from checkers.report.counterexample import why_claim_false
from model.language.actions import Claim
from model.language.interpreter import State, Undefined, joined

View = dict[str, Any]
MOST_OTHERS = 24  # calls that the same conjunct disables, listed by name
MOST_ITEMS = 2_000  # rows of the table of every variable
MOST_CHANGES = 200  # last steps of a path whose changes are listed
MOST_CHANGES_WIDE = 40  # the same with a wide sort
JUDGED = 200  # last states of a path in which the properties are judged
JUDGED_WIDE = 20  # the same with a wide sort: a property then takes milliseconds


def view(path: Path, painter: Painter) -> View:
    walk = path.walk
    before = path.states[-2] if len(path.states) > 1 else None
    options = walk.options(path.state)
    return {
        "spec": walk.variant.spec,
        "variant": walk.variant.name,
        "constants": {name: getattr(walk.spec, name) for name in walk.spec.constants},
        "scope": walk.scope,
        "path": path.text,
        "command": command_line(walk, path.text),
        "starts": [start.call.text for start in walk.starts],
        "start": path.start.call.text,
        "steps": [*_steps(path)],
        "state": [*islice(_state(walk, path.state, before), MOST_ITEMS)],
        "wide": [*walk.wide],
        "judged_from": judged_from(path),
        "picture": painter.picture(path.state, before),
        "enabled": [_enabled(walk, path.state, o) for o in options if o.kind == "enabled"],
        "disabled": [*_disabled(walk, path.state, options)],
        "undefined": [
            {"call": o.call.text, "why": o.undefined} for o in options if o.kind == "undefined"
        ],
        "properties": [*_properties(path)],
    }


def command_line(walk: Walk, path: str) -> str:
    """Returns the command that opens the path, such as
    `urteil explore replication --path '...'`.
    """
    defaults = walk.variant.make()
    words = ["urteil", "explore", walk.variant.spec, "--variant", walk.variant.name]
    for name in walk.spec.constants:
        value = getattr(walk.spec, name)
        if value != getattr(defaults, name):
            words += ["--set", f"{name}={str(value).lower()}"]
    words += ["--scope", walk.scope] if walk.scope else []
    return shlex.join([*words, *(["--path", path] if path else [])])


# ---- the path and the state


def _steps(path: Path) -> Iterator[View]:
    writer, wide = path.walk.writer, path.walk.wide
    first = len(path.calls) - (MOST_CHANGES_WIDE if wide else MOST_CHANGES)
    for k, (call, (before, after)) in enumerate(
        zip(path.calls, pairwise(path.states), strict=True)
    ):
        found = changes(writer.changes(before, after)) if k >= first else None
        yield {"call": call.text, "changes": found}


def changes(found: Sequence[tuple[str, list[str]]]) -> list[View]:
    """Returns the changes of a step as JSON. Each entry has a variable (`place`) and the changes
    of its fields.
    """
    return [{"place": place, "fields": fields} for place, fields in found]


def _state(walk: Walk, state: State, before: State | None) -> Iterator[View]:
    old = [item.value for item in walk.writer.items(before)] if before is not None else None
    for k, item in enumerate(walk.writer.items(state)):
        changed = old is not None and old[k] != item.value
        yield {"place": item.place, "value": item.value, "changed": changed}


# ---- actions


def _enabled(walk: Walk, state: State, option: Option) -> View:
    assert option.after is not None
    found = walk.writer.changes(state, option.after)
    return {
        "call": option.call.text,
        "action": option.call.action.name,
        "summary": option.call.action.summary,
        "changes": changes(found),
    }


def _disabled(walk: Walk, state: State, options: Sequence[Option]) -> Iterator[View]:
    # One entry for each action and conjunct: a spec may have thousands of disabled calls.
    groups: dict[tuple[str, int], list[Option]] = {}
    for option in options:
        if option.guard is not None:
            place = next(k for k, g in enumerate(option.call.action.guards) if g is option.guard)
            groups.setdefault((option.call.action.name, place), []).append(option)
    for (action, place), found in groups.items():
        first = found[0]
        assert first.guard is not None
        yield {
            "call": first.call.text,
            "action": action,
            "conjunct": place + 1,
            "of": len(first.call.action.guards),
            "line": first.guard.line,
            "guard": str(first.guard),
            "why": walk.why_disabled(state, first),
            "others": [o.call.text for o in found[1 : MOST_OTHERS + 1]],
            "more": max(len(found) - 1 - MOST_OTHERS, 0),
        }


# ---- properties


def _properties(path: Path) -> Iterator[View]:
    walk = path.walk
    for claim in (*walk.spec.claims, *walk.spec.action_properties):
        broken = first_broken(path, claim)
        last = len(path.states) - 1
        yield {
            "name": claim.name,
            "about": claim.about,
            "summary": claim.summary,
            "lemma": claim.lemma,
            "broken_at": broken,
            "holds": _holds(path, claim, last),
            "why": _why(path, claim, broken) if broken is not None else [],
        }
    for lively in walk.spec.liveness_properties:
        yield {
            "name": lively.name,
            "about": "behaviours",
            "summary": lively.summary,
            "lemma": False,
            "broken_at": None,
            "holds": None,
            "why": [],
        }


def judged_from(path: Path) -> int:
    """Returns the number of the first state in which the properties are evaluated. In a long path,
    they are evaluated only in the last states.
    """
    return max(len(path.states) - (JUDGED_WIDE if path.walk.wide else JUDGED), 0)


def first_broken(path: Path, claim: Claim) -> int | None:
    """Returns the number of the first step after which the claim is false, or None if there is no
    such step.

    In a long path, the claim is evaluated only from the state with the number `judged_from` on.
    """
    judged = range(judged_from(path), len(path.states))
    return next((k for k in judged if _holds(path, claim, k) is False), None)


def _holds(path: Path, claim: Claim, k: int) -> bool | None:
    at = claim.name, k
    if at not in path.verdicts:
        path.verdicts[at] = _decide(path, claim, k)
    return path.verdicts[at]


def _decide(path: Path, claim: Claim, k: int) -> bool | None:
    walk, state = path.walk, path.states[k]
    try:
        if claim.about == "states":
            return walk.holds(claim.formula, state)
        if k == 0 or path.states[k - 1] == state:
            return True
        return walk.interpreter.holds(claim.formula, joined(path.states[k - 1], state))
    except Undefined:
        return None


def _why(path: Path, claim: Claim, k: int) -> list[str]:
    trace = [Step(action="init", values=(), state=path.states[max(k - 1, 0)])]
    trace.append(Step(action="", values=(), state=path.states[k]))
    return why_claim_false(path.walk.writer, claim, trace)
