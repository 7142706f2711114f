"""The vocabulary of a spec: the terms and atoms that its guards, updates and claims use.

An *atom* is a formula without a connective, such as `s.added[x][t]` or `s.low[x] <= s.high[x]`, a
small formula with a quantifier, or a predicate: a method of the spec that returns a formula.

A *template* is a term or an atom whose free variables are holes. Terms that differ only in the
names of their variables are one template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from model.language import terms as t
from model.language.binding import canonical, substitute
from model.language.expressions import agree
from model.language.show import open_locals, size
from model.language.spec import Spec

HOLES: Final = 3  # of an atom, at most
LARGEST: Final = 30  # nodes of an atom, at most

Place = tuple[str, t.Node]  # such as `the guard of begin`, and a formula or term there


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Template:
    """A term or atom with holes, and the first place of the spec that uses it."""

    node: t.Node
    holes: tuple[t.Local, ...]
    place: str
    predicate: str = ""  # the method of the spec that returns the atom, if one does

    @property
    def simple(self) -> bool:
        """True if it has no quantifier."""
        return not any(isinstance(x, t.Forall | t.Exists | t.Count) for x in t.walk(self.node))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """The templates of a spec, and the names that it gives to variables of each sort."""

    atoms: tuple[Template, ...]
    terms: tuple[Template, ...]  # of sorts, not of truth values
    names: Mapping[t.SortInfo, Sequence[str]]  # the most frequent first

    @classmethod
    def of(cls, spec: Spec) -> Vocabulary:
        predicates = {p.node: p for p in _predicates(spec)}
        found: dict[t.Node, Template] = {}
        for place, formula in _places(spec):
            for node in _subterms(formula):
                if is_atom(node) or is_term(node):
                    made = template(node, place)
                    if len(made.holes) <= HOLES:
                        found.setdefault(made.node, made)
        every = [*predicates.values(), *(x for x in found.values() if x.node not in predicates)]
        return cls(
            atoms=tuple(x for x in every if x.node.sort.flavour == "bool"),
            terms=tuple(x for x in every if x.node.sort.flavour != "bool"),
            names=_names(spec),
        )


def template(node: t.Node, place: str) -> Template:
    opened = open_locals(node)
    free = [x for x in t.walk(node) if isinstance(x, t.Local) and x in opened]
    return _with_holes(node, free, place)


def _with_holes(node: t.Node, free: Sequence[t.Local], place: str, predicate: str = "") -> Template:
    holes = tuple(canonical(x.sort, f"_{k}", 0) for k, x in enumerate(free))
    shape = substitute(node, dict(zip(free, holes, strict=True)))
    return Template(node=shape, holes=holes, place=place, predicate=predicate)


def _predicates(spec: Spec) -> Iterator[Template]:
    for one in spec.predicates:
        if one.params and len(one.params) <= HOLES and t.reads(one.formula):
            yield _with_holes(one.formula, one.params, f"the predicate {one.name}", one.name)


def _places(spec: Spec) -> Iterator[Place]:
    """Yields each formula and each assigned term of the spec, and its place."""
    for action in spec.actions:
        for guard in action.guards:
            yield f"the guard of {action.name}", guard.formula
    for claim in spec.claims:
        yield f"the {'lemma' if claim.lemma else 'claim'} {claim.name}", claim.formula
    for action in spec.actions:
        for write in action.writes:
            place = f"an update of {action.name}"
            cell = t.Get(write.variable, write.keys)
            yield from ((place, x) for x in (cell, write.condition, write.value))
            if write.value.sort.flavour != "bool":
                yield place, t.Eq(*agree(cell, write.value))


def _subterms(formula: t.Node) -> Iterator[t.Node]:
    """Yields the term and the terms inside it, from left to right, each once."""
    seen: set[t.Node] = set()

    def visit(n: t.Node) -> Iterator[t.Node]:
        if n not in seen:
            seen.add(n)
            yield n
            for below in t.children(n):
                yield from visit(below)

    return visit(formula)


def _names(spec: Spec) -> dict[t.SortInfo, Sequence[str]]:
    """Returns the names of variables; the names in claims come before those in actions."""
    counts: dict[t.SortInfo, Counter[str]] = {}
    for place, formula in _places(spec):
        weight = 100 if place.startswith(("the claim", "the lemma")) else 1
        for x in t.walk(formula):
            if isinstance(x, t.Local) and x.name.isidentifier():
                counts.setdefault(x.sort, Counter())[x.name] += weight
    return {sort: sorted(of, key=lambda name: (-of[name], name)) for sort, of in counts.items()}


def is_term(n: t.Node) -> bool:
    """True for a value of a state variable, such as `s.epoch[s.producer[x]]`."""
    return isinstance(n, t.Get) and n.sort.flavour in ("sort", "ordered")


def is_atom(n: t.Node) -> bool:
    """True for a membership, a comparison, and a small formula with a quantifier."""
    if size(n) > LARGEST or any(isinstance(x, t.Ite) for x in t.walk(n)):
        return False
    match n:
        case t.Get():
            return n.sort.flavour == "bool"
        case t.Eq():
            return n.left.sort.flavour != "bool"
        case t.Le() | t.Lt() | t.Succ():
            return True
        case t.Forall() | t.Exists():
            return bool(open_locals(n))
        case _:
            return False
