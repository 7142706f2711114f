"""A counterexample as ITF, Apalache's Informal Trace Format: read by its tools, and by our own.

Variables and elements are called as the exported TLA+ module calls them. What the format leaves to
its users is under `#meta`: which spec, variant and constants, which property, and the action that
led to each state, so that `urteil replay` can take the steps again.

Source: https://apalache-mc.org/docs/adr/015adr-trace.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
    """A state of a trace that was read; the action that led to it, where the trace says so."""

    action: str | None
    values: tuple[int, ...]
    state: State


def document(
    spec: Spec, ranges: Ranges, discovery: Discovery, *, name: str, variant: str
) -> Document:
    """The trace of a violation."""
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
            "description": discovery.claim.says,
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
    """The steps of a trace of the spec; raises InputFault where it is of another one."""
    if not isinstance(read.get("states"), list) or not read["states"]:
        raise InputFault("the trace has no states: is it ITF, as `urteil check` writes it?")
    steps: list[Recorded] = []
    for k, told in enumerate(read["states"]):
        meta = told.get("#meta", {})
        cells: dict[Cell, Value] = {}
        for v in spec.variables:
            if flat(v.name) not in told:
                raise InputFault(f"state {k} of the trace says nothing of {flat(v.name)}")
            _read(v, ranges, told[flat(v.name)], k, cells)
        action = meta.get("action")
        values = tuple(int(x) for x in meta.get("arguments", ()))
        steps.append(Recorded(action=action, values=values, state=cells))
    return steps


def _read(v: t.Variable, ranges: Ranges, told: Any, k: int, cells: dict[Cell, Value]) -> None:
    for keys in product(*(ranges[key.name] for key in v.keys)):
        found = told
        for key, sort in zip(keys, v.keys, strict=True):
            pairs = found.get("#map", []) if isinstance(found, dict) else []
            found = next((b for a, b in pairs if _value(a, sort, ranges) == key), _Missing)
        value = _value(found, v.value, ranges)
        if value is _Missing:
            place = f"{flat(v.name)}{''.join(f'[{x}]' for x in keys)}"
            raise InputFault(
                f"state {k} of the trace gives {place} no value of the spec's scope: {found!r}"
            )
        cells[v.name, keys] = value


class _Missing:
    """No value at all."""


def _value(told: Any, sort: t.SortInfo, ranges: Ranges) -> Any:
    """What a value of the trace stands for, `_Missing` where it is none of the sort."""
    if isinstance(told, dict) and "#bigint" in told:
        told = int(told["#bigint"])
    if told == NOTHING:
        return None if sort.optional else _Missing
    if sort.flavour == "bool":
        return told if isinstance(told, bool) else _Missing
    for k in ranges[sort.name]:
        if told == (element(sort.name, k) if sort.flavour == "sort" else k):
            return k
    return _Missing
