"""Writes a clause as source text in the language of specs. A user can paste the text into a spec
as a lemma.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import assert_never

from model.language import terms as t
from model.language.expressions import SpecError
from model.language.spec import Spec
from model.language.state_variables import MapShape, RecordShape

Names = Mapping[t.Local, str]
Known = Mapping[t.Node, str]  # an atom that a predicate of the spec returns -> the call


@dataclass(frozen=True, slots=True)
class Clause:
    """The text of a formula: a call with arguments, inside loops.

    The call is, for example, `implies`. A loop, for example `for x in Transaction`, states that the
    call is true for all elements `x`.
    """

    call: str  # empty if there is only one argument
    arguments: tuple[str, ...]
    loops: tuple[str, ...]

    @property
    def body(self) -> str:
        return f"{self.call}({', '.join(self.arguments)})" if self.call else self.arguments[0]

    def __str__(self) -> str:
        return f"forall({' '.join((self.body, *self.loops))})" if self.loops else self.body


@dataclass(frozen=True, slots=True)
class Printer:
    spec: Spec
    known: Known

    def clause(self, variables: Sequence[t.Local], literals: Sequence[t.Node]) -> Clause:
        """Returns the clause as text.

        Each negated literal becomes a premise, and each other literal becomes a conclusion. The
        clause does not apply to equal elements: if x and y have the same type, `x == y` is a
        further conclusion.
        """
        names = {x: x.name for x in variables}
        premises = [self.text(n.of, names) for n in literals if isinstance(n, t.Not)]
        conclusions = [self.text(n, names) for n in literals if not isinstance(n, t.Not)]
        same = [(x, y) for x, y in combinations(variables, 2) if x.sort == y.sort]
        conclusions += [f"{x.name} == {y.name}" for x, y in same]
        loops = tuple(f"for {x.name} in {x.sort.name}" for x in variables)
        return Clause(*_implication(premises, conclusions), loops)

    def text(self, n: t.Node, names: Names) -> str:  # noqa: C901 - one case for each word
        """Returns the term `n` as source text. `names` maps each free variable of the term to
        its name.
        """
        if n in self.known:
            return self.known[n]

        def s(x: t.Node) -> str:
            return self.text(x, names)

        match n:
            case t.Const():
                return "true" if n.value else "false"
            case t.Least():
                return self._least(n.sort)
            case t.Local():
                return names[n]
            case t.Get():
                return self._place(n, names)
            case t.Some():
                return s(n.of)
            case t.Ite():
                return f"ite({s(n.test)}, {s(n.then)}, {s(n.other)})"
            case t.Not(of=t.Eq() as e) if e not in self.known and e.left.sort.flavour != "bool":
                return f"{s(e.left)} != {s(e.right)}"
            case t.Not():
                text, loose = s(n.of), isinstance(n.of, t.Eq | t.Le | t.Lt)
                return f"~({text})" if loose and n.of not in self.known else f"~{text}"
            case t.And():
                return f"all_of({', '.join(map(s, n.of))})"
            case t.Or():
                return f"any_of({', '.join(map(s, n.of))})"
            case t.Implies():
                return f"implies({s(n.left)}, {s(n.right)})"
            case t.Eq() if n.left.sort.flavour == "bool":
                return f"iff({s(n.left)}, {s(n.right)})"
            case t.Eq():
                return f"{s(n.left)} == {s(n.right)}"
            case t.Le() if (large := t.large_in(n)) is not None:
                number, of = large
                least = number.value if isinstance(number, t.Const) else s(number)
                return f"at_least({least}, {self._loop(of, names)})"
            case t.Le():
                return f"{s(n.left)} <= {s(n.right)}"
            case t.Lt() if (members := t.majority_in(n)) is not None:
                return f"majority{self._loop(members, names)}"
            case t.Lt():
                return f"{s(n.left)} < {s(n.right)}"
            case t.Succ():
                return f"{s(n.right)}.is_next_after({s(n.left)})"
            case t.Forall():
                return f"forall{self._loop(n, names)}"
            case t.Exists():
                return f"exists{self._loop(n, names)}"
            case t.Plus() | t.Count() | t.Extreme():
                raise SpecError("a proof cannot use integers or counts")
            case _:
                assert_never(n)

    def _least(self, sort: t.SortInfo) -> str:
        if sort.optional:
            return "nothing"
        return "false" if sort.flavour == "bool" else f"{sort.name}.least()"

    def _loop(self, n: t.Forall | t.Exists | t.Count, names: Names) -> str:
        """Returns the text `(body for x in Sort)`. If the name of a bound variable is already in
        `names`, a number is appended to it, as in `x1`.
        """
        inner, taken = dict(names), set(names.values())
        for b in n.binders:
            variations = (b.name, *(f"{b.name}{k}" for k in range(1, 99)))
            inner[b] = next(x for x in variations if x not in taken)
            taken.add(inner[b])
        loops = "".join(f" for {inner[b]} in {b.sort.name}" for b in n.binders)
        return f"({self.text(n.body, inner)}{loops})"

    def _place(self, n: t.Get, names: Names) -> str:
        """Returns a state variable with its keys as text, such as `s.log[b].end_offset`."""
        first, *fields = n.variable.name.split(".")
        text, shape = f"s.{first}", self.spec.shapes[first]
        keys = [self.text(key, names) for key in n.keys]
        while True:
            match shape:
                case MapShape():
                    text, shape = f"{text}[{keys.pop(0)}]", shape.value
                case RecordShape():
                    field = fields.pop(0)
                    text, shape = f"{text}.{field}", shape.record.fields()[field]
                case _:
                    return text


def _implication(
    premises: Sequence[str], conclusions: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Returns the call and the arguments of a formula. The formula states that the premises imply
    at least one of the conclusions.

    The call is empty if there are no premises and only one conclusion.
    """
    if not premises and len(conclusions) == 1:
        return "", tuple(conclusions)
    if not premises:
        return "any_of", tuple(conclusions)
    if not conclusions:
        return "~" if len(premises) == 1 else "~all_of", tuple(premises)
    left = premises[0] if len(premises) == 1 else f"all_of({', '.join(premises)})"
    right = conclusions[0] if len(conclusions) == 1 else f"any_of({', '.join(conclusions)})"
    return "implies", (left, right)
