"""Writes and reads a counterexample in ITF, Apalache's Informal Trace Format.

The variables have the names of the exported TLA+ module. `urteil replay` needs the additional field
`#meta`. In the document, this field has the spec, its variant, its constants and the property. In
each state, it has the action that led to the state.

Source: Apalache ADR 015, https://apalache-mc.org/docs/adr/015adr-trace.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from checkers.explicit.exploration import Discovery
from model.faults import InputFault
from model.language import terms as t
from model.language.interpreter import Cell, State, Value
from model.language.scope import Ranges
from model.language.spec import Spec
from model.language.tla import element, flat

Document = Mapping[str, Any]
NOTHING = "Nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A state of a trace, and the action that led to it. The action is None if the trace does
    not name it.
    """

    action: str | None
    values: tuple[int, ...]
    state: State


def read(file: Path, accepted: str) -> Document:
    """Returns the JSON object in a trace file. Raises InputFault if the file has none. The message
    lists what the caller accepts, such as `*.itf.json`.
    """
    try:
        found: object = json.loads(file.read_text(encoding="utf-8"))
    except OSError as why:
        raise InputFault(f"{file}: {why.strerror}; name a trace, {accepted}") from why
    except ValueError as why:
        raise InputFault(f"{file}: not JSON: {why}; name a trace, {accepted}") from why
    if not isinstance(found, dict):
        raise InputFault(f"{file}: not a trace: ITF is a JSON object with `states`")
    return found


def document(
    spec: Spec, ranges: Ranges, discovery: Discovery, *, name: str, variant: str
) -> Document:
    constants = {n: getattr(spec, n) for n in spec.constants}
    states = [
        {
            "#meta": {"index": k, "action": step.action, "arguments": list(step.values)},
            **_state(spec, ranges, step.state),
        }
        for k, step in enumerate(discovery.trace)
    ]
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": discovery.claim.summary,
            "spec": name,
            "variant": variant,
            "constants": constants,
            "property": discovery.claim.name,
        },
        "vars": [flat(v.name) for v in spec.variables],
        **({} if discovery.loop is None else {"loop": discovery.loop}),
        "states": states,
    }


def _state(spec: Spec, ranges: Ranges, state: State) -> dict[str, Any]:
    return {flat(v.name): _function(v, v.keys, (), ranges, state) for v in spec.variables}


def _function(
    v: t.Variable, keys: Sequence[t.SortInfo], at: tuple[int, ...], ranges: Ranges, state: State
) -> Any:
    if not keys:
        return _written(state[v.name, at], v.value)
    key, *rest = keys
    pairs = [
        [_written(k, key), _function(v, rest, (*at, k), ranges, state)] for k in ranges[key.name]
    ]
    return {"#map": pairs}


def _written(value: Value, sort: t.SortInfo) -> Any:
    if value is None:
        return NOTHING
    if sort.flavour == "bool":
        return bool(value)
    return element(sort.name, int(value)) if sort.flavour == "sort" else value


# ---- reading


def recorded(spec: Spec, ranges: Ranges, read: Document) -> list[Recorded]:
    """Returns the states of an ITF trace, each with the action that led to it. Raises InputFault
    if the trace does not fit the spec.
    """
    if not isinstance(read.get("states"), list) or not read["states"]:
        raise InputFault("the trace has no states; name an *.itf.json file of `urteil check`")
    steps: list[Recorded] = []
    for k, written in enumerate(read["states"]):
        meta = written.get("#meta", {})
        cells: dict[Cell, Value] = {}
        for v in spec.variables:
            if flat(v.name) not in written:
                raise InputFault(
                    f"state {k} of the trace has no variable {flat(v.name)}; "
                    "name the trace's spec with --spec"
                )
            _read(v, ranges, written[flat(v.name)], k, cells)
        action = meta.get("action")
        values = tuple(int(x) for x in meta.get("arguments", ()))
        steps.append(Recorded(action=action, values=values, state=cells))
    return steps


def _read(v: t.Variable, ranges: Ranges, written: Any, k: int, cells: dict[Cell, Value]) -> None:
    for keys in product(*(ranges[key.name] for key in v.keys)):
        found = written
        for key, sort in zip(keys, v.keys, strict=True):
            pairs = found.get("#map", []) if isinstance(found, dict) else []
            found = next((b for a, b in pairs if _value(a, sort, ranges) == key), _Missing)
        value = _value(found, v.value, ranges)
        if value is _Missing:
            place = f"{flat(v.name)}{''.join(f'[{x}]' for x in keys)}"
            shown = "missing" if found is _Missing else repr(found)
            raise InputFault(
                f"state {k} of the trace: {place} is {shown}, which is not in the spec's scope; "
                "name the trace's --variant, and its constants with --set"
            )
        cells[v.name, keys] = value


class _Missing:
    """Stands for a value that is absent, or that has the wrong type."""


def _value(written: Any, sort: t.SortInfo, ranges: Ranges) -> Any:
    if isinstance(written, dict) and "#bigint" in written:
        written = int(written["#bigint"])
    if written == NOTHING:
        return None if sort.optional else _Missing
    if sort.flavour == "bool":
        return written if isinstance(written, bool) else _Missing
    for k in ranges[sort.name]:
        if written == (element(sort.name, k) if sort.flavour == "sort" else k):
            return k
    return _Missing
