"""`urteil prove`: proves a spec by induction, without bounds, and shows failed conditions.

A condition is that all claims before an action imply one claim after the action. If a condition
fails, its claim is dropped, and the remaining claims are proved again without it. If a property
needs a dropped claim, it is not proved. The spec is then explored up to ten million states. The
verdict on the property is `violated` if the exploration finds a violation, and `undecided`
otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.cache import cache
from checkers.cli import selection
from checkers.cli.command import command, replay_command
from checkers.cli.exploring import expectations, explored, show_counterexamples
from checkers.cli.proposals import (
    CANDIDATES,
    ProposalOptions,
    proposal_options,
    proposed,
    without_bounds,
)
from checkers.cli.run import Interrupted, Run
from checkers.events import Measured, PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.explicit.exploration import Exploration
    from checkers.lemmas.proposing import Proposal
    from checkers.symbolic import Condition, Proof
    from checkers.symbolic.agreement import Agreement, Compared
    from model.language.spec import Spec
    from model.variants import Constants, Variant

DECLINED = "declined"
MILLION = 1_000_000
PROVED = "proved"  # the folder of the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofOptions:
    """The options of a proof.

    `smtlib` is a folder to which the conditions of the proof are written in the format SMT-LIB. If
    `cvc5` is True, the solver cvc5 also decides the conditions. `cache` is the folder in which
    proved conditions are stored; if it is None, none are stored. `houdini` has the limits of a
    search for lemmas after a failed proof; if it is None, there is no search.
    """

    limit: int = 100  # millions of units of Z3's work
    limit_ms: int = 600_000
    smtlib: Path | None = None
    cvc5: bool = False
    cache: Path | None = None
    houdini: ProposalOptions | None = None


DEFAULTS = ProofOptions()


@click.command("prove")
@selection.spec_options(default="transactions-abstract")
@click.option(
    "--limit",
    default=DEFAULTS.limit,
    show_default=True,
    help="Work of Z3 for each condition, in millions of its units; the same on every machine.",
)
@click.option(
    "--limit-ms",
    default=DEFAULTS.limit_ms,
    show_default=True,
    help="Wall time for each condition, in milliseconds: a last resort.",
)
@click.option(
    "--smtlib",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write each condition for other solvers, to FOLDER/SPEC-VERSION/CONDITION.smt2.",
    metavar="FOLDER",
)
@click.option("--cvc5", is_flag=True, help="Decide each condition with cvc5 too, and compare.")
@click.option(
    "--no-cache", is_flag=True, help="Decide every condition now, and keep none of the answers."
)
@click.option("--houdini", is_flag=True, help="If the proof fails, propose lemmas that fix it.")
@click.option(
    "--candidates",
    type=int,
    metavar="N",
    help=f"Most candidate lemmas that --houdini tries.  [default: {CANDIDATES}]",
)
@click.option("--budget", metavar="TIME", help="Time for --houdini, such as 60s.")
@command()
def prove_command(
    run: Run,
    spec: str,
    variant: str | None,
    kafka: str | None,
    assignments: Sequence[str],
    patterns: Sequence[str],
    limit: int,
    limit_ms: int,
    smtlib: Path | None,
    cvc5: bool,
    no_cache: bool,
    houdini: bool,
    candidates: int | None,
    budget: str | None,
) -> None:
    """Prove SPEC for any number of replicas, offsets, epochs and transactions.

    If the proof fails, a search of at most 10 million states looks for a run that breaks a
    property. --set sets constants of this search; the proof needs no constants. For a bug, each
    constant without --set has its value in the bug's recorded counterexample. With --kafka, if the
    proof for the release fails, the version of the spec with the fix is proved, too. A condition
    that was proved before is not proved again, unless its formulas, Z3, the seed or a limit
    changed.

    With --houdini, if the proof fails, lemmas are proposed that prove the undecided properties.
    They are made of formulas that the spec uses, and printed as text to paste into the spec.

    
    urteil prove transactions-abstract
    urteil prove transactions-abstract --variant v1
    urteil prove idempotence-abstract --kafka 4.3
    urteil prove transactions-abstract --cvc5 --smtlib build/conditions
    urteil prove my_spec.py --houdini --budget 60s
    """
    from model.shipped import fix_of

    for option, value in (("--limit", limit), ("--limit-ms", limit_ms)):
        if value < 1:
            raise InputFault(f"{option} {value}: must be at least 1")
    if cvc5:
        import_module("checkers.symbolic.second_solver")  # fails at once if cvc5 is not installed
    chosen, made = selection.selected(spec, variant, assignments, kafka)
    _refuse_integers(chosen, made)
    names = selection.properties(made, patterns, f"{chosen.spec} {chosen.name}")
    read = {claim.name for claim in made.claims}
    names = names if patterns else tuple(name for name in names if name in read)
    selection.note_releases(run, chosen)
    options = ProofOptions(
        limit=limit,
        limit_ms=limit_ms,
        smtlib=smtlib,
        cvc5=cvc5,
        cache=None if no_cache else cache(PROVED),
        houdini=proposal_options(made, houdini=houdini, candidates=candidates, budget=budget),
    )
    constants = selection.settings(assignments)
    at = {**(chosen.at if chosen.breaks else {}), **constants}
    proof = prove(run, chosen, made, names, options, at=at)
    if kafka is None or proof.holds:
        return
    fix = fix_of(chosen)
    if fix is not chosen:
        selection.note_releases(run, fix)
        again = f"urteil check {fix.spec} --variant {fix.name}"
        prove(run, fix, fix.make(constants), names, options, command=again)


def _refuse_integers(variant: Variant, spec: Spec) -> None:
    """Raises InputFault if a built-in spec uses integers, which a proof cannot use. The error names
    a command that works for the spec. A user's own spec is not rejected.
    """
    from model.specs import SPECS

    names = [name for name, sort in spec.sorts.items() if sort.flavour == "int"]
    if not names or variant.spec.endswith(".py"):
        return
    abstract = f"{variant.spec}-abstract"
    instead = f"prove {abstract}, or " if abstract in SPECS else ""
    raise InputFault(
        f"{variant.spec} has integers ({', '.join(names)}), which a proof cannot use\n"
        f"  {instead}explore it: urteil check {variant.spec}"
    )


def prove(
    run: Run,
    variant: Variant,
    spec: Spec,
    properties: Sequence[str],
    options: ProofOptions = DEFAULTS,
    *,
    at: Constants | None = None,
    expected: Mapping[str, Verdict] | None = None,
    command: str | None = None,
) -> Proof:
    """Tries to prove the spec, emits the verdicts, and returns the proof.

    If the proof fails, the spec is explored to find a run that breaks a property. The exploration
    uses the constants `at`; if `at` is None, it uses the constants of `spec`. Raises Interrupted
    after the verdicts if the user pressed Ctrl-C.
    """
    from checkers import symbolic

    def progress(condition: Condition, number: int, of: int) -> None:
        run.progress(f"{variant.spec} {variant.name}: {number} of {of} conditions: {condition}")

    kept = None if options.cache is None else symbolic.ProofCache(options.cache)

    def proved(of: Spec) -> Proof:
        return symbolic.prove(
            of,
            seed=run.seed,
            units=options.limit * MILLION,
            limit_ms=options.limit_ms,
            progress=progress,
            poll=run.poll,
            cache=kept,
        )

    proof = proved(spec)
    if kept is not None and kept.fault:
        run.note(f"proved conditions are not kept: {kept.fault}\n  --no-cache needs no folder")
    second = None if proof.interrupted else for_other_solvers(run, variant, spec, proof, options)
    right = expectations(variant, properties, dict(at or {}), expected)
    runs = proposal = None
    if proof.failed and not proof.interrupted:
        show_failures(run, variant, spec, proof, options, expected="violated" in right.values())
        if options.houdini is not None:
            proposal = proposed(run, variant, spec, proof, proved, options.houdini)
    if _needs_a_run(proof, proposal):
        searched = spec if at is None else variant.make(at)
        runs = explored(run, variant, searched, properties, budget=None)
        show_counterexamples(
            run, variant, searched, runs, command or replay_command(), right, heading="a real run: "
        )
    for name in properties:
        verdict, reason, steps = verdict_on(name, proof, runs, proposal)
        run.emit(
            PropertyDecided(
                property=name,
                statement=selection.statement(spec, name),
                verdict=verdict,
                expected=right[name],
                engine="z3",
                spec=variant.spec,
                variant=variant.name,
                in_force=selection.in_force(variant),
                trace_length=steps,
                seconds=round(proof.seconds, 3),
                reason=reason,
            )
        )
    run.emit(Measured(metric="proof", value=str(proof)))
    if runs is not None:
        from checkers.explicit.exploration import STOPPED

        text = f"{runs.distinct:,} states, {STOPPED[runs.why_stopped]}"
        run.emit(Measured(metric="search for a run", value=text))
    if kept is not None:
        run.emit(Measured(metric="conditions from the cache", value=proof.from_cache))
    if second is not None:
        run.emit(Measured(metric="cvc5", value=str(second)))
    searching = runs is not None and runs.why_stopped == "interrupted"
    comparing = second is not None and second.interrupted
    proposing = proposal is not None and proposal.why == "interrupted"
    if proof.interrupted or searching or comparing or proposing:
        raise Interrupted
    return proof


def _needs_a_run(proof: Proof, proposal: Proposal | None) -> bool:
    """True if some claim may be false: the proof failed, and no proposed lemmas repair it."""
    if not proof.failed or proof.interrupted:
        return False
    return proposal is None or bool(proposal.missing and proposal.why != "interrupted")


def for_other_solvers(
    run: Run, variant: Variant, spec: Spec, proof: Proof, options: ProofOptions
) -> Agreement | None:
    """Writes the conditions of a proof as SMT-LIB files if `options.smtlib` is set. Compares the
    answers of the solvers cvc5 and Z3 if `options.cvc5` is set.

    Returns the result of the comparison, or None without a comparison. Raises EnginesDisagree if
    cvc5 and Z3 decide a condition differently.
    """
    from checkers.symbolic.smtlib import scripts

    if options.smtlib is None and not options.cvc5:
        return None
    conditions = list(scripts(spec, proof))
    title = f"{Path(variant.spec).name}-{variant.name}"
    if options.smtlib is not None:
        folder = options.smtlib / title
        folder.mkdir(parents=True, exist_ok=True)
        for script in conditions:
            (folder / f"{script.name}.smt2").write_text(script.file(), encoding="utf-8")
        run.note(f"{folder}: {len(conditions)} conditions in SMT-LIB")
    if not options.cvc5:
        return None
    from checkers.symbolic.agreement import agreement

    def progress(one: Compared, number: int, of: int) -> None:
        run.progress(f"{title}: cvc5, {number} of {of} conditions: {one.script.title}")

    return agreement(conditions, limit_ms=options.limit_ms, progress=progress)


def verdict_on(
    name: str, proof: Proof, runs: Exploration | None, proposal: Proposal | None = None
) -> tuple[Verdict, str | None, int | None]:
    """Returns the verdict on a property, the reason for the verdict, and the length of the
    counterexample.

    `runs` is the exploration of the spec, or None if the spec was not explored. `proposal` has the
    proposed lemmas, or None if none were searched for. If the property is violated, the reason is
    None. If the property is not violated, the length is None. Raises EnginesDisagree if a proved
    property has a counterexample.
    """
    from checkers.symbolic import EnginesDisagree

    if name not in {claim.name for claim in proof.claims}:
        return (
            "undecided",
            "prove decides invariants only: use urteil check for this property",
            None,
        )
    discovery = runs.discoveries.get(name) if runs is not None else None
    violated = discovery if discovery is not None and discovery.verdict == "violated" else None
    by_proposal = proposal is not None and name in proposal.proves
    if violated is not None and (by_proposal or name in proof.proved):
        raise EnginesDisagree(f"{name} is proved, and a run violates it")
    if proposal is not None and by_proposal:
        return "holds", without_bounds(proposal), None
    if name in proof.proved:
        assumed = "".join(f"; assumed: {one}" for one in proof.assumptions)
        dropped = f"; not needed: {', '.join(proof.dropped)}" if proof.dropped else ""
        kept = sum(c.claim in proof.proved for c in proof.conditions)
        return "holds", f"{kept} conditions, without bounds{dropped}{assumed}", None
    if violated is not None:
        return "violated", None, violated.steps
    why = "; ".join(line.strip() for line in proof.why_undecided(name).splitlines())
    return "undecided", why, None


def show_failures(
    run: Run,
    variant: Variant,
    spec: Spec,
    proof: Proof,
    options: ProofOptions,
    *,
    expected: bool,
) -> None:
    """Emits a counterexample for each failed condition of a proof, with the conjunct that is false.
    A condition that Z3 cannot express has no counterexample.

    The counterexample has one step. All claims are true before the step, and one claim is false
    after it.
    """
    from checkers import symbolic
    from checkers.report.failed_condition import why_condition_failed

    for failed in proof.failed:
        if failed.how.startswith(DECLINED):
            continue  # Z3 cannot express it: the verdict has the reason
        found = symbolic.counterexample_to_induction(
            spec,
            failed.action,
            failed.claim,
            seed=run.seed,
            units=options.limit * MILLION // 5,
            limit_ms=options.limit_ms,
        )
        title = f"✗ {failed.action} does not preserve {failed.claim} ({failed.verdict})"
        file = f"{variant.spec}-{variant.name}-{failed.action}-{failed.claim}.txt"
        lines = [f"{title}: {variant.spec} {variant.name}", str(found)]
        if isinstance(found, symbolic.CounterexampleToInduction):
            lines += why_condition_failed(spec, found)
        text = "\n".join(lines)
        run.keep(failed.claim, text, file, verdict_expected=expected)
