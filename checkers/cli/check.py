"""`urteil check`: explores a spec and shows the shortest way to each violation."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import click

from checkers.cli import selection
from checkers.cli.run import Interrupted, Run, command, replay
from checkers.events import Measured, PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.explicit.exploration import Exploration, Progress
    from model.language.spec import Spec
    from model.variants import Variant


@click.command("check")
@selection.spec_options(default="replication")
@click.option(
    "--budget", metavar="60s|200k-states", help="How much to spend; what is open then is undecided."
)
@click.option("--engine", metavar="compiled|numpy|python", help="What explores.")
@click.option("--fingerprints", is_flag=True, help="Keep 64 bits of each state, not the state.")
@click.option("--memory", metavar="4GB|500MB", help="What is more goes to a temporary folder.")
@click.option("--threads", type=click.IntRange(1, 16), default=1, help="For many states: 2.")
@click.option("--coverage", is_flag=True, help="Count which conjuncts disable each action.")
@click.option(
    "--symmetry", is_flag=True, help="One state for all that differ in who is who; no liveness."
)
@click.option(
    "--simulate", is_flag=True, help="Random walks, for what is too large: violations, no proof."
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="ACTION=N",
    help="How much more walks take what the glob names; repeatable.",
)
@command()
def check_command(
    run: Run,
    spec: str,
    variant: str | None,
    given: Sequence[str],
    patterns: Sequence[str],
    budget: str | None,
    engine: str | None,
    fingerprints: bool,
    memory: str | None,
    threads: int,
    coverage: bool,
    symmetry: bool,
    simulate: bool,
    weights: Sequence[str],
) -> None:
    """Explore SPEC (a name, or a path to a .py file): every reachable state.

    \b
    urteil check replication --variant kip-101 --set replicas=3 --set as_published=true
    urteil check replication --property 'strong_*' --budget 60s
    urteil check my_protocol.py
    urteil check replication --set replicas=5 --simulate --weight '*shrink*=3' --budget 60s
    """
    from checkers.explicit.vacuity import vacuous

    chosen, made = selection.selected(spec, variant, given)
    names = selection.properties(made, patterns, f"{chosen.spec} {chosen.name}")
    how = How(
        engine=engine,
        fingerprints=fingerprints,
        memory=selection.memory(memory),
        threads=threads,
        coverage=coverage,
        symmetry=symmetry,
    )
    if weights and not simulate:
        raise InputFault("--weight is for random walks: add --simulate")
    walks = selection.weights(weights, made) if simulate else None
    found = check(run, chosen, made, names, budget=budget, how=how, walks=walks)
    for note in found.notes:
        run.note(note)
    if found.symmetric:
        run.note(f"states that differ only in which {', '.join(found.symmetric)} is which are one")
    if found.collision:
        run.note(f"P(two states were taken for one) is below {found.collision:.1g}")
    tell_coverage(run, made, found)
    for name, sighting in found.witnesses.items():
        run.emit(Measured(what=f"witness {name}", value=sighting.states, unit="states"))
    for empty in vacuous(made, found):
        run.note(f"{empty}; a guard may be too strong, or the scope too small")


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """What explores, and what it keeps: see `checkers.explicit.search.explore`."""

    engine: str | None = None
    fingerprints: bool = False
    memory: int | None = None
    threads: int = 1
    coverage: bool = False
    symmetry: bool = False


def tell_coverage(run: Run, spec: Spec, found: Exploration) -> None:
    """Deadlocks; and where it was counted, how often actions were taken, and what disabled them."""
    if found.deadlocks:
        run.emit(Measured(what="deadlocks", value=found.deadlocks, unit="states"))
    for action in spec.actions if found.disabled else ():
        taken = found.taken[action.name]
        run.emit(Measured(what=f"taken {action.name}", value=taken, unit="times"))
        for guard, times in zip(action.guards, found.disabled[action.name], strict=True):
            what = f"disabled {action.name}, line {guard.line}: {guard}"
            run.emit(Measured(what=what, value=times, unit="times"))


def check(
    run: Run,
    variant: Variant,
    spec: Spec,
    properties: Sequence[str],
    *,
    expected: Mapping[str, Verdict] | None = None,
    budget: str | None = None,
    how: How | None = None,
    command: str | None = None,
    walks: Mapping[str, float] | None = None,
) -> Exploration:
    """Explores, or walks at random where `walks` has weights; tells what was found, and returns it.

    After telling it, raises Interrupted, or InputFault where a term of the spec has no value.
    """
    if walks is None:
        found = explored(run, variant, spec, properties, budget, how)
    else:
        found = walked(run, spec, properties, budget, walks)
    constants = selection.constants(spec)
    right = expectations(variant, properties, constants, expected)
    show(run, variant, spec, found, command or replay(), right)
    for name, discovery in found.discoveries.items():
        run.emit(
            PropertyDecided(
                property=name,
                statement=selection.statement(spec, name),
                verdict=discovery.verdict,
                expected=right[name],
                engine="explicit" if walks is None else "random walks",
                spec=variant.spec,
                variant=variant.name,
                constants=constants,
                distinct_states=found.distinct,
                generated_states=found.generated,
                depth=found.depth,
                trace_length=discovery.steps if discovery.verdict == "violated" else None,
                seconds=round(found.seconds, 3),
                reason=discovery.reason or None,
            )
        )
    if found.why_stopped == "interrupted":
        raise Interrupted
    if found.ill_defined is not None:
        raise InputFault(f"{variant.spec} {variant.name} is ill-defined: {found.ill_defined}")
    return found


def explored(
    run: Run,
    variant: Variant,
    spec: Spec,
    properties: Sequence[str],
    budget: str | None,
    how: How | None = None,
) -> Exploration:
    """The exploration within the budget, its progress told; all of it where there is none."""
    from checkers.explicit.exploration import Budget
    from checkers.explicit.liveness import with_liveness
    from checkers.explicit.search import explore

    states, seconds = selection.budget(budget)
    limits = Budget(seconds=seconds) if states is None else Budget(states=states)
    lively = [c.name for c in spec.liveness_properties if c.name in properties]
    if lively and how is not None and how.symmetry:
        raise InputFault(
            f"--symmetry does not decide liveness, as a cycle of representatives is none of states:"
            f" leave it out, or choose by --property, without {', '.join(lively)}"
        )
    found = explore(
        spec,
        properties=[name for name in properties if name not in lively],
        budget=limits,
        progress=lambda at: run.progress(f"{variant.spec} {variant.name}: {told(at)}"),
        **asdict(how or How()),
    )
    decided = with_liveness(spec, found, lively, None if budget is None else limits)
    return replace(decided, discoveries={name: decided.discoveries[name] for name in properties})


def walked(
    run: Run,
    spec: Spec,
    properties: Sequence[str],
    budget: str | None,
    weights: Mapping[str, float],
) -> Exploration:
    """What random walks find within the budget; of liveness they know nothing."""
    from checkers.explicit.exploration import Budget, Discovery, Task
    from checkers.explicit.simulation import simulate

    states, seconds = selection.budget(budget or "100k-states")
    claims = [c for c in (*spec.claims, *spec.action_properties) if c.name in properties]
    limits = Budget(states=states, seconds=seconds)
    task = Task(spec=spec, claims=claims, budget=limits)
    found = simulate(task, seed=run.seed, weights=weights)
    lively = {
        c.name: Discovery(claim=c, verdict="undecided", reason="random walks have an end")
        for c in spec.liveness_properties
    }
    every = {**found.discoveries, **lively}
    return replace(found, discoveries={name: every[name] for name in properties})


def show(
    run: Run,
    variant: Variant,
    spec: Spec,
    found: Exploration,
    command: str,
    right: Mapping[str, Verdict | None],
    heading: str = "",
) -> None:
    """A counterexample of every violated property, shortest first: as text, as SVG, as ITF."""
    import json

    from checkers.report.counterexample import counterexample
    from checkers.report.itf import document
    from checkers.report.space_time import space_time

    title = f"{variant.spec} {variant.name}"
    for name in found.violated:
        file = f"{variant.spec}-{variant.name}-{name}"
        discovery = found.discoveries[name]
        trace = document(spec, found.ranges, discovery, name=variant.spec, variant=variant.name)
        drawing = space_time(spec, found.ranges, discovery)
        kept = run.written(f"{file}.itf.json", json.dumps(trace) + "\n")
        run.written(f"{file}.svg", drawing + "\n")
        again = [command]
        if kept is not None and run.folder is not None:
            again.append(f"urteil replay {shlex.quote(str(run.folder.path / kept))}")
        text = counterexample(spec, found, name, spec_name=title, replay=again, verbose=run.verbose)
        run.keep(
            name,
            heading + text,
            f"{file}.txt",
            verdict_expected=right.get(name) == "violated",
            drawing=drawing,
            trace=trace,
        )


def expectations(
    variant: Variant,
    names: Sequence[str],
    constants: selection.Settings,
    told: Mapping[str, Verdict] | None = None,
) -> dict[str, Verdict | None]:
    """The right verdicts, where they are known: as told, else as the table of variants says.

    A variant that nothing breaks holds; of another, what its row names fails at its constants.
    """
    shown = {**constants, **variant.at} == constants
    known: dict[str, Verdict | None] = dict.fromkeys(names)
    for name in names:
        if variant.breaks is None:
            known[name] = None if variant.spec.endswith(".py") else "holds"
        elif name == variant.breaks and shown:
            known[name] = "violated"
    return {**known, **(told or {})}


def told(at: Progress) -> str:
    """Progress in words."""
    rate = at.distinct / at.seconds if at.seconds else 0.0
    return f"{at.distinct:,} states, depth {at.depth}, {at.queue:,} queued, {rate:,.0f} states/s"
