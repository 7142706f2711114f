"""Translates the sorts (types) of a spec, such as `Replica`, to Z3 sorts.

There are two translations. Each entry has the name of a translation, and how it represents a sort:

    unbounded   A sort is uninterpreted: it may have any number of elements. An ordered
                sort has axioms: its order is total and has a least element.
    finite      A sort is an enumeration of its elements. Quantifiers are expanded over these
                elements, so Z3 need not instantiate them.

The axioms also allow orders that the protocol does not have, such as dense and infinite orders. So
a proof covers the protocol, but a failed proof does not show a violation.

Simplified: both translations decline sorts of integers. Such a sort has a largest element only at a
finite scope, so `+ 1` would have a different meaning in each translation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import z3

from checkers.symbolic import large_sets, majorities
from checkers.symbolic.limits import Expr
from model.language import terms as t
from model.language.expressions import SpecError
from model.language.scope import Ranges

# z3's destructor reads the attribute, which an interrupt within the constructor leaves unset
z3.Context.owner = False  # pyright: ignore[reportAttributeAccessIssue]


class Declined(SpecError):
    """Raised if a part of the spec cannot be translated to Z3. The verdict is then undecided."""


class Sorts(ABC):
    def __init__(self) -> None:
        # a context of its own, so that earlier queries cannot change the result of later ones
        self.context = z3.Context()
        self.axioms: list[Expr] = []
        self.assumptions: list[str] = []  # axioms about the protocol's sorts, in words
        self._plain: dict[str, Expr] = {}
        self._optional: dict[str, Expr] = {}
        self._at_most: dict[str, Expr] = {}

    @abstractmethod
    def elements(self, info: t.SortInfo) -> Sequence[Expr] | None:
        """Returns all elements of a type, the least element first. Returns None if the number of
        elements is unbounded.
        """

    @abstractmethod
    def comes_next(self, info: t.SortInfo, left: Expr, right: Expr) -> Expr:
        """Returns a formula which states that `right` is the next element after `left`."""

    @abstractmethod
    def majority(self, info: t.SortInfo, is_member: Callable[[Expr], Expr]) -> Expr:
        """Returns a formula which states that `is_member` is true for a majority of the type's
        elements.
        """

    @abstractmethod
    def at_least(self, info: t.SortInfo, number: int, is_member: Callable[[Expr], Expr]) -> Expr:
        """Returns a formula which states that `is_member` is true for at least `number` elements
        of a type.
        """

    @abstractmethod
    def at_least_of(
        self, info: t.SortInfo, numbers: t.SortInfo, number: Expr, is_member: Callable[[Expr], Expr]
    ) -> Expr:
        """Returns a formula which states that `is_member` is true for at least `number` elements
        of a type. The number is an element of the ordered type `numbers`.
        """

    @abstractmethod
    def _make(self, info: t.SortInfo) -> Expr: ...

    @abstractmethod
    def _least_element(self, info: t.SortInfo) -> Expr: ...

    def of(self, info: t.SortInfo) -> Expr:
        """Returns the Z3 sort for a type. Raises Declined for a type that cannot be translated,
        such as a type of integers.
        """
        if info.flavour == "int":
            raise Declined(
                f"{info.name} is a sort of integers, which a proof cannot use\n"
                f"  write {info.name}(Ordered), and is_next_after(...) instead of + 1"
            )
        if info.optional:
            return self._maybe(info)
        if info.flavour == "bool":
            return z3.BoolSort(self.context)
        if info.name not in self._plain:
            self._plain[info.name] = self._make(info)
        return self._plain[info.name]

    def least(self, info: t.SortInfo) -> Expr:
        """Returns the least value of a type: `nothing` for an optional type, false for a truth
        value, otherwise the first element. Raises Declined if the type has no least value.
        """
        sort = self.of(info)
        if info.optional:
            return sort.constructor(0)()
        if info.flavour == "bool":
            return z3.BoolVal(val=False, ctx=self.context)
        return self._least_element(info)

    def untouched(self, info: t.SortInfo) -> Expr | None:
        """Returns the initial value of a variable that `init` does not assign. Returns None if
        the variable may have any initial value.
        """
        return self.least(info)

    def some(self, info: t.SortInfo, element: Expr) -> Expr:
        """Returns the element as a value of the optional type `info`, which also has the value
        `nothing`.
        """
        return self.of(info).constructor(1)(element)

    def at_most(self, info: t.SortInfo, left: Expr, right: Expr) -> Expr:
        self.of(info)
        return self._at_most[info.name](left, right)

    def _maybe(self, info: t.SortInfo) -> Expr:
        if info.name not in self._optional:
            element = self.of(t.SortInfo(info.name, info.flavour))
            maybe = z3.Datatype(f"Maybe{info.name}", ctx=self.context)
            maybe.declare(f"nothing_{info.name}")
            maybe.declare(f"some_{info.name}", (f"of_{info.name}", element))
            self._optional[info.name] = maybe.create()
        return self._optional[info.name]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """A family of sets in Z3: the Z3 sort of the sets, and two predicates.

    `is_in` is true for each set that belongs to the family. If there is a family for each number,
    `is_in` has the number as its first argument. `has` is true for a set and an element that the
    set contains.
    """

    sets: Expr
    is_in: Expr
    has: Expr


class Unbounded(Sorts):
    def __init__(self) -> None:
        super().__init__()
        self._families: dict[str, Family] = {}

    def elements(self, info: t.SortInfo) -> Sequence[Expr] | None:
        self.of(info)
        return None

    def untouched(self, info: t.SortInfo) -> Expr | None:
        return None if info.flavour == "sort" and not info.optional else self.least(info)

    def _make(self, info: t.SortInfo) -> Expr:
        sort = z3.DeclareSort(info.name, self.context)
        if info.flavour == "ordered":
            self._order(info.name, sort)
        return sort

    def _order(self, name: str, sort: Expr) -> None:
        le = self._at_most[name] = z3.Function(
            f"at_most_{name}", sort, sort, z3.BoolSort(self.context)
        )
        least = z3.Const(f"least_{name}", sort)
        a, b, c = (z3.Const(letter, sort) for letter in "abc")
        self.axioms += [
            z3.ForAll([a], le(a, a)),
            z3.ForAll([a, b], z3.Implies(z3.And(le(a, b), le(b, a)), a == b)),
            z3.ForAll([a, b, c], z3.Implies(z3.And(le(a, b), le(b, c)), le(a, c))),
            z3.ForAll([a, b], z3.Or(le(a, b), le(b, a))),
            z3.ForAll([a], le(least, a)),
        ]

    def _least_element(self, info: t.SortInfo) -> Expr:
        if info.flavour != "ordered":
            raise Declined(
                f"{info.name} has no least element in a proof\n  assign its cells in init"
            )
        return z3.Const(f"least_{info.name}", self.of(info))

    def comes_next(self, info: t.SortInfo, left: Expr, right: Expr) -> Expr:
        between = z3.FreshConst(self.of(info), "between")
        none_between = z3.Or(self.at_most(info, between, left), self.at_most(info, right, between))
        return z3.And(
            self.at_most(info, left, right), left != right, z3.ForAll([between], none_between)
        )

    def majority(self, info: t.SortInfo, is_member: Callable[[Expr], Expr]) -> Expr:
        """Returns a formula which states that `is_member` is true for all elements of some
        majority.
        """
        name = f"Quorum{info.name}"
        if name not in self._families:
            self._any_two_share(info, self._family(info, name))
            self.assumptions.append(majorities.assumption(info.name))
        return self._contains_one(info, self._families[name], is_member)

    def at_least(self, info: t.SortInfo, number: int, is_member: Callable[[Expr], Expr]) -> Expr:
        """Returns a formula which states that `is_member` is true for all elements of some set with
        at least `number` elements.

        The sets with at least `number` elements are an arbitrary family of sets in the formula:
        nothing states how many elements they have. So a proof is valid for every number.
        """
        name = f"AtLeast{number}{info.name}"
        if name not in self._families:
            self._family(info, name)
            self.assumptions.append(large_sets.assumption(info.name, number))
        return self._contains_one(info, self._families[name], is_member)

    def at_least_of(
        self, info: t.SortInfo, numbers: t.SortInfo, number: Expr, is_member: Callable[[Expr], Expr]
    ) -> Expr:
        """Returns a formula which states that `is_member` is true for all elements of some set with
        at least `number` elements.

        The sets with at least `number` elements are an uninterpreted family of sets. An axiom says
        that the family of a number is part of the family of each smaller number. If `number` is
        `a if test else b`, the formula has a case for `a` and one for `b`: Z3 allows no `if` in the
        pattern of an axiom.
        """
        if (choice := _choice_in(number)) is not None:
            test, *values = choice.children()
            either = (z3.substitute(number, (choice, value)) for value in values)
            return z3.If(test, *(self.at_least_of(info, numbers, n, is_member) for n in either))
        name = f"AtLeast{numbers.name}{info.name}"
        if name not in self._families:
            self._order_families(numbers, self._family(info, name, numbers))
            self.assumptions += [
                large_sets.assumption(info.name, "k"),
                large_sets.assumption_of_order(info.name, numbers.name),
            ]
        return self._contains_one(info, self._families[name], is_member, number)

    def _order_families(self, numbers: t.SortInfo, family: Family) -> None:
        j, k = (z3.Const(letter, self.of(numbers)) for letter in "jk")
        some = z3.Const("some", family.sets)
        is_smaller, is_in = self.at_most(numbers, j, k), family.is_in(k, some)
        trigger = z3.MultiPattern(is_smaller, is_in)
        implied = z3.Implies(z3.And(is_smaller, is_in), family.is_in(j, some))
        self.axioms.append(z3.ForAll([j, k, some], implied, patterns=[trigger]))

    def _family(self, info: t.SortInfo, name: str, *numbers: t.SortInfo) -> Family:
        """Creates a family of sets in Z3. The sets contain elements of the type `info`. If
        `numbers` names a type, there is a family for each value of this type.
        """
        sort, boolean = self.of(info), z3.BoolSort(self.context)
        subset = z3.DeclareSort(name, self.context)
        self._families[name] = Family(
            sets=subset,
            is_in=z3.Function(f"is_{name}", *map(self.of, numbers), subset, boolean),
            has=z3.Function(f"{name}_has", subset, sort, boolean),
        )
        return self._families[name]

    def _contains_one(
        self, info: t.SortInfo, family: Family, is_member: Callable[[Expr], Expr], *number: Expr
    ) -> Expr:
        some, element = z3.FreshConst(family.sets, "some"), z3.FreshConst(self.of(info), info.name)
        is_in, has = family.is_in(*number, some), family.has(some, element)
        all_members = z3.ForAll([element], z3.Implies(has, is_member(element)), patterns=[has])
        return z3.Exists([some], z3.And(is_in, all_members), patterns=[is_in])

    def _any_two_share(self, info: t.SortInfo, family: Family) -> None:
        shared = z3.Function(f"shared_{info.name}", family.sets, family.sets, self.of(info))
        p, q = (z3.Const(letter, family.sets) for letter in "pq")
        both = z3.And(family.has(p, shared(p, q)), family.has(q, shared(p, q)))
        either = family.is_in(p), family.is_in(q)  # named: z3 keeps no reference from a pattern
        trigger = z3.MultiPattern(*either)
        self.axioms.append(z3.ForAll([p, q], z3.Implies(z3.And(*either), both), patterns=[trigger]))


def _choice_in(term: Expr) -> Expr | None:
    """Returns the outermost `a if test else b` in a term, or None if there is none."""
    if z3.is_app_of(term, z3.Z3_OP_ITE):
        return term
    return next((found for x in term.children() if (found := _choice_in(x)) is not None), None)


class Finite(Sorts):
    def __init__(self, ranges: Ranges) -> None:
        super().__init__()
        self.ranges = ranges
        self._elements: dict[str, Sequence[Expr]] = {}

    def elements(self, info: t.SortInfo) -> Sequence[Expr]:
        if info.flavour == "bool":
            return [z3.BoolVal(val=value, ctx=self.context) for value in (False, True)]
        self.of(info)
        return self._elements[info.name]

    def _make(self, info: t.SortInfo) -> Expr:
        if info.name not in self.ranges:
            raise Declined(
                f"no scope for the sort {info.name}\n  add its number of elements to scope()"
            )
        names = [f"{info.name}_{i}" for i in range(len(self.ranges[info.name]))]
        sort, elements = z3.EnumSort(info.name, names, ctx=self.context)
        self._elements[info.name] = elements
        if info.flavour == "ordered":
            le = z3.Function(f"at_most_{info.name}", sort, sort, z3.BoolSort(self.context))
            self._at_most[info.name] = le
            pairs = product(enumerate(elements), repeat=2)
            self.axioms += [le(a, b) if i <= j else z3.Not(le(a, b)) for (i, a), (j, b) in pairs]
        return sort

    def _least_element(self, info: t.SortInfo) -> Expr:
        return self.elements(info)[0]

    def comes_next(self, info: t.SortInfo, left: Expr, right: Expr) -> Expr:
        nexts = [z3.And(left == a, right == b) for a, b in pairwise(self.elements(info))]
        return z3.Or(*nexts, self.context)

    def majority(self, info: t.SortInfo, is_member: Callable[[Expr], Expr]) -> Expr:
        elements = self.elements(info)
        return z3.AtLeast(*map(is_member, elements), len(elements) // 2 + 1)

    def at_least(self, info: t.SortInfo, number: int, is_member: Callable[[Expr], Expr]) -> Expr:
        return z3.AtLeast(*map(is_member, self.elements(info)), number)

    def at_least_of(
        self, info: t.SortInfo, numbers: t.SortInfo, number: Expr, is_member: Callable[[Expr], Expr]
    ) -> Expr:
        elements = zip(self.elements(numbers), self.ranges[numbers.name], strict=True)
        each = [
            z3.And(number == element, self.at_least(info, value, is_member))
            for element, value in elements
        ]
        return z3.Or(*each, self.context)
