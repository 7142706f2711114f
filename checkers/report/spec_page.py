"""The page of a spec: state, actions with fairness, claims, assumptions, versions and bugs."""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

from model.language import Bool, Spec
from model.language.actions import Action
from model.language.state_variables import LeafShape, MapShape, Shape
from model.specs import find, variants_of
from model.state_machines import STATE_MACHINES
from model.user_specs import read_whole
from model.variants import Variant

WIDTH = 92
FAIRNESS = (
    "weak: the action is taken in the end if it stays enabled. strong: it is taken in the end if it"
    " is enabled again and again. no mark: it may never happen. Each holds for each choice of the"
    " parameters."
)


def spec_page(name: str) -> dict[str, str]:
    """Returns the page of a spec: a map from the titles of its parts, such as `actions`, to their
    texts. A part without text is omitted.

    `name` may be the path of a .py file. Raises SpecError if this file has a mistake.
    """
    default = find(name)
    spec = default.make()
    read_whole(default, spec)
    pages = {
        "in force": str(default.in_force or ""),
        "about": _first_paragraph(_module(name)),
        "constants": "\n".join(_constants(spec)),
        "state": "\n".join(_state(spec)),
        "actions": "\n".join(map(_action, spec.actions)),
        "fairness": FAIRNESS,
        "claims": "\n".join(_entry(c.name, c.summary) for c in spec.properties),
        "assumptions": "\n".join(_labelled(name, "Simplified")),
        "sources": "\n".join(_labelled(name, "Source")),
        "versions": "\n".join(map(_variant, _rows(name, "version"))),
        "bugs": "\n".join(map(_variant, _rows(name, "bug"))),
        "state diagram": "\n\n".join(machine.diagram() for machine in STATE_MACHINES.get(name, ())),
    }
    return {title: text for title, text in pages.items() if text}


def shape_text(shape: Shape) -> str:
    """Returns the type of a variable as text, as the spec declares it.

    A map from a sort to Bool is a `Set`.

    >>> from model.language import Map, Set, Sort
    >>> from model.language.state_variables import shape_of
    >>> class Replica(Sort): pass
    >>> shape_text(shape_of(Map[Replica, Set[Replica]]))
    'Map[Replica, Set[Replica]]'
    """
    match shape:
        case LeafShape():
            return f"{shape.sort.__name__} | Nothing" if shape.info.optional else shape.info.name
        case MapShape(value=LeafShape(sort=sort)) if sort is Bool:
            return f"Set[{shape.key.__name__}]"
        case MapShape():
            return f"Map[{shape.key.__name__}, {shape_text(shape.value)}]"
        case _:
            return shape.record.__name__


def _state(spec: Spec) -> Iterator[str]:
    records: dict[str, Mapping[str, Shape]] = {}
    for name, shape in spec.shapes.items():
        yield f"{name}: {shape_text(shape)}"
        _collect_records(shape, records)
    for record, fields in records.items():
        text = ", ".join(f"{name}: {shape_text(inner)}" for name, inner in fields.items())
        yield textwrap.fill(f"record {record}: {text}", WIDTH, subsequent_indent="    ")


def _collect_records(shape: Shape, records: dict[str, Mapping[str, Shape]]) -> None:
    if isinstance(shape, MapShape):
        _collect_records(shape.value, records)
    elif not isinstance(shape, LeafShape):
        records[shape.record.__name__] = shape.record.fields()
        for inner in shape.record.fields().values():
            _collect_records(inner, records)


def _constants(spec: Spec) -> Iterator[str]:
    for constant in spec.constants.values():
        bounds = constant.bounds
        within = f", from {bounds.start} to {bounds.stop - 1}" if bounds is not None else ""
        yield f"{constant.name} = {str(constant.default).lower()}{within}"


def _action(action: Action) -> str:
    params = ", ".join(f"{p.name}: {p.sort.name}" for p in action.params)
    mark = f"  {action.fair}" if action.fair else ""
    return _entry(f"{action.name}({params}){mark}", action.summary)


def _variant(row: Variant) -> str:
    notes = [] if row.in_force is None else [f"{row.in_force}"]
    if row.breaks is not None:
        notes.append(f"fails {row.breaks} in {row.steps} steps")
        notes.append(f"fixed by {find(row.spec, row.fixed_by).name}")
    if row.issue:
        notes.append(row.issue)
    default = " (default)" if row.default else ""
    head = f"{row.name}{default}: {'; '.join(notes)}" if notes else f"{row.name}{default}"
    return _entry(textwrap.fill(head, WIDTH, subsequent_indent="  "), row.summary)


def _rows(name: str, kind: str) -> Iterator[Variant]:
    return (row for row in variants_of(name) if row.kind == kind)


def _entry(head: str, text: str) -> str:
    filled = textwrap.indent(textwrap.fill(text, WIDTH - 4), "    ")
    return f"{head}\n{filled}" if text else head


def _module(name: str) -> ModuleType:
    if name.endswith(".py"):
        return sys.modules[find(name).cls.__module__]
    return import_module(f"model.{name.replace('-', '_')}")


def _first_paragraph(of: object) -> str:
    return " ".join((inspect.getdoc(of) or "").split("\n\n")[0].split())


def _labelled(name: str, label: str) -> Iterator[str]:
    package = _module(name)
    walked = pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}.")
    for module in (package.__name__, *(m.name for m in walked)):
        text = inspect.getdoc(import_module(module)) or ""
        for found in re.findall(rf"^{label}: (.*?)(?=\n\n|^[A-Z]\w*: |\Z)", text, re.S | re.M):
            where = module.removeprefix(f"{package.__name__}").lstrip(".") or "spec"
            yield _entry(where, " ".join(found.split()))
