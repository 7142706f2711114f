"""The C of one instance: its sizes, its actions, its claims; `runtime.c` is the search around them.

An action is nested loops over its parameters; each conjunct of its guard is tested as far out as
the parameters that it mentions allow, and counts what it disables when coverage is asked for. A
successor starts as the stored state before, and writes are masked into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from checkers.explicit.compiled.expressions import Env, Expressions
from checkers.explicit.compiled.layout import Layout
from checkers.explicit.instance import Instance
from model.language import terms as t
from model.language.actions import Action, Claim


@dataclass(frozen=True)
class Source:
    """What `runtime.c` includes: `sizes.h` at its head, `spec.h` in its middle."""

    at: Instance
    claims: Sequence[Claim]  # all that could be asked for: which are, is said at run time
    witnesses: Sequence[Claim]

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.at)

    @property
    def actions(self) -> tuple[Action, ...]:
        return self.at.spec.actions

    @property
    def conjuncts(self) -> int:
        return sum(len(action.guards) for action in self.actions)

    @property
    def sizes(self) -> str:
        """`sizes.h`."""
        places = self.layout.places or [(0, 0, 0)]
        columns = zip(*places, strict=True)
        numbers = {
            "CELLS": len(self.at.cells),
            "WORDS": self.layout.words,
            "STATE_BYTES": self.layout.state_bytes,
            "ACTIONS": len(self.actions),
            "CONJUNCTS": self.conjuncts,
            "CLAIMS": len(self.claims),
            "WITNESSES": len(self.witnesses),
            "JUDGES_STEPS": int(any(c.about == "steps" for c in self.claims)),
        }
        cells = " ".join(
            f"X({c}, {', '.join(map(str, p))})" for c, p in enumerate(self.layout.places)
        )
        return "".join(
            [
                f"#define FOR_EVERY_CELL(X) {cells}\n",
                *(f"#define {name} {number}\n" for name, number in numbers.items()),
                *(
                    f"static const uint8_t {name}[] = {{{', '.join(map(str, column))}}};\n"
                    for name, column in zip(("WORD", "SHIFT", "WIDTH"), columns, strict=True)
                ),
            ]
        )

    @property
    def spec(self) -> str:
        """`spec.h`."""
        out: list[str] = []
        first_conjunct = 0
        for number, action in enumerate(self.actions):
            out += _ActionText(self.at, action, number, first_conjunct).lines()
            first_conjunct += len(action.guards)
        out.append("static void successors(Shard *w, const Packed *from, const uint8_t *s) {")
        out += [f"  action_{number}(w, from, s);" for number in range(len(self.actions))]
        out.append("}")
        for kind, claims in (("claim", self.claims), ("witness", self.witnesses)):
            for number, claim in enumerate(claims):
                code = Expressions(self.at).code(claim.formula, {})
                head = f"static int {kind}_{number}(Shard *w, const uint8_t *restrict s)"
                out.append(f"{head} {{  // {claim.name}\n  return {code};\n}}")
            names = ", ".join(f"{kind}_{number}" for number in range(len(claims)))
            out.append(f"static const Predicate {kind}_is_true[] = {{{names or '0'}}};")
        about = ", ".join(str(int(c.about == "steps")) for c in self.claims)
        out.append(f"static const uint8_t about_steps[] = {{{about or '0'}}};")
        return "\n".join(out) + "\n"


@dataclass
class _ActionText:
    at: Instance
    action: Action
    number: int
    first_conjunct: int

    def lines(self) -> list[str]:
        self.out = [
            f"// {self.action.name}",
            f"static void action_{self.number}"
            "(Shard *w, const Packed *from, const uint8_t *restrict s) {",
        ]
        self.expressions = Expressions(self.at)
        self._level(0, {}, 0)
        return [*self.out, "}"]

    def _level(self, depth: int, env: Env, done: int) -> None:
        """The conjuncts that need no more parameters, then the loop over the next one."""
        params = self.action.params
        pad = "  " * (depth + 1)
        bound = {p.uid for p in params[:depth]}
        later = {p.uid for p in params} - bound
        instances = prod(self.at.size(p.sort) for p in params[depth:])
        opened = 0
        while done < len(self.action.guards):
            formula = self.action.guards[done].formula
            if t.locals_of(formula) & later:
                break
            test = self.expressions.code(formula, env)
            missed = f"MISSED({self.first_conjunct + done}, {instances})"
            self.out.append(f"{pad}if (!{test}) {missed}; else {{")
            opened += 1
            done += 1
        if depth < len(params):
            x, size = f"p{depth}", self.at.size(params[depth].sort)
            self.out.append(f"{pad}for (int {x} = 0; {x} < {size}; {x}++) {{")
            self._level(depth + 1, {**env, params[depth].uid: x}, done)
            self.out.append(f"{pad}}}")
        else:
            self._writes(env, pad)
        if opened:
            self.out.append(pad + "}" * opened)

    def _writes(self, env: Env, pad: str) -> None:
        """The successor: later writes to a cell come later, so they stay."""
        bound = frozenset(p.uid for p in self.action.params)
        for write in self.action.writes:
            for n in self.expressions.shareable(write, bound).values():
                if id(n) not in self.expressions.named:
                    name = self.expressions.fresh("v")
                    self.out.append(f"{pad}const int {name} = {self.expressions.code(n, env)};")
                    self.expressions.named[id(n)] = name
        self.out.append(f"{pad}Packed to = *from;")
        for write in self.action.writes:
            inner, heads = dict(env), ""
            for binder in write.binders:
                x = inner[binder.uid] = self.expressions.fresh("x")
                size = self.at.size(binder.sort)
                heads += f"for (int {x} = 0; {x} < {size}; {x}++) "
            test = self.expressions.code(write.condition, inner)
            heads += "" if test == "1" else f"if ({test}) "
            cell = self.expressions.cell(write.variable, write.keys, inner)
            value = self.expressions.kept(write.value, inner)
            self.out.append(f"{pad}{heads}put(&to, {cell}, {value});")
        self.out.append(f"{pad}emit(w, from, s, &to, {self.number});")
