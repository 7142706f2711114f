"""Converts a candidate into a lemma: a text to paste into the spec, and a claim.

The language of specs makes the claim from the text. So a proof of the claim is a proof of the text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import model.language
from checkers.lemmas.pool import Candidate
from checkers.lemmas.source import Clause, Printer
from model.language import Bool
from model.language import terms as t
from model.language.spec import Claim, Spec

WIDTH: Final = 100
INDENT: Final = "    "
LONGEST: Final = 60  # characters of a name
BETWEEN: Final = {t.Eq: "is", t.Le: "at_most", t.Lt: "below", t.Succ: "before"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lemma:
    """A proposed lemma: its text, the claim that this text defines, and a sentence about its
    origin.
    """

    claim: Claim
    text: Clause
    origin: str

    @property
    def source(self) -> str:
        """The Python method that a user pastes into the spec."""
        head = ["@lemma", f"def {self.claim.name}(s) -> Bool:", *_docstring(self.origin)]
        return "\n".join([*head, *_returned(self.text)])


def lemma_of(spec: Spec, candidate: Candidate, taken: Collection[str]) -> Lemma:
    """Returns the candidate as a lemma. The name of the lemma is not in `taken`."""
    clause, context = candidate.clause, candidate.context
    calls = {
        a.node: f"s.{a.predicate}({', '.join(x.name for x in a.arguments)})"
        for a in context.atoms
        if a.predicate
    }
    text = Printer(spec, calls).clause(clause.variables, clause.literals)
    atoms = [context.atoms[x // 2] for x in candidate.literals]
    places = dict.fromkeys(place for a in atoms for place in a.origin.split(" and "))
    origin = f"Proposed from {listed(list(places))}."
    name = unused(name_of(candidate), taken)
    claim = Claim(name, origin, traced(spec, str(text)), lemma=True)
    return Lemma(claim=claim, text=text, origin=origin)


def traced(spec: Spec, text: str) -> t.Node:
    """Returns the formula that `text` defines in the language of specs."""
    words = {name: getattr(model.language, name) for name in model.language.__all__}
    made: object = eval(text, {**words, **spec.sorts, "s": spec})
    assert isinstance(made, Bool)
    return made.node


def with_lemmas(spec: Spec, lemmas: Sequence[Claim], without: Collection[str] = ()) -> Spec:
    """Returns the spec with `lemmas` added, and without the claims and lemmas that `without` names.

    The spec's tables `using` and `consequences` lose the rows that mention a name in `without`.
    """
    kept = tuple(c for c in spec.claims if c.name not in without)
    tables = {
        name: {row: rest for row, rest in table.items() if not _names_of(row, rest) & set(without)}
        for name in ("using", "consequences")
        if (table := getattr(type(spec), name, None)) is not None
    }
    made: Spec = object.__new__(type(type(spec).__name__, (type(spec),), tables))
    made.__dict__.update(spec.__dict__)
    made.__dict__["claims"] = (*kept, *lemmas)
    return made


def _names_of(row: str | tuple[str, ...], rest: Sequence[str]) -> set[str]:
    return {*(row if isinstance(row, tuple) else (row,)), *rest}


def name_of(candidate: Candidate) -> str:
    """Returns a name that describes the candidate, such as `complete_implies_decided`. A name of
    more than LONGEST characters is shortened.
    """
    context = candidate.context
    premises: dict[str, None] = {}
    conclusions: dict[str, None] = {}
    for literal in candidate.literals:
        atom = context.atoms[literal // 2]
        word = atom.predicate or word_of(atom.node)
        if literal // 2 in context.twins:
            word = f"same_{word.partition('_is_')[0]}"
        (premises if literal % 2 else conclusions)[word] = None
    conclusions.update({f"one_{a.sort.name}".lower(): None for a, _ in context.pairs})
    left, right = "_and_".join(premises), "_or_".join(conclusions)
    name = f"{left}_implies_{right}" if conclusions else f"never_{left}"
    if len(name) <= LONGEST:
        return name if premises else right
    return (
        "about_" + "_".join(dict.fromkeys((*premises, *conclusions)))[:LONGEST].rpartition("_")[0]
    )


def word_of(n: t.Node) -> str:
    """Returns a name that describes an atom, such as `low_at_most_high`."""
    match n:
        case t.Get():
            return n.variable.name.rpartition(".")[2]
        case t.Eq() | t.Le() | t.Lt() | t.Succ():
            between = BETWEEN[type(n)]
            return f"{word_of(n.left)}_{between}_{word_of(n.right)}"
        case t.Least():
            return "nothing" if n.sort.optional else "least"
        case t.Local():
            return n.name
        case t.Some():
            return word_of(n.of)
        case t.Forall() | t.Exists():
            read = sorted(name.rpartition(".")[2] for name in t.reads(n))
            return f"{'all' if isinstance(n, t.Forall) else 'some'}_{read[0]}"
        case _:
            return "formula"


def unused(name: str, taken: Collection[str]) -> str:
    return next(x for x in (name, *(f"{name}_{k}" for k in range(2, 999))) if x not in taken)


def listed(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def _docstring(text: str) -> list[str]:
    lines = textwrap.wrap(f'"""{text}', WIDTH - len(INDENT) - 3)
    lines = [f'{lines[0]}"""'] if len(lines) == 1 else [*lines, '"""']
    return [INDENT + line for line in lines]


def _returned(text: Clause) -> list[str]:
    """Returns the lines of the `return` statement with the formula."""
    line = f"{INDENT}return {text}"
    if len(line) <= WIDTH or not text.loops:
        return [line]
    body = [text.body]
    if len(text.body) > WIDTH - 2 * len(INDENT) and text.call:
        body = [f"{text.call}(", *(f"{INDENT}{x}," for x in text.arguments), ")"]
    inner = [2 * INDENT + part for part in (*body, *text.loops)]
    return [f"{INDENT}return forall(", *inner, f"{INDENT})"]
