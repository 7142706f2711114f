"""Explores a detailed spec and an abstract spec together, step by step.

A *detailed spec* is close to Kafka's code, and an *abstract spec* is small enough to be proved. The
abstract state may contain facts about the past that the detailed state does not contain. So no
function can compute the abstract state from the detailed state. Instead, `calls` maps each detailed
step to a list of abstract actions that explain the step. The list may be empty. The abstract spec
must allow each of these actions, and both states must agree after the step (`disagreement`). All
pairs of states that are reached in this way are explored.

Source: Lamport, Specifying Systems, chapter 5.8; Abadi and Lamport, The Existence of Refinement
Mappings (history variables).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Generic, NamedTuple, TypeVar

from model.language import Spec
from model.language.interpreter import Interpreter, State
from model.language.spec import Action
from properties.refinement.behaviour import Call

R = TypeVar("R", bound=Spec)


class Transition(NamedTuple):
    action: str
    arguments: tuple[int, ...]
    before: State
    after: State


class Unexplained(NamedTuple):
    """A step of the detailed spec that the abstract spec does not allow, and the reason."""

    transition: Transition
    reason: str

    def __str__(self) -> str:
        named = Call(self.transition.action, self.transition.arguments)
        return f"{named}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The numbers of explained and unexplained steps in an exploration of both specs, or in random
    walks.

    `pairs` is the number of visits of a pair of states: one of the detailed spec, and one of the
    abstract spec. `explained` has, for each abstract action, the number of detailed steps that the
    action explains. A step that does not change the abstract state counts as `none`. `unexplained`
    lists the steps that no abstract actions explain.
    """

    pairs: int
    explained: Counter[str]
    unexplained: list[Unexplained]


Pair = tuple[State, State]
Explained = tuple[list[Call], State | Unexplained]  # the actions, and the abstract state after them
Difference = tuple[str, object, object]  # the compared value, and both values


@dataclass
class HistoryMapping(ABC, Generic[R]):
    """Explores a detailed spec, close to Kafka's code, together with an abstract spec, which is
    proved.

    The actions of the abstract spec must explain every step of the detailed spec.
    """

    detailed: R

    @cached_property
    @abstractmethod
    def abstract(self) -> Spec: ...

    def first_calls(self, state: State) -> list[Call]:
        """Returns the abstract actions that lead from the abstract initial state to the abstract
        state that corresponds to the detailed initial state. Without an override, the list is
        empty.
        """
        return []

    @abstractmethod
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        """Returns the abstract actions that explain a step of the detailed spec, in their order.
        The list is empty if the step does not change the abstract state.
        """

    @abstractmethod
    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        """Yields all values to compare as (name, detailed value, abstract value). Equal values are
        also yielded.
        """

    def disagreement(self, detailed: State, abstract: State) -> str:
        """Returns the first difference between the two states as text, or an empty text if they
        agree.
        """
        for name, ours, theirs in self.compared(detailed, abstract):
            if ours != theirs:
                return f"{name}: {ours} in the detailed state, {theirs} in the abstract state"
        return ""

    def first_unexplained(self) -> Unexplained | None:
        """Explores all pairs of states, and returns the first step that no abstract actions
        explain. Returns None if every step is explained.
        """
        steps = (step for _, taken in self._explored() for step in taken)
        return next((reached for _, reached in steps if isinstance(reached, Unexplained)), None)

    def walk(self) -> Walk:
        """Explores all reachable pairs of states, and counts their steps. The exploration continues
        after a step that no abstract actions explain.
        """
        return _counted(self._explored())

    def random_walks(self, walks: int, *, length: int, seed: int) -> Walk:
        """Makes `walks` random walks, and counts their steps. A walk goes from pair to pair. Each
        pair has a state of the detailed spec and a state of the abstract spec.

        Random walks are for specs with too many pairs for `walk`, which explores all of them. A
        walk has at most `length` steps of the detailed spec. A walk ends earlier at a step that no
        abstract actions explain, or in a state without steps.
        """
        return _counted(self._walked(walks, length, Random(seed)))

    def _explored(self) -> Iterator[tuple[Pair, list[Explained]]]:
        todo: list[Pair] = []
        seen: set[tuple[frozenset[object], frozenset[object]]] = set()

        def found(pair: Pair) -> None:
            key = frozenset(pair[0].items()), frozenset(pair[1].items())
            if key not in seen:
                seen.add(key)
                todo.append(pair)

        for first in self._first_pairs():
            found(first)
        while todo:
            pair = todo.pop()
            explained: list[Explained] = []
            for step in self._steps(pair[0]):
                calls, reached = self._explained(step, pair[1])
                explained.append((calls, reached))
                if not isinstance(reached, Unexplained):
                    found((step.after, reached))
            yield pair, explained

    def _walked(
        self, walks: int, length: int, rng: Random
    ) -> Iterator[tuple[Pair, list[Explained]]]:
        first = self._first_pairs()
        for _ in range(walks):
            pair = rng.choice(first)
            for _ in range(length):
                steps = [*self._steps(pair[0])]
                if not steps:
                    break
                step = rng.choice(steps)
                calls, reached = self._explained(step, pair[1])
                yield pair, [(calls, reached)]
                if isinstance(reached, Unexplained):
                    break
                pair = step.after, reached

    def _first_pairs(self) -> list[Pair]:
        return [
            (first, self._counterpart(first)) for first in self._detailed.initial(self.detailed)
        ]

    def _counterpart(self, detailed: State) -> State:
        """Returns the abstract state that corresponds to `detailed`, an initial state of the
        detailed spec.

        It is an initial state of the abstract spec, changed by the actions of `first_calls`. Raises
        AssertionError if no such abstract state agrees with `detailed`.
        """
        reasons: list[str] = []
        for abstract in self._abstract.initial(self.abstract):  # the first that agrees suffices
            reached = self._taken(abstract, self.first_calls(detailed))
            if isinstance(reached, str):
                reasons.append(reached)
            elif difference := self.disagreement(detailed, reached):
                reasons.append(difference)
            else:
                return reached
        raise AssertionError(reasons[0])

    def _steps(self, before: State) -> Iterator[Transition]:
        for action, values, after in self._detailed.steps(self.detailed, before):
            yield Transition(action.name, values, before, after)

    def _explained(self, step: Transition, abstract: State) -> Explained:
        """Returns the abstract actions for the step, and the abstract state after these actions. If
        the abstract actions do not explain the step, an `Unexplained` with the reason replaces the
        state.
        """
        calls = self.calls(step, abstract)
        reached = self._taken(abstract, calls)
        if isinstance(reached, str):
            return calls, Unexplained(step, reached)
        if difference := self.disagreement(step.after, reached):
            return calls, Unexplained(step, difference)
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


def _counted(taken: Iterable[tuple[Pair, list[Explained]]]) -> Walk:
    pairs, explained, unexplained = 0, Counter[str](), list[Unexplained]()
    for _, steps in taken:
        pairs += 1
        for calls, reached in steps:
            if isinstance(reached, Unexplained):
                unexplained.append(reached)
            else:
                explained.update({call.action for call in calls} or {"none"})
    return Walk(pairs=pairs, explained=explained, unexplained=unexplained)
