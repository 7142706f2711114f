"""The vocabulary of a spec: the terms and atoms that occur in its guards, updates and claims.

An *atom* is one of these formulas:

- a formula without a connective, such as `s.added[x][t]` or `s.low[x] <= s.high[x]`;
- a small formula with a quantifier;
- a predicate: a method of the spec that returns a formula.

A *template* is a term or an atom with holes in place of its free variables. If two terms differ
only in the names of their variables, they have the same template.
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
    """A term or an atom with holes in place of its free variables, and the first place of the
    spec where it occurs.
    """

    node: t.Node
    holes: tuple[t.Local, ...]
    place: str
    predicate: str = ""  # the method of the spec that returns the atom, if one does

    @property
    def simple(self) -> bool:
        """True if the term or atom has no quantifier and no count."""
        return not any(isinstance(x, t.Forall | t.Exists | t.Count) for x in t.walk(self.node))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """The templates of a spec, and the names that the spec gives to variables of each sort."""

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
    """Yields each formula and each assigned term of the spec, together with its place, such as
    `the guard of begin`.
    """
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
    """Yields the formula and all terms inside it, from left to right. Each term is yielded once."""
    seen: set[t.Node] = set()

    def visit(n: t.Node) -> Iterator[t.Node]:
        if n not in seen:
            seen.add(n)
            yield n
            for below in t.children(n):
                yield from visit(below)

    return visit(formula)


def _names(spec: Spec) -> dict[t.SortInfo, Sequence[str]]:
    """Returns the names of the variables of each sort, the most frequent name first. An
    occurrence in a claim counts as much as 100 occurrences in actions.
    """
    counts: dict[t.SortInfo, Counter[str]] = {}
    for place, formula in _places(spec):
        weight = 100 if place.startswith(("the claim", "the lemma")) else 1
        for x in t.walk(formula):
            if isinstance(x, t.Local) and x.name.isidentifier():
                counts.setdefault(x.sort, Counter())[x.name] += weight
    return {sort: sorted(of, key=lambda name: (-of[name], name)) for sort, of in counts.items()}


def is_term(n: t.Node) -> bool:
    """Returns True if `n` is the value of a state variable, such as `s.epoch[s.producer[x]]`, and
    is neither a truth value nor an integer.
    """
    return isinstance(n, t.Get) and n.sort.flavour in ("sort", "ordered")


def is_atom(n: t.Node) -> bool:
    """Returns True if `n` can be an atom: a state variable that is a truth value, a comparison, or
    a formula with a quantifier.

    A comparison of two truth values is no atom. A formula with more than LARGEST nodes or with an
    if-then-else is no atom.
    """
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
