"""What engines read of a spec besides its variables: actions with guards and writes, and claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from model.language import terms as t
from model.language.show import Script, show
from model.language.temporal import Fairness, Kind


@dataclass(frozen=True, slots=True)
class Guard:
    """One conjunct of a guard, with the line of the spec that states it."""

    formula: t.Node
    line: int
    names: Mapping[t.Node, str] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return show(self.formula, self.names)


@dataclass(slots=True)
class Action:
    """An action, traced once: its parameters are symbols."""

    name: str
    says: str
    params: tuple[t.Local, ...]
    guards: list[Guard] = field(default_factory=list)
    writes: list[t.Write] = field(default_factory=list)
    names: dict[t.Node, str] = field(default_factory=dict, repr=False)  # the author's, for terms
    fair: Fairness | None = None  # what is promised of each choice of its parameters

    @property
    def changes(self) -> frozenset[str]:
        """The variables that the action may change; its frame is every other."""
        return frozenset(w.variable.name for w in self.writes)

    def describe(self) -> str:
        """The action as text; terms that recur stand below it, each on its `where` line."""
        roots = [g.formula for g in self.guards]
        roots += [x for w in self.writes for x in (*w.keys, w.condition, w.value)]
        script = Script.of(roots, self.names, self.params)
        head = f"{self.name}({', '.join(f'{p.name}: {p.sort.name}' for p in self.params)})"
        head += f"  {self.fair}ly fair" if self.fair else ""
        guards = [f"  when {show(g.formula, script.names)}  (line {g.line})" for g in self.guards]
        writes = [f"  {script.write(w)}" for w in self.writes]
        where = [f"  where {line}" for line in script.where()]
        return "\n".join(
            [head, *([f"  {self.says}"] if self.says else []), *guards, *writes, *where]
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said of every reachable state; of a witness, that some reachable state is such.

    A claim about steps is said of every step that changes the state; its formula reads variables
    in the state before, and `after` ones (`terms.Variable.after`) in the state after.
    """

    name: str
    says: str
    formula: t.Node
    lemma: bool
    line: int = 0
    about: Literal["states", "steps"] = "states"


@dataclass(frozen=True, slots=True)
class Liveness:
    """What is said of every fair behaviour, for each value of the parameters (`behaviours.py`)."""

    name: str
    says: str
    params: tuple[t.Local, ...]
    kind: Kind
    premise: t.Node
    goal: t.Node
    line: int = 0
