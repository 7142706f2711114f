"""Finds where a spec uses its constants, so that the TLA+ module contains their names instead of
their values.

A term of the spec contains only the value of a constant: 3 in place of `s.replicas`. So the spec is
built a second time with larger constants. If a number in a term is larger in the second spec, the
module writes it with the constant, such as `Replicas + 1`. The terms may also differ in their
structure, for example because of an `if` on a constant. In this case the module contains the value
of the constant, and the constant is called *fixed*.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from model.language import terms as t
from model.language.binding import rebuilt
from model.language.expressions import SpecError
from model.language.scope import Scope
from model.language.spec import Spec

Bump = Mapping[str, int]  # constant -> how much larger it is in the other trace
BASE = 4  # so that up to three times each constant can be read from one number


class Differs(Exception):
    """The error if a spec uses a constant in another way than as a term of a sum: for example, in a
    product or in an `if`.

    `names` has the constants that may be the cause. If `names` is empty, any constant may be the
    cause.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        super().__init__()
        self.names = names


def times(growth: int, names: Sequence[str]) -> dict[str, int]:
    """Returns how often each constant occurs in a sum: `{"a": 1, "b": 2}` for `a + b + b`.

    The sum is computed twice: with the constants, and with larger constants. The second time, the
    first constant in `names` is larger by 1, the second constant by 4, and the third constant by
    16. `growth` is the difference of the two results. If no constant occurs more than three times,
    each digit of `growth` in base 4 is the number of occurrences of one constant. So `a + b + b`
    grows by 1 + 2 * 4 = 9.

    Raises Differs if `growth` is negative or too large.
    """
    found: dict[str, int] = {}
    left = growth
    for name in names:
        left, found[name] = divmod(left, BASE)
    if left:
        raise Differs(names)
    return found


def camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


