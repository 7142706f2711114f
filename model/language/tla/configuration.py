"""Writes the configuration file for TLC."""

from __future__ import annotations

from collections.abc import Sequence

from model.language.scope import Scope, ranges_of
from model.language.spec import Spec
from model.language.symmetry import symmetric
from model.language.tla.lifting import camel
from model.language.tla.module import Module
from model.language.tla.prepared import never


def module(spec: Spec, scope: Scope | None = None) -> str:
    """Returns the TLA+ module of the spec as text. If `scope` is None, the module has the spec's
    own scope.
    """
    return Module.of(spec, scope).text()


def configuration(
    spec: Spec, scope: Scope | None = None, names: Sequence[str] | None = None
) -> str:
    """Returns the configuration file for TLC as text. If `scope` is None, the file has the spec's
    own scope.

    `names` selects properties and witnesses. If `names` is None, all properties and no witnesses
    are selected. A witness is reachable if TLC reports a violation of its invariant `Never...`.
    """
    made = Module.of(spec, scope)
    ranges = ranges_of(spec.scope() if scope is None else scope)
    lines = [*made.header("\\*", ""), "", "SPECIFICATION Spec", "CHECK_DEADLOCK FALSE", ""]
    lines += ["CONSTANTS"]
    for name in made.sorts("sort"):
        elements = ", ".join(element(name, k) for k in ranges[name])
        lines.append(f"  {name} = {{{elements}}}")
    lines += [*(f"  {name} = {value}" for name, value in made.constants.items())]
    lines += ["  Nothing = Nothing", "", "INVARIANTS", "  TypeOK"]
    chosen = [c for c in spec.properties if names is None or c.name in names]
    safe = [c for c in spec.claims if c in chosen]
    lines += [f"  {camel(c.name)}" for c in safe if not c.lemma]
    lemmas = [f"  {camel(c.name)}" for c in safe if c.lemma]
    lines += ["  \\* lemmas", *lemmas] if lemmas else []
    lines += [f"  {never(w.name)}" for w in spec.witnesses if names and w.name in names]
    temporal = [c for c in chosen if c not in spec.claims]
    lines += ["", "PROPERTIES", *(f"  {camel(c.name)}" for c in temporal)] if temporal else []
    if spec.witnesses:
        lines += ["", "\\* Witnesses: TLC must report each of these as violated."]
        lines += [f"\\* INVARIANT {never(w.name)}" for w in spec.witnesses]
    if symmetric(spec):
        lines += [
            "",
            "\\* Fewer states, and unsound for liveness properties.",
            "\\* SYMMETRY Symmetry",
        ]
    return "\n".join(lines) + "\n"


def element(sort: str, number: int) -> str:
    """Returns the name of the model value for an element of a sort, for example `replica_0`."""
    return f"{sort.lower()}_{number}"


def flat(variable: str) -> str:
    """Returns the name of a variable with `_` in place of each dot: `log.end_offset` becomes
    `log_end_offset`.
    """
    return variable.replace(".", "_")
