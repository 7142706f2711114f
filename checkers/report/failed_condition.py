"""Explains in lines of text why a proof condition failed: the false conjunct of the claim, and
the lemmas to look at.

A condition fails at a *counterexample to induction*: a state in which all claims are true, and a
step after which one claim is false. Either the protocol is wrong, or a lemma that should exclude
the state is missing or too weak. In the second case, a lemma about the same variables is the first
to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from checkers.explicit.exploration import Step
from checkers.report.counterexample import noted, why_claim_false
from model.language import terms as t
from model.language.explain import Reason, why_false
from model.language.interpreter import Interpreter
from model.language.spec import Spec

if TYPE_CHECKING:
    from checkers.symbolic import CounterexampleToInduction

NAMED: Final = 2  # lemmas to look at, at most


def why_condition_failed(spec: Spec, found: CounterexampleToInduction) -> Iterator[str]:
    """Yields lines with the false conjunct of the claim after the step, and the lemmas to look at.

    If no lemma is about the variables of this conjunct, the lines recommend a lemma about these
    variables.
    """
    claim = next(c for c in spec.claims if c.name == found.claim)
    after = Step(action=found.action, values=tuple(found.arguments.values()), state=found.after)
    yield from noted("false because", why_claim_false(found.writer, claim, [after]))
    reason = why_false(Interpreter(found.writer.ranges), claim.formula, found.after)
    variables = variables_of(reason)
    about = ", ".join(sorted(variables))
    lemmas = lemmas_about(spec, found, variables)
    named = f"{', '.join(lemmas)}: about {about}" if lemmas else f"write a lemma about {about}"
    yield from noted("look at", [named])


def variables_of(reason: Reason) -> frozenset[str]:
    """Returns the state variables that are read by the false conjunct, or by the premises of the
    formula that contains it.
    """
    return frozenset().union(*map(t.reads, (reason.conjunct, *reason.premises)))


def lemmas_about(
    spec: Spec, found: CounterexampleToInduction, variables: frozenset[str]
) -> list[str]:
    """Returns the names of at most two lemmas that may be too weak. Each of them reads a state
    variable in `variables`.

    Three numbers decide which lemmas come first. Each number counts some variables that the lemma
    reads. The second and the third number decide only if the earlier numbers are equal.

    - The first number counts the variables in `variables` that the step changes. The largest number
      comes first.
    - The second number counts the variables in `variables`, and the variables that differ from
      their least value before the step. The largest number comes first.
    - The third number counts all variables. The smallest number comes first.
    """
    changed = {name for (name, keys), x in found.after.items() if x != found.state[name, keys]}
    set_before = {name for (name, keys), x in found.state.items() if x != found.quiet[name, keys]}
    reads = {c.name: t.reads(c.formula) for c in spec.claims if c.lemma and c.name != found.claim}

    def rank(name: str) -> tuple[int, int, int]:
        of = reads[name]
        return -len(of & variables & changed), -len(of & (variables | set_before)), len(of)

    return sorted((name for name, of in reads.items() if of & variables), key=rank)[:NAMED]
