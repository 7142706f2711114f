"""The states of one spec: its initial states, and the enabled and disabled actions of a state, with
the reason why an action is disabled.

The oracle of this module is the interpreter of the spec language: a test compares both on random
walks of every spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, Self

from checkers.explore.scopes import is_wide, near, scope_ranges
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
    """An action with its arguments. `text` is the call in the form in which reports print it."""

    action: Action
    values: tuple[int, ...]
    text: str

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        return self.action.name, self.values


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A call in a state, with the state after the call, or with the reason why the call is not
    possible.

    `guard` is the first false conjunct of the action. `undefined` is the text of the error if a
    term has a value outside its type.
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
    call: Call
    state: RowState


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Computes the initial states of one variant of a spec, and the state after a call of an
    action.

    `scope` is the text with the sizes of the types. If it is empty, the constants of the spec
    determine these sizes.
    """

    variant: Variant
    spec: Spec
    writer: Writer
    interpreter: Interpreter
    stepper: Stepper
    starts: tuple[Start, ...] = field(repr=False)
    scope: str = ""
    judges: dict[t.Node, Eval] = field(default_factory=dict[t.Node, Eval], repr=False)

    @classmethod
    def of(cls, variant: Variant, spec: Spec, scope: str = "") -> Self:
        """Returns a `Walk` through the spec. `scope` has sizes of the spec's types, such as
        `Replica=2`.

        Raises InputFault if the text `scope` is wrong, and SpecError if the sizes that the spec
        itself declares are wrong.
        """
        ranges = scope_ranges(spec, scope) if scope else ranges_of(spec.scope())
        stepper, writer = Stepper.of(spec, ranges), Writer(spec, ranges)
        return cls(
            variant=variant,
            spec=spec,
            writer=writer,
            interpreter=Interpreter(ranges),
            stepper=stepper,
            starts=tuple(_starts(spec, stepper, writer)),
            scope=scope,
        )

    @property
    def title(self) -> str:
        return f"{self.variant.spec} {self.variant.name}"

    def call(self, action: Action, values: Sequence[int]) -> Call:
        return Call(
            action=action, values=tuple(values), text=self.writer.call(action, tuple(values))
        )

    @property
    def wide(self) -> tuple[str, ...]:
        """The types with so many elements that only some of them are tried as arguments of
        actions. The function `near` selects these elements.
        """
        used = {p.sort.name for action in self.spec.actions for p in action.params}
        return tuple(n for n, elements in self.interpreter.ranges.items()
                     if n in used and is_wide(elements))  # fmt: skip

    def calls(self, state: RowState) -> Iterator[Call]:
        """Yields every action with every choice of arguments.

        If a type is large, only some of its elements are chosen: the elements that are values in
        the state, their neighbours, and the least element (`near`).
        """
        ranges = self.interpreter.ranges
        chosen: dict[str, Sequence[int]] = {}
        for action in self.spec.actions:
            for p in action.params:
                if p.sort.name not in chosen:
                    elements = self.interpreter.elements(p.sort)
                    chosen[p.sort.name] = (
                        near(state, p.sort, self.spec, ranges) if is_wide(elements) else elements
                    )
            for values in product(*(chosen[p.sort.name] for p in action.params)):
                yield self.call(action, values)

    def option(self, state: RowState, call: Call) -> Option:
        try:
            guard = self.stepper.why_disabled(call.action, state, call.values)
            if guard is not None:
                return Option(call=call, guard=guard)
            return Option(call=call, after=self.stepper.step(call.action, state, call.values))
        except Undefined as fault:
            return Option(call=call, undefined=str(fault))

    def options(self, state: RowState) -> list[Option]:
        """Returns all calls in a state, enabled or not, in the order of the spec's actions."""
        return [self.option(state, call) for call in self.calls(state)]

    def holds(self, formula: t.Node, state: RowState) -> bool:
        """Returns True if the formula is true in the state. Raises Undefined if a value is
        outside its type.
        """
        judge = self.judges.get(formula)
        if judge is None:
            judge = self.judges[formula] = self.stepper.function(formula, Free())
        return bool(judge(state, {}))

    def why_disabled(self, state: State, option: Option) -> str:
        """Returns the false conjunct of a disabled call as a sentence, with the values of the
        variables in the state.
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
    # Of a wide sort the least element is enough: it is only a value.
    elements = [stepper.ranges[p.sort.name] for p in init.params]
    for values in product(*(e[:1] if is_wide(e) else e for e in elements)):
        state = stepper.step(init, stepper.blank(), values)
        if state is None or (key := tuple(state.values())) in seen:
            continue
        seen.add(key)
        call = Call(action=init, values=values, text=writer.call(init, values))
        yield Start(call=call, state=state)
