"""A behaviour of a spec (a sequence of states and actions), built action by action.

Trace validation follows a run of brokers, and chooses each action of the spec with all its
arguments. A `Behaviour` stores the current state of the spec. `model.language.stepping` evaluates
the guards and computes the next state. An action may also set variables that the run does not
determine. For example, one variable stores which leader committed a record first.

A *sort* is a type of the spec with numbered elements, such as the type of offsets. Each sort has as
many elements as the run needs. The number of elements is unlimited (`ANY`) if no variable of the
spec is a map with keys of this sort.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

from model.language.actions import Action, Guard
from model.language.interpreter import Undefined, Value
from model.language.rows import RowState
from model.language.spec import Spec
from model.language.stepping import Stepper

ANY: Final = range(2**63)  # the size of a sort that is no key of a variable


class Call(NamedTuple):
    """An action of the spec, with its arguments.

    If the spec refuses the action, the run violates the spec. But if `maybe` is True, a refused
    action is skipped.
    """

    action: str
    arguments: tuple[int, ...] = ()
    maybe: bool = False

    def __str__(self) -> str:
        return f"{self.action}({', '.join(map(str, self.arguments))})"


class Refusal(NamedTuple):
    """The reason why the spec refuses an action: a condition of the guard is false, or a term of
    the action is undefined in the current state.
    """

    action: Action
    arguments: tuple[int, ...]
    conjunct: Guard | str  # a text if a term of the action is undefined

    def __str__(self) -> str:
        values = zip(self.action.params, self.arguments, strict=True)
        arguments = ", ".join(f"{parameter.name}={value}" for parameter, value in values)
        return f"{self.action.name}({arguments}) is not allowed: it needs {self.conjunct}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Taken:
    """An action that a behaviour (a sequence of steps of a spec) has performed, linked to the
    previous action.

    A behaviour and its forks share the actions before the fork.
    """

    call: Call
    before: Taken | None


@dataclass(slots=True)
class Behaviour:
    """The current state of a spec, and the actions that led from an initial state of the spec to
    this state.

    The first actions prepare the state in which a run of brokers begins. `preparation` is the last
    of them. The property `taken` counts the actions after `preparation`.
    """

    spec: Spec
    stepper: Stepper
    state: RowState
    start: tuple[int, ...] = ()  # the arguments of `Init`
    last: Taken | None = None
    preparation: Taken | None = None

    @classmethod
    def initial(
        cls, spec: Spec, sorts: Mapping[str, int | range], chosen: Sequence[int] = ()
    ) -> Self:
        """Returns a behaviour that is in an initial state of the spec.

        `sorts` maps each type of the spec to the number of its elements or to their range. `chosen`
        has values for the parameters of the spec's `Init`, such as the first leader.
        """
        ranges = {n: s if isinstance(s, range) else range(s) for n, s in sorts.items()}
        stepper = Stepper.of(spec, {"Bool": range(2), **ranges})
        state = stepper.step(spec.initial, stepper.blank(), chosen)
        assert state is not None, "an initial state is assigned without a guard"
        return cls(spec, stepper, state, tuple(chosen))

    def take(self, call: Call) -> Refusal | None:
        """Performs the action and returns None. If the spec refuses the action, the state does not
        change, and the reason is returned.
        """
        action = self.stepper.actions[call.action]
        try:
            after = self.stepper.step(action, self.state, call.arguments)
        except Undefined as fault:
            return Refusal(action, call.arguments, f"a value that exists: {fault.what}")
        if after is None:
            guard = self.stepper.why_disabled(action, self.state, call.arguments)
            assert guard is not None, "a disabled action has a false conjunct"
            return Refusal(action, call.arguments, guard)
        self.state = after
        self.last = Taken(call, self.last)
        return None

    def end_preparation(self) -> None:
        self.preparation = self.last

    def fork(self) -> Self:
        return replace(self)

    @property
    def taken(self) -> Counter[str]:
        """Returns how often each action was performed, without the actions that prepared the
        initial state.
        """
        return Counter(call.action for call in calls_between(self.preparation, self.last))

    @property
    def never_taken(self) -> tuple[str, ...]:
        taken = self.taken
        return tuple(a.name for a in self.spec.actions if not taken[a.name])


def calls_between(first: Taken | None, last: Taken | None) -> tuple[Call, ...]:
    """Returns the actions that were performed after `first`, up to and including `last`, in their
    order. If `first` is None, the result begins with the first action of the behaviour.
    """
    return tuple(_backwards(first, last))[::-1]


def _backwards(first: Taken | None, last: Taken | None) -> Iterator[Call]:
    while last is not first:
        assert last is not None, "`first` is one of the actions before `last`"
        yield last.call
        last = last.before


def as_int(value: Value) -> int:
    assert value is not None
    return int(value)
