"""The states of one spec: initial states, enabled actions, and disabled ones with the reason.

The oracle is the interpreter of the language. A test compares it with this module in the states of
random walks of every spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, Self

from checkers.report.sentences import Sentences
from model.language import terms as t
from model.language.actions import Action, Guard
from model.language.explain import why_false
from model.language.interpreter import Interpreter, State, Undefined
from model.language.narrowing import Free
from model.language.rows import RowState
from model.language.scope import ranges_of
from model.language.spec import Spec
from model.language.stepping import Eval, Stepper
from model.language.values import Writer
from model.variants import Variant

Kind = Literal["enabled", "disabled", "undefined"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An action with values for its parameters; `text` is the call as reports print it."""

    action: Action
    values: tuple[int, ...]
    text: str

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        return self.action.name, self.values


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A call in one state, with the state after it, or the reason why there is none.

    For a disabled call, `guard` is its first false conjunct. For a call that reaches an undefined
    term, `undefined` is the error.
    """

    call: Call
    after: RowState | None = None
    guard: Guard | None = None
    undefined: str = ""

    @property
    def kind(self) -> Kind:
        if self.undefined:
            return "undefined"
        return "disabled" if self.after is None else "enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """An initial state, and the call of `init` that makes it."""

    call: Call
    state: RowState


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Computes states of one variant of a spec: the initial ones, and the next after an action.

    The constants of the spec have fixed values.
    """

    variant: Variant
    spec: Spec
    writer: Writer
    interpreter: Interpreter
    stepper: Stepper
    starts: tuple[Start, ...] = field(repr=False)
    judges: dict[t.Node, Eval] = field(default_factory=dict[t.Node, Eval], repr=False)

    @classmethod
    def of(cls, variant: Variant, spec: Spec) -> Self:
        """Returns an object that computes the states of the spec, step by step.

        Raises SpecError if the spec's scope (the finite sizes of its sorts) is unusable.
        """
        ranges = ranges_of(spec.scope())
        stepper, writer = Stepper.of(spec, ranges), Writer(spec, ranges)
        return cls(
            variant=variant,
            spec=spec,
            writer=writer,
            interpreter=Interpreter(ranges),
            stepper=stepper,
            starts=tuple(_starts(spec, stepper, writer)),
        )

    @property
    def title(self) -> str:
        return f"{self.variant.spec} {self.variant.name}"

    def call(self, action: Action, values: Sequence[int]) -> Call:
        return Call(
            action=action, values=tuple(values), text=self.writer.call(action, tuple(values))
        )

    def calls(self) -> Iterator[Call]:
        """Yields every action with every choice of values for its parameters."""
        for action in self.spec.actions:
            for values in self.interpreter.calls(action):
                yield self.call(action, values)

    def option(self, state: RowState, call: Call) -> Option:
        """Returns the next state after the call (an action with its parameters), or why there is
        none.
        """
        try:
            guard = self.stepper.why_disabled(call.action, state, call.values)
            if guard is not None:
                return Option(call=call, guard=guard)
            return Option(call=call, after=self.stepper.step(call.action, state, call.values))
        except Undefined as fault:
            return Option(call=call, undefined=str(fault))

    def options(self, state: RowState) -> list[Option]:
        """Returns an `Option` for every action with every choice of arguments, enabled or not.

        The options are in the order of the spec's actions.
        """
        return [self.option(state, call) for call in self.calls()]

    def holds(self, formula: t.Node, state: RowState) -> bool:
        """True if the formula is true in the state; raises Undefined for an undefined term."""
        judge = self.judges.get(formula)
        if judge is None:
            judge = self.judges[formula] = self.stepper.function(formula, Free())
        return bool(judge(state, {}))

    def why_disabled(self, state: State, option: Option) -> str:
        """Returns the false conjunct as a sentence with the values of the state.

        For a quantified formula, the sentence names the elements for which the formula is false.
        """
        assert option.guard is not None
        bindings = dict(zip(option.call.action.params, option.call.values, strict=True))
        env = {p.uid: v for p, v in bindings.items()}
        reason = why_false(self.interpreter, option.guard.formula, state, env)
        chosen = {**bindings, **reason.chosen}
        sentence = Sentences(self.writer, state, chosen, option.call.action.names).sentence
        elements = ", ".join(
            f"{b.name} {self.writer.value(v, b.sort)}" for b, v in reason.chosen.items()
        )
        premises = " and ".join(sentence(p) for p in reason.premises if not isinstance(p, t.Const))
        return "".join(
            [
                f"for {elements}: " if elements else "",
                f"as {premises}: " if premises else "",
                sentence(reason.conjunct),
            ]
        )


def _starts(spec: Spec, stepper: Stepper, writer: Writer) -> Iterator[Start]:
    seen: set[tuple[object, ...]] = set()
    init = spec.initial
    for values in product(*(stepper.ranges[p.sort.name] for p in init.params)):
        state = stepper.step(init, stepper.blank(), values)
        if state is None or (key := tuple(state.values())) in seen:
            continue
        seen.add(key)
        call = Call(action=init, values=values, text=writer.call(init, values))
        yield Start(call=call, state=state)