@dataclass
class Lifting:
    """Replaces numbers in a spec's terms by constants: `Replicas + 1` in place of 4, if there are 3
    replicas.

    The specs in `others` are copies of the spec with larger constants. If a number is larger in
    these copies, it depends on a constant.
    """

    spec: Spec
    others: Sequence[Spec]
    free: Sequence[str]  # the constants that are larger in the other traces
    used: set[str] = field(default_factory=set[str])
    done: dict[tuple[int, ...], t.Node] = field(default_factory=dict[tuple[int, ...], t.Node])
    atoms: dict[tuple[str, str], t.Local] = field(default_factory=dict[tuple[str, str], t.Local])
    firsts: dict[t.Node, t.Node] = field(default_factory=dict[t.Node, t.Node])  # of the spec
    kept: list[Any] = field(default_factory=list[Any])  # so that ids stay unique

    @classmethod
    def of(cls, spec: Spec) -> Lifting:
        """Returns a `Lifting` that writes the spec's constants by name instead of as numbers.

        If a constant cannot be written by its name, its numbers stay.
        """
        free = [n for n, c in spec.constants.items() if c.type is int]
        while free:
            made = cls._at(spec, free)
            try:
                made.lift_all()
            except Differs as why:
                kept = [n for n in free if n not in why.names]
                free = kept if len(kept) < len(free) else []
            except (SpecError, ValueError):  # it cannot be traced, or has another number of terms
                free = []
            else:
                return made
        return cls._at(spec, [])

    @classmethod
    def _at(cls, spec: Spec, free: Sequence[str]) -> Lifting:
        others = [
            _grown(spec, {name: BASE**k for k, name in enumerate(names)})
            for names in ((free, free[::-1]) if free else ())
        ]
        return cls(spec, others, free)

    def lift_all(self) -> None:
        """Writes the numbers in all terms of the spec as sums that contain the constants in the
        field `free`.

        Raises Differs if a number depends on these constants in another way, such as
        `Replicas * Replicas`.
        """
        for specs in zip(*(_roots(s) for s in (self.spec, *self.others)), strict=True):
            self.lifted(*specs)

    def scope(self) -> Mapping[str, tuple[str, str]]:
        """Returns the first and the last element of each sort as TLA+ text, such as `0` and
        `Batches - 1`.
        """
        scopes = [_named(s.scope()) for s in (self.spec, *self.others)]
        return {
            name: (
                self._number(tuple(s[name].start for s in scopes)),
                self._number(tuple(s[name].stop - 1 for s in scopes)),
            )
            for name in scopes[0]
        }

    def _number(self, values: tuple[int, ...]) -> str:
        growth = tuple(v - values[0] for v in values[1:])
        try:
            name, rest = self._grown(growth, values[0]) if any(growth) else ("", values[0])
        except Differs:
            return str(values[0])
        if not name:
            return str(rest)
        return f"{name} {'+' if rest > 0 else '-'} {abs(rest)}" if rest else name

    def _grown(self, growth: tuple[int, ...], value: int) -> tuple[str, int]:
        # `growth` is how much larger the number is in copies of the spec with larger constants.
        found = times(growth[0], self.free)
        others = times(growth[1], self.free[::-1])
        if found != others:
            raise Differs({n for n in self.free if found[n] or others[n]})
        parts = {camel(n): k for n, k in found.items() if k}
        self.used |= set(parts)
        name = " + ".join(n if k == 1 else f"{k} * {n}" for n, k in parts.items())
        # such as ("Batches", 5) for Batches + 5
        return name, value - sum(self.values[n] * k for n, k in parts.items())

    @cached_property
    def values(self) -> Mapping[str, int]:
        return {camel(n): getattr(self.spec, n) for n in self.spec.constants}

    def lifted(self, *ns: t.Node) -> t.Node:
        """Returns a term in which sums of constants replace numbers: `Replicas + 1` in place of 4.

        The first of `ns` is a term of the spec. The others are the corresponding terms in copies of
        the spec with larger constants. Raises Differs if a number cannot be written as a sum of
        constants.
        """
        if not self.others:
            return ns[0]
        key = tuple(map(id, ns))
        if key not in self.done:
            self.kept.append(ns)
            self.done[key] = self.firsts[ns[0]] = self._lift(*ns)
        return self.done[key]

    def _lift(self, *ns: t.Node) -> t.Node:
        first = ns[0]
        if any(type(n) is not type(first) or n.sort != first.sort for n in ns):
            raise Differs
        match first:
            case t.Const():
                values = tuple(n.value for n in ns if isinstance(n, t.Const))
                growth = tuple(v - values[0] for v in values[1:])
                return self._constant(first.sort, growth, values[0]) if any(growth) else first
            case t.Local():
                same = all(isinstance(n, t.Local) and n.name == first.name for n in ns)
            case t.Get():
                same = all(isinstance(n, t.Get) and n.variable == first.variable for n in ns)
            case t.Plus():
                same = all(isinstance(n, t.Plus) and n.delta == first.delta for n in ns)
            case t.Extreme():
                same = all(isinstance(n, t.Extreme) and n.last == first.last for n in ns)
            case _:
                same = True
        below = [t.children(n) for n in ns]
        if not same or any(len(b) != len(below[0]) for b in below):
            raise Differs
        parts = iter([self.lifted(*parts) for parts in zip(*below, strict=True)])
        return rebuilt(first, lambda _: next(parts))

    def _constant(self, sort: t.SortInfo, growth: tuple[int, ...], value: int) -> t.Node:
        name, rest = self._grown(growth, value)
        atom = self.atoms.setdefault((name, sort.name), t.Local(sort, name))
        return t.Plus(atom, rest) if rest else atom


def _named(scope: Scope) -> dict[str, range]:
    return {
        sort if isinstance(sort, str) else sort.__name__: size
        if isinstance(size, range)
        else range(size)
        for sort, size in scope.items()
    }


def _grown(spec: Spec, bump: Bump) -> Spec:
    return spec.unchecked({name: getattr(spec, name) + more for name, more in bump.items()})


def _roots(spec: Spec) -> list[t.Node]:
    roots: list[t.Node] = []
    for action in (spec.initial, *spec.actions):
        roots += [g.formula for g in action.guards]
        for w in action.writes:
            roots += [*w.keys, w.condition, w.value]
    roots += [c.formula for c in (*spec.claims, *spec.action_properties, *spec.witnesses)]
    for c in spec.liveness_properties:
        roots += [c.premise, c.goal]
    return roots
