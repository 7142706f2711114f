"""Translates a spec to Promela for SPIN, to compare counts of states and speed.

Every variable has as many bits as it needs. The program is one loop, with one option for each
action and each choice of its parameters. A read at a computed key is a conditional expression over
the possible keys. An action first computes all new values into hidden variables, so it reads only
the state before the step.

Each claim is one more option of the loop. Its guard is true in states in which the claim is false.
Then an assertion fails. So the check of a claim adds no step.

Simplified: claims about steps are not translated. Values outside of their types are not detected,
so only specs without such values may be translated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from math import prod

from checkers.explicit.compile import Code, Compiler, Env, paren
from checkers.explicit.instance import Instance
from model.language import terms as t
from model.language.actions import Action, Claim
from model.language.expressions import SpecError
from model.language.interpreter import Interpreter
from model.language.spec import title_of


def promela(at: Instance, claims: Sequence[Claim] = ()) -> str:
    """Returns the Promela program of a spec. SPIN finds as many states in this program as Urteil's
    engines find in the spec.

    Raises SpecError if the spec has several initial states, or if a claim is about steps.
    """
    compiler = PromelaCompiler(at)
    options = [line for action in at.spec.actions for line in compiler.options(action)]
    options += [compiler.judged(claim) for claim in claims]
    first, *others = map(at.pack, Interpreter(at.ranges).initial(at.spec))
    if others:
        raise SpecError(f"{title_of(at.spec)} has several initial states\n  SPIN needs exactly one")
    cells = [
        f"unsigned {name} : {max(1, (at.size(sort) - 1).bit_length())} = {value};"
        for name, (_, sort), value in zip(compiler.names, at.cells, first, strict=True)
    ]
    hidden = [f"hidden byte new{k};" for k in range(compiler.most)]
    body = ["active proctype model() {", "  do", *options, "  od", "}"]
    return "\n".join([*cells, *hidden, *body]) + "\n"


@dataclass
class PromelaCompiler(Compiler):
    """Compiles the terms of a spec to Promela, for fixed constants such as 3 replicas."""

    most: int = field(default=0)  # cells that one action assigns

    @cached_property
    def names(self) -> list[str]:
        return [
            re.sub(r"\W", "_", "_".join([name, *(str(k).replace("-", "m") for k in keys)]))
            for (name, keys), _ in self.at.cells
        ]

    def options(self, action: Action) -> Iterator[str]:
        """Yields a branch of the `do` loop for each choice of parameters for which the guard may be
        true.
        """
        for values in product(*(range(self.at.size(p.sort)) for p in action.params)):
            env = {p.uid: v for p, v in zip(action.params, values, strict=True)}
            guard = self.joined((self.code(g.formula, env) for g in action.guards), "and", 0)
            if guard != 0:
                written = self.written(action, env)
                self.most = max(self.most, len(written))
                new = [f"new{k} = {code}" for k, code in enumerate(written.values())]
                put = [f"{self.names[cell]} = new{k}" for k, cell in enumerate(written)]
                yield f"  :: d_step {{ {'; '.join([f'({guard})', *new, *put])} }}"

    def judged(self, claim: Claim) -> str:
        """Returns a branch of the `do` loop with an assertion that fails if the claim is false.

        Raises SpecError for a claim about steps.
        """
        if claim.about == "steps":
            raise SpecError(f"{claim.name} is about steps\n  SPIN checks claims about states only")
        holds = self.code(claim.formula, {})
        return f"  :: d_step {{ !({holds}) -> assert(false) }}"

    def written(self, action: Action, env: Env) -> dict[int, Code]:
        """Returns the Promela code for the new value of each cell that the action may change."""
        out: dict[int, Code] = {}
        for write in action.writes:
            for e in self.bindings(write.binders, env):
                value, test = self.in_sort(write.value, e), self.code(write.condition, e)
                for cell, here in self.cells(write.variable, write.keys, e):
                    before = out.get(cell, self.names[cell])
                    both = self.joined([test, here], "and", 0)
                    out[cell] = self.chosen(both, partial(_same, value), partial(_same, before))
        return {cell: code for cell, code in out.items() if code != self.names[cell]}

    def cells(
        self, variable: t.Variable, keys: tuple[t.Node, ...], env: Env
    ) -> list[tuple[int, Code]]:
        """Returns the Promela variables that may represent `variable[keys]`. Each comes with the
        condition that the keys select it.

        Each element of the spec's variable is one Promela variable, which is identified by a
        number.
        """
        sizes = [self.at.size(key) for key in variable.keys]
        codes = [self.in_sort(key, env) for key in keys]
        found: list[tuple[int, Code]] = []
        for values in product(*map(range, sizes)):
            tests = (self.compared("==", c, v) for c, v in zip(codes, values, strict=True))
            here = self.joined(tests, "and", 0)
            if here != 0:
                offset = sum(v * prod(sizes[k + 1 :]) for k, v in enumerate(values))
                found.append((self.at.blocks[variable.name].start + offset, here))
        return found

    # ---- where Promela differs from Python

    def code(self, n: t.Node, env: Env) -> Code:
        match n:
            case t.Get():
                *tested, (last, _) = self.cells(n.variable, n.keys, env)
                found = self.names[last]
                for cell, here in reversed(tested):
                    found = f"({paren(here)} -> {self.names[cell]} : {found})"
                return found
            case t.Not():
                of = self.code(n.of, env)
                return 1 - of if isinstance(of, int) else f"!{paren(of)}"
            case t.Count():
                each = [self.code(n.body, e) for e in self.bindings(n.binders, env)]
                return " + ".join(f"({paren(c)} -> 1 : 0)" for c in each if c != 0) or 0
            case _:
                return super().code(n, env)

    def in_sort(self, value: t.Node, env: Env) -> Code:
        return self.code(value, env)

    @staticmethod
    def chosen(test: Code, then: Callable[[], Code], other: Callable[[], Code]) -> Code:
        if isinstance(test, int):
            return then() if test else other()
        a, b = then(), other()
        return a if a == b else f"({paren(test)} -> {paren(a)} : {paren(b)})"

    @staticmethod
    def joined(codes: Iterable[Code], word: str, absorbing: int) -> Code:
        return Compiler.joined(codes, {"and": "&&", "or": "||"}[word], absorbing)


def _same(code: Code) -> Code:
    return code
