"""Contexts: the quantified variables of candidate lemmas, and the atoms about these variables.

A candidate lemma is a clause over the atoms of one context. A context has at most three variables,
and at most two of its variables have the same sort. Two variables of one sort stand for different
elements.

There are two kinds of atoms. The first kind is an atom of the spec, with variables of the context
in place of its free variables. The second kind is a comparison of two terms of the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Final

from checkers.lemmas.vocabulary import Template, Vocabulary
from model.language import terms as t
from model.language.binding import substitute
from model.language.expressions import agree
from model.language.spec import Spec

VARIABLES: Final = 3
OF_ONE_SORT: Final = 2
SIMPLE, OTHER = 1, 2  # the costs of atoms: of the spec without a quantifier, and all others
STATE: Final = "s"  # the name of the state in the methods of a spec
Variables = tuple[t.Local, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Atom:
    node: t.Node
    cost: int
    origin: str  # the place of the spec that has it or its terms, such as `the guard of begin`
    predicate: str = ""  # the method of the spec that returns it, if one does
    arguments: Variables = ()  # of the predicate


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """Quantified variables, and the atoms about these variables.

    A literal is an atom or the negation of an atom. Literal `2 * k` is atom k, and literal
    `2 * k + 1` is the negation of atom k.
    """

    variables: Variables
    atoms: tuple[Atom, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[t.Local, t.Local], ...]:
        """The pairs of variables that have the same sort. The two variables of a pair stand for
        different elements.
        """
        return tuple((a, b) for a, b in combinations(self.variables, 2) if a.sort == b.sort)

    @cached_property
    def literals(self) -> tuple[t.Node, ...]:
        return tuple(x for atom in self.atoms for x in (atom.node, t.negation(atom.node)))

    @cached_property
    def uses(self) -> tuple[frozenset[t.Local], ...]:
        """For each atom, the variables of the context that occur in the atom."""
        return tuple(frozenset(_variables_in(a.node)) & set(self.variables) for a in self.atoms)

    @cached_property
    def twins(self) -> tuple[int, ...]:
        """The numbers of the atoms which state that a state variable has the same value for two
        elements, such as `s.of[x] == s.of[y]`.
        """
        return tuple(k for k, atom in enumerate(self.atoms) if self._is_twin(atom.node))

    def _is_twin(self, n: t.Node) -> bool:
        match n:
            case t.Eq(left=t.Get() as left, right=t.Get() as right):
                swaps = ({a: b, b: a} for a, b in self.pairs)
                return any(substitute(left, swap) is right for swap in swaps)
            case _:
                return False


def contexts_of(spec: Spec, vocabulary: Vocabulary, sizes: Mapping[str, int]) -> list[Context]:
    """Returns the contexts of a spec. Contexts with fewer variables come first.

    A variable ranges over a sort only if the sort is a key of a state variable. A context is left
    out if it needs more different elements of a sort than `sizes` has, because every clause about
    these elements would be vacuously true. A context is also left out if one of its variables
    occurs in no atom.
    """
    keys = dict.fromkeys(key for v in spec.variables for key in v.keys)
    named = _named(vocabulary, keys)
    made: list[Context] = []
    for number in range(VARIABLES + 1):
        for sorts in combinations_with_replacement(keys, number):
            if any(sorts.count(s) > min(OF_ONE_SORT, sizes[s.name]) for s in sorts):
                continue
            variables = tuple(named[s, sorts[:k].count(s)] for k, s in enumerate(sorts))
            atoms = tuple(_atoms(vocabulary, variables))
            if {x for a in atoms for x in _variables_in(a.node)} >= set(variables) and atoms:
                made.append(Context(variables=variables, atoms=atoms))
    return made


def _named(
    vocabulary: Vocabulary, sorts: Iterable[t.SortInfo]
) -> dict[tuple[t.SortInfo, int], t.Local]:
    """Returns two variables of each sort, with the names that the spec uses most often for this
    sort. The key of a variable is its sort and the number 0 or 1.
    """
    taken = {STATE}
    made: dict[tuple[t.SortInfo, int], t.Local] = {}
    for k, sort in product(range(OF_ONE_SORT), sorts):
        spare = (f"{sort.name[0].lower()}{n}" for n in range(1, 99))
        names = (*vocabulary.names.get(sort, ()), *spare)
        name = next(n for n in names if n not in taken)
        taken.add(name)
        made[sort, k] = t.Local(sort, name)
    return made


def _variables_in(n: t.Node) -> Iterator[t.Local]:
    return (x for x in t.walk(n) if isinstance(x, t.Local))


def _atoms(vocabulary: Vocabulary, variables: Variables) -> Iterator[Atom]:
    """Yields each atom once. An atom is left out if its negation, or the same comparison with
    exchanged sides, was yielded before.
    """
    seen: set[t.Node] = set()
    for atom in (*_of_spec(vocabulary, variables), *_assembled(vocabulary, variables)):
        if atom.node not in seen and _mirrored(atom.node) not in seen:
            seen.add(atom.node)
            yield atom


def _of_spec(vocabulary: Vocabulary, variables: Variables) -> Iterator[Atom]:
    for template in vocabulary.atoms:
        for arguments in _choices(template, variables):
            yield Atom(
                node=_filled(template, arguments),
                cost=SIMPLE if template.simple else OTHER,
                origin=template.place,
                predicate=template.predicate,
                arguments=arguments,
            )


def _assembled(vocabulary: Vocabulary, variables: Variables) -> Iterator[Atom]:
    terms: dict[t.Node, str] = {}
    for template in vocabulary.terms:
        for arguments in _choices(template, variables):
            terms.setdefault(_filled(template, arguments), template.place)
    for term, place in terms.items():
        if term.sort.optional or term.sort.flavour == "ordered":
            yield Atom(node=t.Eq(term, t.Least(term.sort)), cost=OTHER, origin=place)
    places: dict[t.Node, str] = {**terms, **dict.fromkeys(variables, "")}
    for left, right in combinations(places, 2):
        places_of_both = dict.fromkeys(p for p in (places[left], places[right]) if p)
        for node in _comparisons(left, right):
            yield Atom(node=node, cost=OTHER, origin=" and ".join(places_of_both))


def _choices(template: Template, variables: Variables) -> Iterator[Variables]:
    """Yields every choice of different variables for the holes of the template (its free
    variables). Each chosen variable has the sort of its hole.
    """
    for chosen in permutations(variables, len(template.holes)):
        if all(x.sort == hole.sort for x, hole in zip(chosen, template.holes, strict=True)):
            yield chosen


def _filled(template: Template, arguments: Sequence[t.Local]) -> t.Node:
    return substitute(template.node, dict(zip(template.holes, arguments, strict=True)))


def _comparisons(left: t.Node, right: t.Node) -> Iterator[t.Node]:
    if left.sort.name != right.sort.name:
        return
    if not (isinstance(left, t.Local) and isinstance(right, t.Local)):  # these are different
        yield t.Eq(*agree(left, right))
    if left.sort.flavour == "ordered" and not (left.sort.optional or right.sort.optional):
        yield t.Le(left, right)
        yield t.Le(right, left)


def _mirrored(n: t.Node) -> t.Node:
    match n:
        case t.Eq():
            return t.Eq(n.right, n.left)
        case t.Lt():
            return t.Le(n.right, n.left)  # its negation
        case t.Le():
            return t.Lt(n.right, n.left)
        case _:
            return n
