"""Implements `urteil prove --houdini`: if a proof fails, searches for lemmas, and returns their
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from checkers.cli import selection
from checkers.cli.run import Run
from checkers.events import Measured
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.lemmas.proposing import Proposal
    from checkers.lemmas.text import Lemma
    from checkers.symbolic import Proof
    from model.language.spec import Spec
    from model.variants import Variant

CANDIDATES: Final = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOptions:
    """The limits of a search for lemmas: the number of candidates that it tries, and its time.
    `seconds` is None if the time is not limited.
    """

    candidates: int = CANDIDATES
    seconds: float | None = None


def proposal_options(
    spec: Spec, *, houdini: bool, candidates: int | None, budget: str | None
) -> ProposalOptions | None:
    """Returns the options of a search for lemmas, or None without `--houdini`.

    Raises InputFault for an invalid option. Without `--houdini`, an option that needs `--houdini`
    is invalid.

    A budget in pyproject.toml may be meant for other searches. Without `--houdini` this budget is
    ignored. With `--houdini` it is ignored if it is not a number of seconds.
    """
    if _is_from_file("budget") and not (houdini and selection.budget(budget)[1]):
        budget = None
    for option, value in (("--candidates", candidates), ("--budget", budget)):
        if value is not None and not houdini:
            raise InputFault(f"{option} {value}: only with --houdini\n  add --houdini")
    if not houdini:
        return None
    if candidates is not None and candidates < 1:
        raise InputFault(f"--candidates {candidates}: must be at least 1")
    states, seconds = selection.budget(budget)
    if states is not None:
        raise InputFault(f"--budget {budget}: a search for lemmas takes seconds, such as 60s")
    integers = [name for name, sort in spec.sorts.items() if sort.flavour == "int"]
    if integers:
        raise InputFault(
            f"--houdini: the spec has integers ({', '.join(integers)}), which a proof cannot use\n"
            "  make the sort Ordered, or leave out --houdini"
        )
    return ProposalOptions(candidates=candidates or CANDIDATES, seconds=seconds)


def _is_from_file(parameter: str) -> bool:
    context = click.get_current_context()
    return context.get_parameter_source(parameter) is ParameterSource.DEFAULT_MAP


def proposed(
    run: Run,
    variant: Variant,
    spec: Spec,
    proof: Proof,
    prove: Callable[[Spec], Proof],
    options: ProposalOptions,
) -> Proposal | None:
    """Searches for lemmas that prove the undecided invariants of the proof, and emits the
    result. Returns None if no invariant is undecided.
    """
    from checkers.lemmas.proposing import Proposer

    targets = [c.name for c in proof.claims if not c.lemma and c.name not in proof.proved]
    if not targets:
        return None
    title = f"{variant.spec} {variant.name}"
    found = Proposer(
        spec,
        targets,
        prove,
        candidates=options.candidates,
        seconds=options.seconds,
        seed=run.seed,
        progress=lambda text: run.progress(f"{title}: lemmas: {text}"),
        poll=run.poll,
    ).run()
    if found.lemmas:
        about = ", ".join(found.proves)
        run.keep(about, text_of(title, found), f"{variant.spec}-{variant.name}-lemmas.txt")
    run.emit(Measured(metric="lemmas", value=in_brief(found)))
    return found


def text_of(title: str, found: Proposal) -> str:
    """Returns the source text of the proposed lemmas. Its heading names the claims that the
    lemmas prove.
    """
    verb, it = ("proves", "it") if len(found.lemmas) == 1 else ("prove", "them")
    head = [f"✓ {counted(len(found.lemmas), 'lemma')} {verb} {', '.join(found.proves)}: {title}"]
    if found.missing:
        head.append(f"  still not proved: {', '.join(found.missing)} ({found.why})")
    head.append(f"  paste {it} into the spec, then run urteil prove again")
    head.append(f"  from model.language import {', '.join(words_in(found.lemmas))}")
    return "\n\n".join(["\n".join(head), *(one.source for one in found.lemmas)])


def words_in(lemmas: Sequence[Lemma]) -> list[str]:
    """Returns the names that the lemmas need from `model.language`, so that a spec can import
    them.
    """
    import model.language

    used = set(re.findall(r"\w+", "\n".join(f"lemma {one.text} Bool" for one in lemmas)))
    return [word for word in model.language.__all__ if word in used]


def in_brief(found: Proposal) -> str:
    """Returns one line about the search: its result, the reason why it ended, and its effort."""
    effort = f"{found.seconds:.1f} s"
    if found.tried:
        effort = (
            f"{found.tried:,} of {found.true:,} candidates tried that are true in "
            f"{found.states:,} explored states, {effort}"
        )
    result = f"{len(found.lemmas)} proposed" if found.lemmas else "none found"
    if found.why:
        result += f": {found.why}"
    if found.false:
        result += f"; exploration refutes {', '.join(found.false)}"
    return f"{result}; {effort}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def without_bounds(found: Proposal) -> str:
    """Returns a text about the proof of the claims: how many conditions were proved, the names of
    the proposed lemmas, and the assumptions of the proof.
    """
    assert found.proof is not None
    conditions = sum(c.claim in found.proof.proved for c in found.proof.conditions)
    assumed = "".join(f"; assumed: {one}" for one in found.proof.assumptions)
    lemmas = _listed([one.claim.name for one in found.lemmas])
    return f"{conditions} conditions, without bounds, with the proposed {lemmas}{assumed}"


def _listed(names: Sequence[str]) -> str:
    return f"lemma{'' if len(names) == 1 else 's'} {', '.join(names)}"
