"""Explores a detailed spec and an abstract spec together, step by step.

An abstract state may have history that the detailed state has forgotten. So no mapping of states
suffices. Instead, `calls` maps each detailed step to the abstract actions that explain it, none or
more, and these actions are taken one by one. Each must be allowed, and afterwards both states must
agree (`disagreement`). All pairs of states that are reached in this way are explored.

Source: Lamport, Specifying Systems, chapter 5.8; Abadi and Lamport, The Existence of Refinement
Mappings (history variables).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Generic, NamedTuple, TypeVar

from model.language import Spec
from model.language.interpreter import Interpreter, State
from model.language.spec import Action
from properties.refinement.behaviour import Call

R = TypeVar("R", bound=Spec)


class Transition(NamedTuple):
    """A step of the detailed spec, with the states before and after."""

    action: str
    arguments: tuple[int, ...]
    before: State
    after: State


class Unexplained(NamedTuple):
    """A step of the detailed spec that is no step of the abstract spec, and the reason."""

    transition: Transition
    reason: str

    def __str__(self) -> str:
        named = Call(self.transition.action, self.transition.arguments)
        return f"{named}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Counts of the steps in an exploration of both specs.

    `explained` counts, by abstract action, the detailed steps that this action explains. Its key
    `none` counts the detailed steps that do not change the abstract state. `unexplained` counts, by
    detailed action, the steps that no abstract actions explain.
    """

    pairs: int
    explained: Counter[str]
    unexplained: Counter[str]


Pair = tuple[State, State]
Difference = tuple[str, object, object]  # the compared value, and both values


@dataclass
class HistoryMapping(ABC, Generic[R]):
    """Explores both specs together, and explains each detailed step by abstract actions."""

    detailed: R
    taken: Counter[str] = field(default_factory=Counter[str], init=False)  # abstract; "none"
    pairs: int = field(default=0, init=False)

    @cached_property
    @abstractmethod
    def abstract(self) -> Spec: ...

    def first_calls(self, state: State) -> list[Call]:
        """Returns the abstract steps that lead to the initial state of the detailed spec."""
        return []

    @abstractmethod
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        """Returns the abstract actions that explain a step of the detailed spec."""

    @abstractmethod
    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        """Yields the values that must be equal in both states."""

    def disagreement(self, detailed: State, abstract: State) -> str:
        """Returns the first difference between both states; empty if they agree."""
        for name, ours, theirs in self.compared(detailed, abstract):
            if ours != theirs:
                return f"{name}: {ours} in the detailed state, {theirs} in the abstract state"
        return ""

    def first_unexplained(self) -> Unexplained | None:
        """Returns the first step of the detailed spec that no abstract actions explain, or None.

        Explores all reachable pairs of a detailed state and an abstract state.
        """
        found = (reached for _, reached in self._explored())
        return next((one for one in found if isinstance(one, Unexplained)), None)

    def walk(self) -> Walk:
        """Explores all reachable pairs, and goes on after steps that no actions explain."""
        explained, unexplained = Counter[str](), Counter[str]()
        for calls, reached in self._explored():
            if isinstance(reached, Unexplained):
                unexplained[reached.transition.action] += 1
            else:
                explained.update({call.action for call in calls} or {"none"})
        return Walk(pairs=self.pairs, explained=explained, unexplained=unexplained)

    def _explored(self) -> Iterator[tuple[list[Call], State | Unexplained]]:
        """Yields each step of the detailed spec: the abstract actions, and the state after them."""
        todo: list[Pair] = []
        seen: set[tuple[frozenset[object], frozenset[object]]] = set()

        def found(pair: Pair) -> None:
            key = frozenset(pair[0].items()), frozenset(pair[1].items())
            if key not in seen:
                seen.add(key)
                todo.append(pair)

        for pair in self._first_pairs():
            found(pair)
        while todo:
            detailed, abstract = todo.pop()
            self.pairs += 1
            for step in self._steps(detailed):
                calls, reached = self._explained(step, abstract)
                if not isinstance(reached, Unexplained):
                    found((step.after, reached))
                yield calls, reached

    def first_unexplained_of(self, walks: int, *, length: int, seed: int) -> Unexplained | None:
        """Returns the first step of random walks that no abstract actions explain, or None.

        A walk has at most `length` steps of the detailed spec. For constants whose pairs are too
        many to explore.
        """
        rng = Random(seed)
        first = self._first_pairs()
        for _ in range(walks):
            detailed, abstract = rng.choice(first)
            for _ in range(length):
                self.pairs += 1
                steps = [*self._steps(detailed)]
                if not steps:
                    break
                step = rng.choice(steps)
                _, reached = self._explained(step, abstract)
                if isinstance(reached, Unexplained):
                    return reached
                detailed, abstract = step.after, reached
        return None

    def _first_pairs(self) -> list[Pair]:
        pairs: list[Pair] = []
        abstract = self._abstract.initial(self.abstract)[0]  # one of them suffices
        for detailed in self._detailed.initial(self.detailed):
            reached = self._taken(abstract, self.first_calls(detailed))
            assert not isinstance(reached, str), reached
            assert not self.disagreement(detailed, reached), self.disagreement(detailed, reached)
            pairs.append((detailed, reached))
        return pairs

    def _steps(self, before: State) -> Iterator[Transition]:
        for action, values, after in self._detailed.steps(self.detailed, before):
            yield Transition(action.name, values, before, after)

    def _explained(
        self, step: Transition, abstract: State
    ) -> tuple[list[Call], State | Unexplained]:
        """Returns the actions that explain the step, and the state after them; counts them."""
        calls = self.calls(step, abstract)
        reached = self._taken(abstract, calls)
        if isinstance(reached, str):
            return calls, Unexplained(step, reached)
        if difference := self.disagreement(step.after, reached):
            return calls, Unexplained(step, difference)
        self.taken.update(call.action for call in calls)
        self.taken["none"] += not calls
        return calls, reached

    def _taken(self, state: State, calls: Iterable[Call]) -> State | str:
        for call in calls:
            action = self._actions[call.action]
            after = self._abstract.step(action, state, call.arguments)
            if after is None:
                guard = self._abstract.why_disabled(action, state, call.arguments)
                return f"{call} is not allowed: it needs {guard}"
            state = after
        return state

    @cached_property
    def _detailed(self) -> Interpreter:
        return Interpreter.of(self.detailed)

    @cached_property
    def _abstract(self) -> Interpreter:
        return Interpreter.of(self.abstract)

    @cached_property
    def _actions(self) -> Mapping[str, Action]:
        return {action.name: action for action in self.abstract.actions}
