"""Writes a formula as a sentence about one state of a spec.

In the sentence, a state variable is followed by its value. A parameter or bound variable is
replaced by its value. For example, `offset` is 0, `member` is b1 and the log end offset of b1 is 7.
Then `offset < log.end_offset[member]` becomes `0 < log[b1].end_offset 7`. A formula for which there
is no short sentence is printed as in the spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.language import terms as t
from model.language.interpreter import Interpreter, State, Undefined, Value
from model.language.show import NAMED, show, size
from model.language.values import Writer


@dataclass(frozen=True, slots=True)
class Sentences:
    writer: Writer
    state: State
    bindings: Mapping[t.Local, Value]
    names: Mapping[t.Node, str]

    def sentence(self, n: t.Node) -> str:
        match n:
            case t.Eq(left=left, right=right):
                return self._equal(left, right, "is")
            case t.Not(of=t.Eq(left=left, right=right)):
                return self._equal(left, right, "is not")
            case t.Not(of=t.Get() as member):
                return self._member(member, "∉")
            case t.Get():
                return self._member(n, "∈")
            case t.Lt():
                return f"{self.term(n.left)} < {self.term(n.right)}"
            case t.Le():
                return f"{self.term(n.left)} ≤ {self.term(n.right)}"
            case t.Succ():
                return f"{self.term(n.right)} comes next after {self.term(n.left)}"
            case t.And():
                return " and ".join(map(self._part, n.of))
            case t.Or():
                return " or ".join(map(self._part, n.of))
            case t.Not(of=inner) if not isinstance(inner, t.Forall | t.Exists):
                return f"not ({self.sentence(inner)})"
            case t.Implies():
                return f"{self._part(n.right)}, as {self._part(n.left)} requires"
            case _:
                elements: dict[t.Node, str] = {
                    x: self.writer.value(v, x.sort) for x, v in self.bindings.items()
                }
                return show(n, {**self.names, **elements})

    def term(self, n: t.Node) -> str:
        match n:
            case t.Local():
                return self.writer.value(self.bindings[n], n.sort)
            case t.Const() | t.Least():
                return self._value(n)
            case t.Some():
                return self.term(n.of)
            case t.Get():
                return f"{self.place(n)} {self._value(n)}"
            case _ if n in self.names and size(n) >= NAMED:
                return f"{self.names[n]} {self._value(n)}"
            case t.Plus():
                return f"{self.term(n.of)} {'+' if n.delta > 0 else '-'} {abs(n.delta)}"
            case _:
                return self._value(n)

    def place(self, n: t.Get) -> str:
        return self.writer.place(n.variable.name, [self._value(k) for k in n.keys])

    def _equal(self, left: t.Node, right: t.Node, verb: str) -> str:
        # Such as `request[1].leader b2 is not b0`: b2 is the value; a true equality leaves it out.
        if left.sort == t.BOOL:
            return f"({self.sentence(left)}) {verb} the same as ({self.sentence(right)})"
        if isinstance(left, t.Some | t.Local | t.Const | t.Least) and isinstance(right, t.Get):
            left, right = right, left
        if verb == "is not" or self._value(left) != self._value(right):
            return f"{self.term(left)} {verb} {self.term(right)}"
        place = self.place(left) if isinstance(left, t.Get) else self.term(left)
        return f"{place} {verb} {self.term(right)}"

    def _member(self, n: t.Get, sign: str) -> str:
        *keys, last = (self._value(k) for k in n.keys) if n.keys else ("",)
        if not n.keys:
            return (
                f"{self.writer.place(n.variable.name, [])} is {'true' if sign == '∈' else 'false'}"
            )
        whole = self.writer.place(n.variable.name, [*keys, "·"]).removesuffix("[·]")
        if "[·]" in whole:  # a flag of a record, not a set
            place = self.writer.place(n.variable.name, [*keys, last])
            return f"{place} is {'true' if sign == '∈' else 'false'}"
        return f"{last} {sign} {whole}"

    def _part(self, n: t.Node) -> str:
        text = self.sentence(n)
        return f"({text})" if isinstance(n, t.And | t.Or | t.Implies) else text

    def _value(self, n: t.Node) -> str:
        env = {x.uid: v for x, v in self.bindings.items()}
        try:
            value = Interpreter(self.writer.ranges).value(n, self.state, env)
        except Undefined:
            return "undefined"
        return self.writer.value(value, n.sort)
