"""Opens recorded traces as paths: counterexamples in ITF, and explained traces of brokers.

ITF is the trace format of Apalache. It is written by `urteil check`, Apalache and TLC. An explained
trace comes from `urteil trace` or `urteil test`. It has the lines of a run, and for each line the
actions of the spec that explain it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, Final

from checkers.explore.paths import Path, follow
from checkers.explore.scopes import scope_text
from checkers.explore.trace_lines import TraceLines
from checkers.explore.walks import Call, Walk
from checkers.report import explained_trace, itf
from checkers.report.itf import Recorded, recorded
from model.faults import InputFault
from model.specs import find

SUFFIX: Final = ".itf.json"
SUFFIXES: Final = (SUFFIX, explained_trace.SUFFIX)
KINDS: Final = " or ".join(f"*{suffix}" for suffix in SUFFIXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A recorded trace, converted to a path.

    A step that changes nothing is left out, and `notes` has a text about it. `notes` also has a
    text for each step whose recorded state differs from the state of the path.
    """

    walk: Walk
    path: Path
    title: str
    notes: tuple[str, ...] = ()
    lines: TraceLines | None = None


def is_recorded(name: str) -> bool:
    """Returns True if `name` is the name of a trace or a run folder, and False if it is the name
    of a spec.
    """
    return not name.endswith(".py") and (
        name.endswith(".json") or os.sep in name or File(name).is_dir()
    )


def files(place: File) -> list[File]:
    """Returns the traces to open. If `place` is a file, returns only this file. If `place` is a run
    folder, returns all traces in it.

    A trace with a line that the spec forbids comes before the traces without such a line. Raises
    InputFault if there is no trace.
    """
    if not place.exists():
        raise InputFault(f"{place}: no such file; name a spec, a run folder or a trace {KINDS}")
    if not place.is_dir():
        return [place]
    every = (file for suffix in SUFFIXES for file in place.glob(f"*{suffix}"))
    found = sorted(every, key=lambda file: (not explained_trace.has_refusal(file), file))
    if not found:
        raise InputFault(
            f"{place}: no trace {KINDS} in this folder; `urteil check` writes one for each"
            " violation that it did not expect to hold, and `urteil trace` one for each subject"
        )
    return found


def opened(file: File, variant: str | None = None) -> Opened:
    """Returns the trace in a file as a path of a variant of its spec. If `variant` is None, it is
    the variant that the trace names.

    Raises InputFault if the file is not a trace, or if the variant does not allow a step.
    """
    read = itf.read(file, f"{KINDS}, or a run folder")
    if explained_trace.is_explained(read):
        return _explained(file, explained_trace.read_trace(read, str(file)), variant)
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


def _explained(file: File, trace: explained_trace.ExplainedTrace, variant: str | None) -> Opened:
    chosen = find(trace.spec, variant or trace.variant)
    walk = Walk.of(chosen, chosen.make(trace.constants), scope_text(trace.scope))
    start = next((one for one in walk.starts if one.call.values == trace.start), None)
    if start is None:
        raise InputFault(f"{file}: the trace begins in no initial state of {walk.title}")
    every = [line for line in (*trace.lines, trace.refused) if line is not None]
    calls = [
        _named(walk, step.action, step.values, str(file)) for line in every for step in line.steps
    ]
    path = follow(walk, start, calls)
    if path.stopped is not None:
        raise InputFault(f"{file}: {path.why_stopped()}")
    return Opened(walk=walk, path=path, title=file.name, lines=TraceLines.of(trace, path))


def _call(walk: Walk, path: Path, step: Recorded, where: str) -> Call | None:
    if step.action is None:
        return _leading(walk, path, step, where)
    return _named(walk, step.action, step.values, where)


def _named(walk: Walk, name: str, values: Sequence[int], where: str) -> Call:
    action = next((a for a in walk.spec.actions if a.name == name), None)
    if action is None or len(action.params) != len(values):
        raise InputFault(f"{where}: {walk.title} has no action {name} of this form")
    return walk.call(action, values)


def _leading(walk: Walk, path: Path, step: Recorded, where: str) -> Call | None:
    if dict(path.state) == dict(step.state):
        return None
    for option in walk.options(path.state):
        if option.after is not None and dict(option.after) == dict(step.state):
            return option.call
    raise InputFault(f"{where}: no action of {walk.title} leads to this state")
