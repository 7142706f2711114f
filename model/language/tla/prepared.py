"""Prepares the export of a spec to TLA+: writes constants by their names, and avoids names that the
module already uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from model.language import terms as t
from model.language.actions import Action, Claim, Liveness
from model.language.scope import Scope, ranges_of
from model.language.spec import Spec
from model.language.tla.expressions import Writer
from model.language.tla.lifting import Lifting, camel
from model.language.tla.operators import Folding, operators_of

RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        ASSUME AXIOM BOOLEAN CASE CHOOSE CONSTANT DOMAIN ELSE ENABLED EXCEPT EXTENDS FALSE IF IN
        INSTANCE LAMBDA LET LOCAL MODULE OTHER STRING SUBSET THEN THEOREM TRUE UNCHANGED UNION
        VARIABLE WITH Init Next Spec TypeOK vars Nothing First Last Cardinality Int Nat IsFiniteSet
        Permutations Symmetry Print PrintT Assert JavaTime TLCGet TLCSet SortSeq RandomElement Any
        ToString TLCEval
        """,
    )
)  # names with a meaning of their own in a module


def never(witness: str) -> str:
    """Returns the name of the invariant which states that no state satisfies the witness, such as
    `NeverTwoLeaders`.
    """
    return f"Never{camel(witness)}"


