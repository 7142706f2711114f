"""Opens recorded traces as paths: files in ITF, as `urteil check` writes them to a run folder.

Apalache and TLC write ITF, too. If a trace does not name its actions, they are found step by step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, Final

from checkers.explore.paths import Path, follow
from checkers.explore.walks import Call, Walk
from checkers.report.itf import Recorded, recorded
from model.faults import InputFault
from model.specs import find

SUFFIX: Final = ".itf.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A recorded trace, converted to a path: actions of a spec, and the states after them.

    `notes` has a sentence for each step of the trace that is left out because it changes nothing.
    It also has one for each step whose recorded state differs from the state in the path.
    """

    walk: Walk
    path: Path
    title: str
    notes: tuple[str, ...] = ()


def is_recorded(name: str) -> bool:
    """Returns True if the argument of the command is a trace or a run folder, and not a spec."""
    return not name.endswith(".py") and (
        name.endswith(".json") or os.sep in name or File(name).is_dir()
    )


def files(place: File) -> list[File]:
    """Returns the path of a trace unchanged; for a run folder, the paths of its traces by name.

    Raises InputFault if there are none.
    """
    if not place.exists():
        raise InputFault(f"{place}: no such file; name a spec, a run folder or a trace *{SUFFIX}")
    if not place.is_dir():
        return [place]
    found = sorted(place.glob(f"*{SUFFIX}"))
    if not found:
        raise InputFault(
            f"{place}: no trace *{SUFFIX} in this folder; `urteil check` writes one for each"
            " violation that it did not expect to hold"
        )
    return found


def opened(file: File, variant: str | None = None) -> Opened:
    """Returns the trace in a file as a path of `variant`.

    By default, the trace itself names the variant. Raises InputFault if the file is no trace,
    or if the spec forbids a step.
    """
    read = _read(file)
    meta: Mapping[str, Any] = read.get("#meta", {})
    name = meta.get("spec")
    if not isinstance(name, str):
        raise InputFault(f"{file}: the trace does not name its spec; Urteil's own traces do")
    chosen = find(name, variant or meta.get("variant"))
    walk = Walk.of(chosen, chosen.make(meta.get("constants", {})))
    steps = recorded(walk.spec, walk.interpreter.ranges, read)
    start = next((s for s in walk.starts if dict(s.state) == dict(steps[0].state)), None)
    if start is None:
        raise InputFault(f"{file}: the first state of the trace is not initial in {walk.title}")
    path, notes = follow(walk, start, ()), list[str]()
    for k, step in enumerate(steps[1:], 1):
        call = _call(walk, path, step, f"{file}: step {k}")
        if call is None:
            notes.append(f"step {k} of the trace changes nothing, and is left out")
            continue
        path = follow(walk, start, [*path.calls, call], path)
        if path.stopped is not None:
            raise InputFault(f"{file}: {path.why_stopped()}")
        differs = [c for c, value in step.state.items() if path.state[c] != value]
        if differs:
            places = ", ".join(walk.writer.place(n, [*map(str, keys)]) for n, keys in differs[:4])
            notes.append(f"step {k}: the state of the trace differs from the spec's in {places}")
    return Opened(walk=walk, path=path, title=file.name, notes=tuple(notes))


def _read(file: File) -> Mapping[str, Any]:
    try:
        read: object = json.loads(file.read_text())
    except OSError as why:
        raise InputFault(
            f"{file}: {why.strerror}; name a trace *{SUFFIX}, or a run folder"
        ) from why
    except ValueError as why:
        raise InputFault(f"{file}: not JSON: {why}; name a trace *{SUFFIX}") from why
    if not isinstance(read, dict):
        raise InputFault(f"{file}: not a trace: ITF is a JSON object with `states`")
    return read


def _call(walk: Walk, path: Path, step: Recorded, where: str) -> Call | None:
    if step.action is None:
        return _leading(walk, path, step, where)
    action = next((a for a in walk.spec.actions if a.name == step.action), None)
    if action is None or len(action.params) != len(step.values):
        raise InputFault(f"{where}: {walk.title} has no action {step.action} of this form")
    return walk.call(action, step.values)


def _leading(walk: Walk, path: Path, step: Recorded, where: str) -> Call | None:
    if dict(path.state) == dict(step.state):
        return None
    for option in walk.options(path.state):
        if option.after is not None and dict(option.after) == dict(step.state):
            return option.call
    raise InputFault(f"{where}: no action of {walk.title} leads to this state")
