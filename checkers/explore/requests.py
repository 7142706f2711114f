"""The JSON API of `urteil explore`. A request and its answer are JSON objects.

Each line has a request, its fields, and the content of the answer. A `?` marks an optional field:

    POST /api/opened          {}                      the spec or trace that the command line names,
                                                      all specs, and the traces of a run folder
    POST /api/spec            WHERE                   variants, constants, actions, properties
    POST /api/walk            WHERE, compare?, as_far?
                                                      the last state of the path: picture, enabled
                                                      and disabled actions, properties
    POST /api/search          WHERE, formula, states, seconds, from_here
                                                      starts a search for a state; returns the
                                                      number of the search
    POST /api/counterexample  WHERE, property, states, seconds
                                                      returns a recorded counterexample, or starts
                                                      a search and returns its number
    POST /api/job             {job}                   progress or result of a search
    POST /api/stop            {job}                   stops a search
    POST /api/trace           {file}                  a trace of the opened run folder, as a path

WHERE stands for the fields `spec`, `variant`, `constants`, `scope` and `path`, as text. The scope
has the number of elements of each type, such as `Replica=2,Offset=3`, and is optional.

`compare` is the name of a second variant. With this field, the answer also has the differences
between the two variants. If `as_far` is true, a path with an impossible step is followed up to this
step, and the field `stopped` of the answer has the reason.

The answer to a wrong request has the status 400 and the content `{"error": text}`. If the mistake
is in a path, the answer also has the number `step`. If the mistake is in a formula, it also has the
columns `start` and `end`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any, Final

from checkers.explicit.exploration import Budget
from checkers.explore import comparison, formulas, searches, traces
from checkers.explore.paths import Path, PathFault, before, walked
from checkers.explore.pictures import Painter
from checkers.explore.views import view
from checkers.explore.walks import Walk
from model.faults import InputFault, UnknownName
from model.specs import SPECS, find, variants_of
from model.user_specs import read_whole

Request = Mapping[str, Any]
Answer = dict[str, Any]
MOST_STATES: Final = 10_000_000
STATES: Final = 200_000
SECONDS: Final = 60.0
MOST_WALKS: Final = 8  # specs kept in memory
LONGEST_PATH: Final = 20_000  # steps


@dataclass(slots=True)
class Explorer:
    """Answers the requests of one server. The data that it stores between requests is only a cache.

    A request may name a .py file. The code of this file is run only if the command line also names
    the file.
    """

    opened: Answer
    traces: tuple[File, ...] = ()
    _walks: dict[tuple[Any, ...], tuple[Walk, Painter]] = field(
        default_factory=dict[tuple[Any, ...], tuple[Walk, Painter]]
    )
    _last: Path | None = None
    _jobs: list[searches.Job] = field(default_factory=list[searches.Job])
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def answer(self, name: str, request: Request) -> Answer:
        """Returns the answer to the request with this name. Raises InputFault if the request is
        wrong.
        """
        if name not in ANSWERS:
            raise UnknownName("request", name, ANSWERS)
        with self._lock:  # the spec language traces one formula at a time
            return ANSWERS[name](self, request)

    def stop(self) -> None:
        for job in self._jobs:
            job.stop()
        for job in self._jobs:
            job.wait(5.0)

    # ---- requests

    def describe_opened(self, request: Request) -> Answer:
        del request
        return {**self.opened, "specs": [*SPECS], "traces": [file.name for file in self.traces]}

    def spec(self, request: Request) -> Answer:
        walk, _ = self._walk(request)
        spec = walk.spec
        return {
            "spec": walk.variant.spec,
            "variant": walk.variant.name,
            "summary": walk.variant.summary,
            "in_force": None if walk.variant.in_force is None else str(walk.variant.in_force),
            "variants": [
                {"name": v.name, "kind": v.kind, "breaks": v.breaks, "at": dict(v.at)}
                for v in variants_of(walk.variant.spec)
            ],
            "constants": {name: getattr(spec, name) for name in spec.constants},
            "actions": [{"name": a.name, "summary": a.summary} for a in spec.actions],
            "properties": [{"name": c.name, "summary": c.summary} for c in spec.properties],
        }

    def walk(self, request: Request) -> Answer:
        stopped: PathFault | None = None
        try:
            path, painter = self._path(request)
        except PathFault as fault:
            if not request.get("as_far"):
                raise
            stopped = fault
            path, painter = self._path({**request, "path": before(request["path"], fault.step)})
        shown = view(path, painter)
        if stopped is not None:
            shown["stopped"] = {"step": stopped.step, "error": str(stopped)}
        other = request.get("compare")
        if other:
            there, _ = self._walk({**request, "variant": other, "lenient": True})
            shown["compare"] = comparison.compared(path, there)
        return shown

    def search(self, request: Request) -> Answer:
        _refuse_scope(request)
        path, _ = self._path(request)
        walk = path.walk
        formula = formulas.formula(
            walk.spec, walk.interpreter.ranges, _text(request, "formula", "")
        )
        from_here = bool(request.get("from_here", False))
        return self._begun(
            searches.for_a_state(path, formula, _budget(request), from_here=from_here)
        )

    def counterexample(self, request: Request) -> Answer:
        _refuse_scope(request)
        walk, _ = self._walk(request)
        name = _text(request, "property", "")
        known = [claim.name for claim in walk.spec.properties]
        if name not in known:
            raise UnknownName("property", name, known, of=walk.title)
        found = searches.recorded(walk, name)
        if found is not None:
            return searches.Job(search=lambda _: found, result=found).as_json()
        return self._begun(searches.for_a_counterexample(walk, name, _budget(request)))

    def job(self, request: Request) -> Answer:
        return self._job(request).as_json()

    def stop_job(self, request: Request) -> Answer:
        job = self._job(request)
        job.stop()
        job.wait(0.5)
        return job.as_json()

    def trace(self, request: Request) -> Answer:
        name = _text(request, "file", "")
        file = next((one for one in self.traces if one.name == name), None)
        if file is None:
            raise UnknownName("trace", name, [one.name for one in self.traces])
        return where(traces.opened(file))

    # ---- the cache

    def _walk(self, request: Request) -> tuple[Walk, Painter]:
        spec = _text(request, "spec", str(self.opened["spec"]))
        if spec.endswith(".py") and spec != self.opened["spec"]:
            raise InputFault(f"{spec}: only the file that the command line names is opened")
        variant = find(spec, _text(request, "variant", "") or None)
        constants = _constants(request)
        if request.get("lenient"):  # the other variant may lack a constant
            constants = {n: v for n, v in constants.items() if n in variant.cls.constants}
        made = variant.make(constants)  # the constants that the request leaves out, too
        scope = _text(request, "scope", "")
        key = (spec, variant.name, scope, *(getattr(made, name) for name in made.constants))
        if key not in self._walks:
            read_whole(variant, made)
            walk = Walk.of(variant, made, scope)
            _ = made.claims, made.action_properties, made.liveness_properties, made.witnesses
            while len(self._walks) >= MOST_WALKS:
                del self._walks[next(iter(self._walks))]
            self._walks[key] = walk, Painter.of(walk.writer)
        return self._walks[key]

    def _path(self, request: Request) -> tuple[Path, Painter]:
        walk, painter = self._walk(request)
        text = _text(request, "path", "")
        if text.count(";") > LONGEST_PATH:
            raise InputFault(f"the path has more than {LONGEST_PATH:,} steps")
        self._last = walked(walk, text, self._last)
        return self._last, painter

    # ---- searches

    def _begun(self, search: searches.Search) -> Answer:
        for job in self._jobs:
            job.stop()
        job = searches.Job(search=search)
        self._jobs.append(job)
        job.start()
        return {"status": "running", "job": len(self._jobs) - 1}

    def _job(self, request: Request) -> searches.Job:
        number = request.get("job")
        if not isinstance(number, int) or not 0 <= number < len(self._jobs):
            raise InputFault(f"no search {number!r}: begin one with /api/search")
        return self._jobs[number]


def _refuse_scope(request: Request) -> None:
    if _text(request, "scope", ""):
        raise InputFault(
            "a recorded trace is not searched: its scope is too large; leave out `scope`, and"
            " choose constants"
        )


def where(opened: traces.Opened) -> Answer:
    """Returns an opened trace as JSON fields, for the web page.

    If the trace is an explained trace, the fields also have its lines. If the spec forbids a line,
    they also have the number of this line.
    """
    walk, lines = opened.walk, opened.lines
    return {
        "spec": walk.variant.spec,
        "variant": walk.variant.name,
        "constants": {name: getattr(walk.spec, name) for name in walk.spec.constants},
        "scope": walk.scope,
        "path": opened.path.text,
        "title": opened.title,
        "notes": [*opened.notes],
        "lines": None if lines is None else lines.as_json(),
        "line": "" if lines is None or lines.refused is None else str(len(lines.lines) - 1),
    }


def _text(request: Request, name: str, default: str) -> str:
    found = request.get(name, default)
    if not isinstance(found, str):
        raise InputFault(f"{name}: {found!r} is not a text")
    return found


def _constants(request: Request) -> dict[str, int | bool]:
    found = request.get("constants") or {}
    if not isinstance(found, dict) or not all(isinstance(v, int) for v in found.values()):
        raise InputFault(f"constants: {found!r}; write an object of integers, true and false")
    return found


def _budget(request: Request) -> Budget:
    states, seconds = request.get("states", STATES), request.get("seconds", SECONDS)
    if not isinstance(states, int) or not 0 < states <= MOST_STATES:
        raise InputFault(f"states: {states!r}; write a number from 1 to {MOST_STATES:,}")
    if not isinstance(seconds, int | float) or not 0 < seconds <= 3600:
        raise InputFault(f"seconds: {seconds!r}; write a number up to 3600")
    return Budget(states=states, seconds=float(seconds))


ANSWERS: Final[Mapping[str, Callable[[Explorer, Request], Answer]]] = {
    "opened": Explorer.describe_opened,
    "spec": Explorer.spec,
    "walk": Explorer.walk,
    "search": Explorer.search,
    "counterexample": Explorer.counterexample,
    "job": Explorer.job,
    "stop": Explorer.stop_job,
    "trace": Explorer.trace,
}
