"""The actions and properties of a spec as data, which the engines (explorers and provers) read.

*Tracing* creates this data: it runs each method of a spec once, on symbols instead of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from model.language import terms as t
from model.language.show import Script, show
from model.language.temporal import Fairness, Kind


@dataclass(frozen=True, slots=True)
class Guard:
    formula: t.Node
    line: int
    names: Mapping[t.Node, str] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return show(self.formula, self.names)


@dataclass(slots=True)
class Action:
    """An action of a spec as data: its parameters, its guards and its assignments."""

    name: str
    summary: str
    params: tuple[t.Local, ...]
    guards: list[Guard] = field(default_factory=list)
    writes: list[t.Write] = field(default_factory=list)
    names: dict[t.Node, str] = field(default_factory=dict, repr=False)  # of terms, in the spec
    fair: Fairness | None = None  # for each choice of the parameters

    @property
    def changes(self) -> frozenset[str]:
        return frozenset(w.variable.name for w in self.writes)

    def describe(self) -> str:
        roots = [g.formula for g in self.guards]
        roots += [x for w in self.writes for x in (*w.keys, w.condition, w.value)]
        script = Script.of(roots, self.names, self.params)
        head = f"{self.name}({', '.join(f'{p.name}: {p.sort.name}' for p in self.params)})"
        head += f"  {self.fair}ly fair" if self.fair else ""
        guards = [f"  when {show(g.formula, script.names)}  (line {g.line})" for g in self.guards]
        writes = [f"  {script.write(w)}" for w in self.writes]
        where = [f"  where {line}" for line in script.where()]
        return "\n".join(
            [head, *([f"  {self.summary}"] if self.summary else []), *guards, *writes, *where]
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """A formula about the states or the steps of a spec.

    A claim about states must be true of every reachable state. A witness must be true of at least
    one reachable state. A claim about steps must be true of every step that changes the state. In a
    claim about steps, the variables with the suffix `'` (`terms.Variable.after`) have their values
    in the state after the step.
    """

    name: str
    summary: str
    formula: t.Node
    lemma: bool
    line: int = 0
    about: Literal["states", "steps"] = "states"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A method of a spec that returns a formula. The formula depends on the values of the method's
    parameters.
    """

    name: str
    params: tuple[t.Local, ...]
    formula: t.Node


@dataclass(frozen=True, slots=True)
class Liveness:
    """A formula that every fair behaviour must satisfy, for all values of the formula's
    parameters.
    """

    name: str
    summary: str
    params: tuple[t.Local, ...]
    kind: Kind
    premise: t.Node
    goal: t.Node
    line: int = 0
