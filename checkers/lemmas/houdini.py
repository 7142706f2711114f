"""Houdini at a finite scope, such as 3 replicas: drops candidate lemmas until the claims, together
with the lemmas that they need, are inductive.

A condition of the induction says that an action preserves a claim or a lemma. First the conditions
of the claims are proved, then the conditions of the lemmas that these proofs use, and so on. If a
condition fails, Z3 has found a state in which all candidates are true, and a step from this state
after which a candidate is false. Exploration then visits states that are reachable from Z3's state.
Every inductive subset of the candidates is true in all these states. So each candidate that is
false in one of these states is dropped.

Source: Flanagan and Leino, Houdini, an Annotation Assistant for ESC/Java (FME 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkers.explicit.actions import Program
from checkers.explicit.instance import Packed
from checkers.lemmas.pool import Candidate, Judge
from checkers.lemmas.reachable import reached, rows
from checkers.symbolic import EnginesDisagree
from checkers.symbolic.small_induction import SmallInduction
from model.language.spec import Action

EXPLORED: Final = 400  # states from each state that Z3 finds
WIDEST: Final = 100

Proofs = dict[tuple[str, str], frozenset[str]]  # (action, clause) -> the clauses of its proof


@dataclass(slots=True)
class Houdini:
    """The candidates that are not dropped (`alive`), and the states that led to dropped
    candidates (`killers`). From each of these states, exploration reached a state in which a
    candidate is false.
    """

    program: Program
    judge: Judge
    induction: SmallInduction
    progress: Callable[[str], None] = lambda text: None
    alive: dict[str, Candidate] = field(default_factory=dict)
    killers: dict[Packed, None] = field(default_factory=dict)
    _proofs: Proofs = field(default_factory=dict)

    @property
    def actions(self) -> Sequence[Action]:
        return self.program.at.spec.actions

    def begin(self, candidates: Iterable[Candidate]) -> None:
        """Starts again with `candidates`, and drops the candidates that states of earlier runs
        refute. The solver must already have the formulas of all candidates.
        """
        self.alive = {c.name: c for c in sorted(candidates, key=lambda c: c.cost)}
        self._proofs = {}
        todo, some = dict.fromkeys(self.killers), True
        while some and todo:
            some = False
            for state in list(todo):
                if not self.judge.false(self.alive.values(), rows([state])):
                    del todo[state]
                    some = self._drop_from(state) or some

    def _drop_from(self, state: Packed) -> bool:
        """Drops the candidates that are false in a state that exploration reaches from `state`.

        Returns False if no candidate is dropped. Raises EnginesDisagree if a candidate is false in
        `state` itself, because Z3 found that all candidates are true in `state`.
        """
        if wrong := self.judge.false(self.alive.values(), rows([state])):
            raise EnginesDisagree(f"{min(wrong)} is true before the step in Z3 only")
        found = reached(self.program, [state], most=EXPLORED, widest=WIDEST)
        false = self.judge.false(self.alive.values(), rows(found))
        if false:
            self.killers[state] = None
        self.alive = {name: c for name, c in self.alive.items() if name not in false}
        return bool(false)

    def support(self, targets: Iterable[str]) -> list[str] | None:
        """Returns the names in `targets`, and the names of lemmas that make the targets inductive.
        Lemmas that are not needed are left out, but a smaller set of lemmas may exist.

        Returns None if a target is dropped, or if Z3 has no answer.
        """
        wanted = list(targets)
        while all(name in self.alive for name in wanted):
            chosen, missing = self._chosen(wanted)
            if missing is None:
                return self._without_spare(chosen, set(wanted))
            self.progress(f"{len(chosen)} claims and lemmas")
            action, name = missing
            core = self._core(action, name, chosen)
            if core is None:
                return None
            if isinstance(core, bytes):
                self._drop_from(core)
                if name in self.alive:
                    raise EnginesDisagree(f"{action.name} breaks {name} in Z3 only")
            else:
                self._proofs[action.name, name] = core
        return None

    def _chosen(self, wanted: Sequence[str]) -> tuple[list[str], tuple[Action, str] | None]:
        """Returns the names of the clauses that a proof of `wanted` needs, and the first condition
        without a proof.

        The clauses are the clauses in `wanted`, the clauses that the proofs of `wanted` use, the
        clauses that the proofs of these clauses use, and so on. The condition is None if each of
        these clauses is proved for each action.
        """
        chosen = dict.fromkeys(wanted)
        todo = list(wanted)
        missing: tuple[Action, str] | None = None
        while todo:
            name = todo.pop(0)
            for action in self.actions:
                core = self._proofs.get((action.name, name))
                if core is None or not core <= self.alive.keys():
                    missing = missing or (action, name)
                    continue
                new = reversed(self._longest_first(core - chosen.keys()))
                for needed in new:
                    chosen[needed] = None
                    todo.append(needed)
        return list(chosen), missing

    def _core(
        self, action: Action, name: str, chosen: Sequence[str]
    ) -> frozenset[str] | bytes | None:
        """Returns the names of a few clauses that suffice to prove that the action preserves the
        clause `name`. The clauses in `chosen` are preferred.

        If all candidates together do not suffice, returns a state, with one byte for each cell. In
        this state all candidates are true, and a step of the action makes the clause `name` false.
        Returns None if Z3 has no answer within its limit.
        """
        stated = [n for n, c in self.alive.items() if c.stated and n not in chosen]
        for some in (chosen, [*chosen, *stated]):
            core = self.induction.needed(action, name, some)
            if isinstance(core, frozenset):
                return core
        core = self.induction.needed(action, name, self.alive)
        if not isinstance(core, frozenset):
            return core
        free = [*chosen, *stated]
        for spare in self._longest_first(core.difference(free)):
            if spare in core:
                rest = sorted(core.difference(free, {spare}))
                fewer = self.induction.needed(action, name, [*free, *rest])
                core = fewer if isinstance(fewer, frozenset) else core
        return core

    def _longest_first(self, names: Iterable[str]) -> list[str]:
        return sorted(sorted(names), key=lambda n: self.alive[n].cost, reverse=True)

    def _without_spare(self, chosen: list[str], wanted: set[str]) -> list[str]:
        """Returns the clauses in `chosen` without the lemmas that are not needed.

        One lemma at a time is tried, the lemma with the highest cost first. A lemma is left out if
        the remaining clauses are still inductive.
        """
        actions = {a.name: a for a in self.actions}
        proofs = {(a, n): core for (a, n), core in self._proofs.items() if n in chosen}
        for spare in self._longest_first(chosen):
            if spare in wanted:
                continue
            rest = [n for n in chosen if n != spare]
            again = {(a, n): core for (a, n), core in proofs.items() if n != spare}
            for (action, name), core in list(again.items()):
                if spare in core:
                    found = self.induction.needed(actions[action], name, rest)
                    if not isinstance(found, frozenset):
                        break
                    again[action, name] = found
            else:
                chosen, proofs = rest, again
        return chosen
