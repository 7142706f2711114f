"""Generates the C code of a spec at a fixed scope: its constants, actions and claims.

An action becomes nested loops over its parameters. Each loop processes many states together, and a
bit set marks the states in which all conjuncts evaluated so far are true. Each state that is still
marked at the end is copied, and the assignments of the action change the copy into the successor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod

from checkers.explicit.compiled.expressions import Env, Expressions
from checkers.explicit.compiled.layout import BYTE, Layout
from checkers.explicit.compiled.simd import SimdExpressions
from checkers.explicit.instance import Instance
from model.language import terms as t
from model.language.actions import Action, Claim, Liveness


@dataclass(frozen=True)
class Source:
    """The C code that is generated for one spec: the headers `sizes.h` and `spec.h`, which
    `runtime.c` includes.
    """

    at: Instance
    claims: Sequence[Claim]  # all claims; the search selects some of them at run time
    witnesses: Sequence[Claim]
    lively: Sequence[Liveness] = ()

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.at)

    @property
    def actions(self) -> tuple[Action, ...]:
        return self.at.spec.actions

    @property
    def conjuncts(self) -> int:
        return sum(len(action.guards) for action in self.actions)

    @cached_property
    def first_instances(self) -> tuple[int, ...]:
        """The index of the first instance of each action. One more entry at the end has the number
        of all instances.

        An instance is an action with values of its parameters.
        """
        counts = (prod(self.at.size(p.sort) for p in a.params) for a in self.actions)
        return tuple(accumulate(counts, initial=0))

    @cached_property
    def action_of_instances(self) -> tuple[Action, ...]:
        bounds = zip(self.actions, pairwise(self.first_instances), strict=True)
        return tuple(action for action, (first, end) in bounds for _ in range(first, end))

    def instance(self, number: int) -> tuple[Action, tuple[int, ...]]:
        """Returns the action and the parameter values of the instance with this number."""
        action = self.action_of_instances[number]
        digits = number - self.first_instances[self.actions.index(action)]
        values: list[int] = []
        for p in reversed(action.params):
            digits, raw = divmod(digits, self.at.size(p.sort))
            values.append(self.at.elements(p.sort)[raw])
        return action, tuple(reversed(values))

    @property
    def label_bytes(self) -> int:
        """The number of bytes that the label of a transition needs: 1, 2 or 4. The label is the
        number of an instance (an action with values of its parameters).
        """
        most = max(0, self.first_instances[-1] - 1)
        return next(size for size in (1, 2, 4) if most < 1 << BYTE * size)

    @property
    def sizes(self) -> str:
        places = self.layout.places or [(0, 0, 0)]
        numbers = {
            "CELLS": len(self.at.cells),
            "WORDS": self.layout.words,
            "STATE_BYTES": self.layout.state_bytes,
            "ACTIONS": len(self.actions),
            "CONJUNCTS": self.conjuncts,
            "CLAIMS": len(self.claims),
            "WITNESSES": len(self.witnesses),
            "INSTANCES": self.first_instances[-1],
        }
        numbers_of = {id(action): k for k, action in enumerate(self.actions)}
        actions = [numbers_of[id(action)] for action in self.action_of_instances]
        cells = " ".join(
            f"X({c}, {', '.join(map(str, p))})" for c, p in enumerate(self.layout.places)
        )
        table = ", ".join(
            f"{{~({(1 << width) - 1}ull << {shift}), {word}, {shift}}}"
            for word, shift, width in places
        )
        return "".join(
            [
                f"#define FOR_EVERY_CELL(X) {cells}\n",
                *(f"#define {name} {number}\n" for name, number in numbers.items()),
                "typedef struct { uint64_t others; uint32_t word, shift; } Place;\n",
                f"static const Place PLACE[] = {{{table}}};\n",
                f"static const uint32_t ACTION[] = {{{', '.join(map(str, actions)) or '0'}}};\n",
                f"typedef uint{BYTE * self.label_bytes}_t Label;\n",
            ]
        )

    @property
    def spec(self) -> str:
        out: list[str] = []
        first_conjunct = 0
        for number, action in enumerate(self.actions):
            first_instance = self.first_instances[number]
            out += _ActionText(self.at, action, number, first_conjunct, first_instance).lines()
            first_conjunct += len(action.guards)
        out.append("static void successors(Worker *w, Bits some) {")
        out += [f"  action_{number}(w, some);" for number in range(len(self.actions))]
        out.append("}")
        of_states = {k: c for k, c in enumerate(self.claims) if c.about == "states"}
        of_steps = {k: c for k, c in enumerate(self.claims) if c.about == "steps"}
        out += self._table("StateClaim", "claim_of_states", of_states, len(self.claims))
        out += self._table("StepClaim", "claim_of_steps", of_steps, len(self.claims))
        witnesses = dict(enumerate(self.witnesses))
        out += self._table("StateClaim", "witness", witnesses, len(witnesses))
        out += self._formulas()
        return "\n".join(out) + "\n"

    def _formulas(self) -> list[str]:
        out: list[str] = []
        formulas = [(c, formula) for c in self.lively for formula in (c.premise, c.goal)]
        for number, (claim, formula) in enumerate(formulas):
            names = {p.uid: f"values[{k}]" for k, p in enumerate(claim.params)}
            out += [
                f"// {claim.name}",
                f"static Bits lively_{number}(Worker *w, Bits some, const int *values) {{",
                f"  {left(formula, names, Expressions(self.at))}",
                "  return left;\n}",
            ]
        names_of_all = ", ".join(f"lively_{k}" for k in range(len(formulas)))
        return [*out, f"static const Lively lively[] = {{{names_of_all or '0'}}};"]

    def _table(self, kind: str, name: str, claims: Mapping[int, Claim], size: int) -> list[str]:
        out: list[str] = []
        for number, claim in claims.items():
            expressions = Expressions(self.at)
            out.append(f"// {claim.name}")
            if kind == "StepClaim":
                takes = "Worker *w, uint32_t k, const uint8_t *after"
                returned = expressions.code(claim.formula, {})
                out.append(f"static int {name}_{number}({takes}) {{")
            else:
                returned = "left"
                out.append(f"static Bits {name}_{number}(Worker *w, Bits some) {{")
                out.append(f"  {left(claim.formula, {}, expressions)}")
            out.append(f"  return {returned};\n}}")
        names = ", ".join(f"{name}_{k}" if k in claims else "0" for k in range(size))
        return [*out, f"static const {kind} {name}[] = {{{names or '0'}}};"]


def left(formula: t.Node, env: Env, expressions: Expressions) -> str:
    simd = SimdExpressions(expressions)
    if simd.takes(formula):
        return f"const Bits left = some & which({simd.code(formula, env)});"
    test = expressions.code(formula, env)
    return f"Bits left = some; FOR_EACH(k, some) if (!{test}) left &= ~BIT(k);"


@dataclass
class _ActionText:
    at: Instance
    action: Action
    number: int
    first_conjunct: int
    first_instance: int

    def lines(self) -> list[str]:
        self.out = [
            f"// {self.action.name}",
            f"static void action_{self.number}(Worker *w, Bits some) {{",
        ]
        self.expressions = Expressions(self.at)
        self._level(0, {}, 0)
        return [*self.out, "}"]

    def _level(self, depth: int, env: Env, done: int) -> None:
        params = self.action.params
        pad = "  " * (depth + 1)
        bound = {p.uid for p in params[:depth]}
        later = {p.uid for p in params} - bound
        instances = prod(self.at.size(p.sort) for p in params[depth:])
        opened = 0
        while tested := self._tested_together(done, later):
            self.out += [pad + line for line in self._test(done, tested, env, instances)]
            self.out.append(f"{pad}if (left) {{ const Bits some = left;")
            opened += 1
            done += len(tested)
        if depth < len(params):
            x, size = f"p{depth}", self.at.size(params[depth].sort)
            self.out.append(f"{pad}for (int {x} = 0; {x} < {size}; {x}++) {{")
            self._level(depth + 1, {**env, params[depth].uid: x}, done)
            self.out.append(f"{pad}}}")
        else:
            self.out.append(f"{pad}FOR_EACH(k, some) {{")
            self._writes(env, pad + "  ")
            self.out.append(f"{pad}}}")
        if opened:
            self.out.append(pad + "}" * opened)

    def _tested_together(self, done: int, later: set[int]) -> list[t.Node]:
        """Returns the next guards that are tested before a branch: several SIMD guards without a
        loop, or one other guard. A branch after each SIMD guard would often be mispredicted.
        """
        found: list[t.Node] = []
        for guard in self.action.guards[done:]:
            short = self._simd.is_short(guard.formula)
            if t.locals_of(guard.formula) & later or (found and not short):
                break
            found.append(guard.formula)
            if not short:
                break
        return found

    def _test(self, done: int, tested: list[t.Node], env: Env, instances: int) -> list[str]:
        """Returns C code that tests the guards `tested`. In the C code, the bit set `left` becomes
        the states of the bit set `some` in which all these guards are true.

        `done` is the number of guards that earlier code tests.
        """
        first = self.first_conjunct + done
        if not self._simd.takes(tested[0]):
            code = left(tested[0], env, self.expressions)
            return [code, f"MISSED({first}, ~left, {instances});"]
        out = ["Many all = every(-1), one;"]
        for number, formula in enumerate(tested, first):
            out.append(f"one = {self._simd.code(formula, env)};")
            out.append(f"MISSED({number}, which(all & ~one), {instances});")
            out.append("all &= one;")
        return [*out, "const Bits left = some & which(all);"]

    @property
    def _simd(self) -> SimdExpressions:
        return SimdExpressions(self.expressions)

    def _writes(self, env: Env, pad: str) -> None:
        bound = frozenset(p.uid for p in self.action.params)
        for write in self.action.writes:
            for n in self.expressions.shareable(write, bound).values():
                if id(n) not in self.expressions.named:
                    name = self.expressions.fresh("v")
                    self.out.append(f"{pad}const int {name} = {self.expressions.code(n, env)};")
                    self.expressions.named[id(n)] = name
        self.out.append(f"{pad}Packed to = w->packed[k];")
        for write in self.action.writes:
            inner, heads = dict(env), ""
            for binder in write.binders:
                x = inner[binder.uid] = self.expressions.fresh("x")
                size = self.at.size(binder.sort)
                heads += f"for (int {x} = 0; {x} < {size}; {x}++) "
            test = self.expressions.code(write.condition, inner)
            heads += "" if test == "1" else f"if ({test}) "
            cell = self.expressions.cell(write.variable, write.keys, inner)
            value = self.expressions.in_sort(write.value, inner)
            self.out.append(f"{pad}{heads}put(&to, {cell}, {value});")
        self.out.append(f"{pad}emit(w, k, &to, {self._instance(env)});")

    def _instance(self, env: Env) -> str:
        """Returns C code for the number of the instance (an action with values of its parameters).

        `env` maps each parameter to the name of its C variable.
        """
        code = "0"
        for p in self.action.params:
            code = f"({code} * {self.at.size(p.sort)} + {env[p.uid]})"
        return f"{self.first_instance} + {code}"