@dataclass
class Prepared:
    """A spec that is prepared for the export. Its terms contain constants by name, such as
    `Replicas + 1` in place of 4.
    """

    spec: Spec
    scope: Scope | None = None
    lifting: Lifting = field(init=False)
    folding: Folding = field(init=False)
    writer: Writer = field(init=False)
    ranges: Mapping[str, tuple[str, str]] = field(init=False)
    bounds: dict[str, int] = field(init=False)  # names of last elements that the spec computes
    _taken: set[str] = field(init=False)
    _used: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lifting = Lifting.of(self.spec)
        self._used = set(self.lifting.used)  # by terms, not only by ranges
        self.ranges = self.lifting.scope() if self.scope is None else _literal(self.scope)
        self.bounds = self._name_bounds()
        self.folding = Folding(operators_of(self.lifting))
        taken = {*self.spec.shapes, *self.sorts("sort", "ordered", "int"), *RESERVED}
        taken |= {camel(x.name) for x in (*self.spec.actions, *self.spec.properties)}
        taken |= {camel(n) for n in self.spec.constants} | self.bounds.keys()
        taken |= {never(w.name) for w in self.spec.witnesses}
        self.folding.operators = tuple(o for o in self.folding.operators if o.name not in taken)
        taken |= {o.name for o in self.folding.operators}
        firsts = {name: low for name, (low, _) in self.ranges.items()}
        self.writer = Writer(self.spec, taken, firsts)
        taken |= {x for labels in self.writer.labels.values() for x in labels}
        self._taken = taken

    # ---- the spec with names of constants

    def _traces(self) -> Sequence[Spec]:
        return (self.spec, *self.lifting.others)

    @cached_property
    def initial(self) -> Action:
        return self._with_names(*(s.initial for s in self._traces()))

    @cached_property
    def actions(self) -> Sequence[Action]:
        every = zip(*(s.actions for s in self._traces()), strict=True)
        return [self._with_names(*same) for same in every]

    def _with_names(self, *same: Action) -> Action:
        lift = self.lifting.lifted
        guards = zip(*(a.guards for a in same), strict=True)
        writes = zip(*(a.writes for a in same), strict=True)
        made = replace(
            same[0],
            guards=[replace(g[0], formula=lift(*(x.formula for x in g))) for g in guards],
            writes=[
                replace(
                    w[0],
                    keys=tuple(lift(*k) for k in zip(*(x.keys for x in w), strict=True)),
                    condition=lift(*(x.condition for x in w)),
                    value=lift(*(x.value for x in w)),
                )
                for w in writes
            ],
        )
        firsts = self.lifting.firsts
        made.names = {firsts.get(n, n): name for n, name in same[0].names.items()}
        return made

    def _lifted(self, of: Callable[[Spec], Sequence[Claim]]) -> Iterator[Claim]:
        for same in zip(*map(of, self._traces()), strict=True):
            yield replace(same[0], formula=self.lifting.lifted(*(c.formula for c in same)))

    def _lifted_liveness(self) -> Iterator[Liveness]:
        lift = self.lifting.lifted
        for same in zip(*(s.liveness_properties for s in self._traces()), strict=True):
            premise, goal = lift(*(c.premise for c in same)), lift(*(c.goal for c in same))
            yield replace(same[0], premise=premise, goal=goal)

    # ---- what the configuration needs

    @property
    def name(self) -> str:
        return type(self.spec).__name__

    @property
    def constants(self) -> dict[str, int]:
        """The constants that the configuration sets to a number, with these numbers."""
        bounds = (self.ranges[n] for n in self.sorts("ordered", "int"))
        used = self._used | {x for pair in bounds for word in pair for x in _words(word)}
        own = {name: n for name, n in self.lifting.values.items() if name in used}
        return {**own, **self.bounds}

    @property
    def fixed(self) -> dict[str, int | bool]:
        """The constants that have no name in the TLA+ module, with their values. The module
        contains these values instead of names.
        """
        sizes = self._sizes()
        names = (n for n in self.spec.constants if camel(n) not in self.constants)
        return {n: getattr(self.spec, n) for n in names if n not in sizes}

    def _sizes(self) -> set[str]:
        if self.scope is not None:
            return set()
        # constants that only say how many elements an unordered sort has
        sizes = set()
        for name in self.sorts("sort"):
            sizes |= _words(self.ranges[name][1])
        return {n for n in self.spec.constants if camel(n) in sizes}

    def _name_bounds(self) -> dict[str, int]:
        made: dict[str, int] = {}
        ranges = dict(self.ranges)
        for sort in self.sorts("ordered", "int"):
            low, high = ranges[sort]
            name = f"Last{sort}"
            # a sort with named elements gets no such name
            if not _words(high) and not getattr(self.spec.sorts.get(sort), "labels", ()):
                made[name] = int(high)
                ranges[sort] = low, name
        self.ranges = ranges
        return made

    def sorts(self, *flavours: t.Flavour) -> list[str]:
        """Returns the names of the spec's sorts that have one of these flavours: "sort" (without an
        order), "ordered" or "int". Built-in sorts such as `Bool` are not in the result.
        """
        found: dict[str, t.Flavour] = {n: s.flavour for n, s in self.spec.sorts.items()}
        for n in (n for root in self._formulas() for n in t.walk(root)):
            inside = n.binders if isinstance(n, t.Forall | t.Exists | t.Count) else ()
            for x in (n, *inside, *([n.binder] if isinstance(n, t.Extreme) else [])):
                found.setdefault(x.sort.name, x.sort.flavour)
        special = ("Bool", "Number", "Nothing")
        return [n for n, flavour in found.items() if flavour in flavours and n not in special]

    def _formulas(self) -> Iterator[t.Node]:
        spec = self.spec
        for action in (spec.initial, *spec.actions):
            yield from (g.formula for g in action.guards)
            for w in action.writes:
                yield from (*w.keys, w.condition, w.value, *w.binders)
        yield from (c.formula for c in (*spec.claims, *spec.action_properties, *spec.witnesses))
        for c in spec.liveness_properties:
            yield from (c.premise, c.goal)


def _words(bound: str) -> set[str]:
    return set(re.findall(r"[A-Z]\w*", bound))


def _literal(scope: Scope) -> Mapping[str, tuple[str, str]]:
    named = ranges_of(scope)
    return {n: (str(r.start), str(r.stop - 1)) for n, r in named.items() if n != "Bool"}
