"""A mapping of states: each step of a detailed spec corresponds to steps of an abstract spec.

A *detailed spec* is close to Kafka's code, and an *abstract spec* is small enough to be proved. The
mapping computes an abstract state from each detailed state. For each detailed step, abstract
actions must lead from the abstract state before the step to the abstract state after the step. In
each detailed state and in its abstract state, the specs must also accept the same requests.

Source: Lamport, Specifying Systems, chapter 5.8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from model.language import terms as t
from model.language.interpreter import Interpreter, State
from model.language.spec import Action, Spec
from properties.refinement.behaviour import Call

R = TypeVar("R", bound=Spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    action: str
    arguments: tuple[int, ...]
    before: State
    after: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two predicates that must have the same value: a predicate of the detailed spec and a
    predicate of the abstract spec.

    The predicates are compared once for each entry of `of`. An entry has a value for each parameter
    of the two predicates.
    """

    detailed: t.Node
    abstract: t.Node
    of: Sequence[Mapping[int, int]]  # the values of the variables, by their uid


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The numbers of explained and unexplained steps in an exploration of the detailed spec.

    `explained` has, for each abstract action, how often the action is needed to explain a detailed
    step. A step that does not change the abstract state counts as `none`. `unexplained` has, for
    each detailed action, the number of its steps that no abstract actions explain. `disagreements`
    is the number of states in which predicates of both specs have different values.
    """

    states: int
    explained: Counter[str]
    unexplained: Counter[str]
    disagreements: int


@dataclass(frozen=True)
class StateMapping(ABC, Generic[R]):
    """Maps each state and step of a detailed spec, close to Kafka's code, to an abstract spec,
    which is proved.

    The abstract spec must allow all mapped steps.
    """

    detailed: R

    @cached_property
    @abstractmethod
    def abstract(self) -> Spec: ...

    @abstractmethod
    def abstraction(self, state: State) -> State:
        """Returns the abstract state that corresponds to a state of the detailed spec."""

    @abstractmethod
    def calls(self, step: Step) -> list[Call]:
        """Returns the abstract actions that correspond to a detailed step, in the order of their
        execution.
        """

    @abstractmethod
    def agreements(self) -> list[Agreement]:
        """Returns pairs of predicates, one of each spec. Both predicates of a pair must have the
        same value in every detailed state and its abstract state.
        """

    def walk(self) -> Walk:
        """Explores the detailed spec, and returns how many of its steps the abstract actions
        explain.

        The exploration continues after a step that no abstract actions explain.
        """
        explained, unexplained, disagreements = Counter[str](), Counter[str](), 0
        todo = self._detailed.initial(self.detailed)
        first = self._abstract.initial(self.abstract)
        assert all(self.abstraction(state) in first for state in todo)
        seen = {frozenset(state.items()) for state in todo}
        while todo:
            before = todo.pop()
            disagreements += not self.agree(before)
            for step in self._steps(before):
                calls = self.calls(step)
                if self.explains(calls, step):
                    explained.update([call.action for call in calls] or ["none"])
                else:
                    unexplained[step.action] += 1
                key = frozenset(step.after.items())
                if key not in seen:
                    seen.add(key)
                    todo.append(step.after)
        return Walk(
            states=len(seen),
            explained=explained,
            unexplained=unexplained,
            disagreements=disagreements,
        )

    def _steps(self, before: State) -> Iterator[Step]:
        for action, arguments, after in self._detailed.steps(self.detailed, before):
            yield Step(action=action.name, arguments=arguments, before=before, after=after)

    def explains(self, calls: list[Call], step: Step) -> bool:
        """Returns True if the abstract spec allows the actions one after another, and they lead
        from the abstract state before the step to the abstract state after the step.
        """
        state = self.abstraction(step.before)
        for call in calls:
            reached = self._abstract.step(self._actions[call.action], state, call.arguments)
            if reached is None:
                return False
            state = reached
        return state == self.abstraction(step.after)

    def agree(self, detailed: State) -> bool:
        """Returns True if the two predicates of every `Agreement` have the same value. The first
        predicate is evaluated in the state `detailed`, and the second one in the corresponding
        abstract state.
        """
        abstract = self.abstraction(detailed)
        return all(
            self._detailed.holds(one.detailed, detailed, env)
            == self._abstract.holds(one.abstract, abstract, env)
            for one in self._agreements
            for env in one.of
        )

    @cached_property
    def _agreements(self) -> list[Agreement]:
        return self.agreements()

    @cached_property
    def _detailed(self) -> Interpreter:
        return Interpreter.of(self.detailed)

    @cached_property
    def _abstract(self) -> Interpreter:
        return Interpreter.of(self.abstract)

    @cached_property
    def _actions(self) -> Mapping[str, Action]:
        return {action.name: action for action in self.abstract.actions}
