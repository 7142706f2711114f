"""Compiles the actions of a spec to one Python function that computes the successors of a state.

In the generated code, `s` is the state before the step, and `t` is the state after the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from checkers.explicit.compile import BUILT_IN, Code, Compiler, Env, can_fail, paren
from checkers.explicit.instance import Instance, Packed
from model.language import terms as t
from model.language.spec import Action

Emit = Callable[[tuple[int, Packed]], None]
INLINE = 24  # characters: longer code that is assigned twice becomes a local variable


@dataclass
class Program:
    at: Instance
    labels: list[tuple[Action, tuple[int, ...]]] = field(default_factory=list)  # of transitions
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.compiler = Compiler(self.at)
        self.names: dict[str, Any] = dict(BUILT_IN)
        self.lines.append("def successors(s, out):")
        for action in self.at.spec.actions:
            self._unroll(action, 0, {}, 0, "    ")
        self.lines.append("    return None")
        exec("\n".join(self.lines), self.names)
        self.successors: Callable[[Packed, Emit], None] = self.names["successors"]

    def predicate(self, formula: t.Node, env: Env | None = None) -> Callable[[Packed], bool]:
        """Returns a function that evaluates the formula in a packed state (one byte for each
        value).

        The function raises Undefined if a value is outside its type. If the formula is about steps,
        the argument of the function is the packed state before the step, followed by the packed
        state after the step. `env` has the values of the parameters of the formula.
        """
        source = f"lambda s: {self.compiler.code(formula, env or {})}"
        made: Callable[[Packed], bool] = eval(source, self.names)
        return made

    def initial(self) -> list[Packed]:
        action = self.at.spec.initial
        blank = bytes(len(self.at.cells))
        states: dict[Packed, None] = {}
        for values in product(*(range(self.at.size(p.sort)) for p in action.params)):
            env = {p.uid: v for p, v in zip(action.params, values, strict=True)}
            guards = [paren(self.compiler.code(g.formula, env)) for g in action.guards]
            lines = ["def initial(s):"]
            lines += [f"    if not {guard}: return None" for guard in guards]
            lines += ["    t = bytearray(s)", *self._assignments(action, env, "    ")]
            lines += ["    return bytes(t)"]
            names = dict(self.names)
            exec("\n".join(lines), names)
            state = names["initial"](blank)
            if state is not None:
                states[state] = None
        return list(states)

    # ---- source

    def _unroll(self, action: Action, depth: int, env: dict[int, int], done: int, pad: str) -> None:
        bound = {p.uid for p in action.params[:depth]}
        params = {p.uid for p in action.params}
        tests: list[str] = []
        never = False
        while done < len(action.guards) and not never:
            formula = action.guards[done].formula
            if not t.locals_of(formula) & params <= bound:
                break
            code = self.compiler.code(formula, env)
            never = code == 0
            tests += [f"({code})"] if isinstance(code, str) else []
            done += 1
        start = len(self.lines)
        if tests:
            self.lines.append(f"{pad}if {' and '.join(tests)}:")
            pad += " "
        body = len(self.lines)
        if not never:
            self._inside(action, depth, env, done, pad)
        if len(self.lines) == body:
            # never enabled, but a guard that can be undefined must still be evaluated
            if any(map(can_fail, tests)):
                self.lines.append(f"{pad}pass")
            else:
                del self.lines[start:]

    def _inside(self, action: Action, depth: int, env: dict[int, int], done: int, pad: str) -> None:
        if depth < len(action.params):
            p = action.params[depth]
            for value in range(self.at.size(p.sort)):
                self._unroll(action, depth + 1, {**env, p.uid: value}, done, pad)
            return
        self.lines.append(f"{pad}t = bytearray(s)")
        self.lines += self._assignments(action, env, pad)
        self.lines.append(f"{pad}out(({len(self.labels)}, bytes(t)))")
        values = tuple(self._element(env[p.uid], p.sort) for p in action.params)
        self.labels.append((action, values))

    def _element(self, raw: int, sort: t.SortInfo) -> int:
        return self.at.elements(sort)[raw]

    def _assignments(self, action: Action, env: Env, pad: str) -> list[str]:
        lines: list[str] = []
        shared: dict[str, str] = {}
        for write in action.writes:
            for e in self.compiler.bindings(write.binders, env):
                test = self.compiler.code(write.condition, e)
                if test == 0:
                    continue
                cell = self.compiler.cell(write.variable, write.keys, e)
                value = str(self.compiler.in_sort(write.value, e))
                if isinstance(test, str):  # a cell that is left out keeps an earlier write
                    lines.append(f"{pad}if {paren(test)}: t[{cell}] = {value}")
                    continue
                if len(value) > INLINE and value not in shared:
                    shared[value] = f"v{len(shared)}"
                    lines.append(f"{pad}{shared[value]} = {value}")
                lines.append(f"{pad}t[{cell}] = {shared.get(value, value)}")
        return lines


__all__ = ["Code", "Program"]
