"""`urteil check`: explores a spec and prints the shortest counterexample of each violation."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from checkers.cli import selection
from checkers.cli.check_on_spark import explored_on_spark, session_for
from checkers.cli.command import command, replay_command
from checkers.cli.run import Interrupted, Run
from checkers.cli.search_options import SPARK, SearchOptions, search_options
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
    "--budget",
    metavar="60s|200k-states",
    help="Stop after this time or number of states; open properties are then undecided."
    " Default: 10M-states.",
)
@search_options
@click.option(
    "--simulate",
    is_flag=True,
    help="Take random walks instead, for large scopes: finds violations, proves nothing.",
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="ACTION=N",
    help="Relative weight of matching actions in random walks, such as 'crash*=3'; repeatable.",
)
@command()
def check_command(
    run: Run,
    spec: str,
    variant: str | None,
    kafka: str | None,
    assignments: Sequence[str],
    patterns: Sequence[str],
    budget: str | None,
    simulate: bool,
    weights: Sequence[str],
    **options: Any,
) -> None:
    """Explore every reachable state of SPEC, a name or the path of a .py file.

    \b
    urteil check replication --variant kip-101 --set replicas=3 --set as_published=true
    urteil check replication --property 'strong_*' --budget 60s
    urteil check my_protocol.py
    urteil check reassignment --kafka 4.3
    urteil check replication --set replicas=5 --simulate --weight '*shrink*=3' --budget 60s
    urteil check replication --engine spark --master spark://HOST:7077 --budget 1000M-states

    With --simulate, take random walks instead. With --kafka, also check the bugs that the release
    has, and the rule that fixes each violation; without SPEC, check all specs.
    """
    from checkers.explicit.vacuity import vacuous

    if weights and not simulate:
        raise InputFault("--weight applies to random walks only: add --simulate")
    search = SearchOptions.of(**options)
    if simulate and search.engine == SPARK:
        raise InputFault("--engine spark --simulate: Spark takes no random walks; leave out one")
    if kafka is not None and not simulate:
        with session_for(search):
            of_release(run, spec, variant, kafka, assignments, patterns, budget, search)
        return
    chosen, made = selection.selected(spec, variant, assignments, kafka)
    names = selection.properties(made, patterns, f"{chosen.spec} {chosen.name}")
    walks = selection.weights(weights, made, chosen.spec) if simulate else None
    found = check(run, chosen, made, names, budget=budget, search=search, walks=walks)
    selection.note_releases(run, chosen)
    for note in found.notes:
        run.note(note)
    if budget is None and found.why_stopped == "states":
        run.note(
            f"stopped after {found.distinct:,} states; explore more with --budget 100M-states, "
            "or for a time with --budget 600s"
        )
    if found.symmetric:
        run.note(f"symmetry: states equal up to a renaming of {', '.join(found.symmetric)} are one")
    if found.collision:
        run.note(
            f"fingerprints: two states had the same hash with probability < {found.collision:.1g}"
        )
    emit_coverage(run, made, found)
    for name, sighting in found.witnesses.items():
        run.emit(Measured(metric=f"witness {name}", value=sighting.states, unit="states"))
    for empty in vacuous(made, found):
        run.note(f"{empty}; a guard may be too strong, or the scope too small")


def of_release(
    run: Run,
    spec: str,
    variant: str | None,
    kafka: str,
    assignments: Sequence[str],
    patterns: Sequence[str],
    budget: str | None,
    search: SearchOptions,
) -> None:
    """Checks SPEC with the rules of a release of Kafka; without SPEC, checks all specs."""
    from checkers.cli.check_release import EVERY, ReleaseOptions, check_release
    from model.releases import newest_patch

    selection.no_variant(variant, kafka)
    newest_patch(kafka)
    source = click.get_current_context().get_parameter_source("spec")
    run.brief = source is ParameterSource.DEFAULT
    if run.brief and assignments:
        raise InputFault(f"--set {assignments[0]}: constants differ by spec: name a SPEC")
    options = ReleaseOptions(
        patterns=patterns,
        settings=selection.settings(assignments),
        budget=budget,
        search=search,
    )
    check_release(run, EVERY if run.brief else spec, kafka, options)


def emit_coverage(run: Run, spec: Spec, found: Exploration) -> None:
    """Emits the number of deadlocks, if there are any.

    With --coverage, also emits how often each action was taken, and how often each guard disabled
    the action.
    """
    if found.deadlocks:
        run.emit(Measured(metric="deadlocks", value=found.deadlocks, unit="states"))
    for action in spec.actions if found.disabled else ():
        taken = found.taken[action.name]
        run.emit(Measured(metric=f"taken {action.name}", value=taken, unit="times"))
        for guard, times in zip(action.guards, found.disabled[action.name], strict=True):
            what = f"disabled {action.name}, line {guard.line}: {guard}"
            run.emit(Measured(metric=what, value=times, unit="times"))


def check(
    run: Run,
    variant: Variant,
    spec: Spec,
    properties: Sequence[str],
    *,
    expected: Mapping[str, Verdict] | None = None,
    budget: str | None = None,
    search: SearchOptions | None = None,
    command: str | None = None,
    walks: Mapping[str, float] | None = None,
) -> Exploration:
    """Explores the spec, emits verdicts and returns the exploration.

    Raises Interrupted after Ctrl-C, and InputFault for an undefined term.
    """
    if walks is None:
        found = explored(run, variant, spec, properties, budget, search)
    else:
        found = walked(run, spec, properties, budget, walks)
    constants = selection.constants(spec)
    right = expectations(variant, properties, constants, expected)
    show_counterexamples(run, variant, spec, found, command or replay_command(), right)
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
                in_force=selection.in_force(variant),
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
        raise InputFault(
            f"{variant.spec} {variant.name} is ill-defined: {found.ill_defined}\n"
            "  make the sort larger in scope(), or exclude this case with a condition"
        )
    return found


def explored(
    run: Run,
    variant: Variant,
    spec: Spec,
    properties: Sequence[str],
    budget: str | None,
    search: SearchOptions | None = None,
) -> Exploration:
    """Explores the spec within the budget, and displays the progress.

    If the budget does not limit the states, at most 10 million states are explored.
    """
    from checkers.explicit.exploration import Budget, Task
    from checkers.explicit.liveness import with_liveness
    from checkers.explicit.search import chosen, explore

    search = search or SearchOptions()
    states, seconds = selection.budget(budget)
    limits = Budget(seconds=seconds) if states is None else Budget(states=states)
    lively = [c.name for c in spec.liveness_properties if c.name in properties]
    if lively and search.symmetry:
        raise InputFault(
            "--symmetry cannot check liveness: a cycle of the reduced graph may not exist in the "
            f"full one; leave it out, or select by --property without {', '.join(lively)}"
        )
    safety = [name for name in properties if name not in lively]

    def progress(at: Progress) -> None:
        run.progress(f"{variant.spec} {variant.name}: {progress_text(at)}")

    if search.engine == SPARK:
        claims = chosen(spec, safety) if safety else ()
        task = Task(spec=spec, claims=claims, budget=limits, progress=progress)
        undecided = [c for c in spec.liveness_properties if c.name in lively]
        decided = explored_on_spark(task, search, undecided)
    else:
        options = {name: value for name, value in asdict(search).items() if name != "master"}
        found = explore(
            spec, properties=safety, liveness=lively, budget=limits, progress=progress, **options
        )
        decided = with_liveness(
            spec,
            found,
            lively,
            None if budget is None else limits,
            search.memory,
            lambda part: run.progress(f"{variant.spec} {variant.name}: {part}"),
        )
    return replace(decided, discoveries={name: decided.discoveries[name] for name in properties})


def walked(
    run: Run,
    spec: Spec,
    properties: Sequence[str],
    budget: str | None,
    weights: Mapping[str, float],
) -> Exploration:
    """Takes random walks within the budget, and returns the verdicts and counts.

    A finite walk cannot decide a liveness property, so liveness properties stay undecided.
    """
    from checkers.explicit.exploration import Budget, Discovery, Task
    from checkers.explicit.simulation import simulate

    states, seconds = selection.budget(budget or "100k-states")
    claims = [c for c in (*spec.claims, *spec.action_properties) if c.name in properties]
    limits = Budget(states=states, seconds=seconds)
    task = Task(spec=spec, claims=claims, budget=limits)
    found = simulate(task, seed=run.seed, weights=weights)
    lively = {
        c.name: Discovery(claim=c, verdict="undecided", reason="random walks are finite")
        for c in spec.liveness_properties
    }
    every = {**found.discoveries, **lively}
    return replace(found, discoveries={name: every[name] for name in properties})


def show_counterexamples(
    run: Run,
    variant: Variant,
    spec: Spec,
    found: Exploration,
    command: str,
    right: Mapping[str, Verdict | None],
    heading: str = "",
) -> None:
    """Emits a counterexample of each violated property as text, SVG and ITF, the shortest first."""
    import json

    from checkers.report.counterexample import counterexample
    from checkers.report.itf import document
    from checkers.report.shapes import shape_of_trace
    from checkers.report.space_time import space_time

    title = f"{variant.spec} {variant.name}"
    in_brief = run.brief and variant.breaks is not None
    for name in found.violated:
        file = f"{variant.spec}-{variant.name}-{name}"
        discovery = found.discoveries[name]
        trace = document(spec, found.ranges, discovery, name=variant.spec, variant=variant.name)
        drawing = space_time(spec, found.ranges, discovery)
        kept = run.written(f"{file}.itf.json", json.dumps(trace) + "\n")
        run.written(f"{file}.svg", drawing + "\n")
        replay = [command]
        if kept is not None and run.folder is not None:
            trace_file = shlex.quote(str(run.folder.path / kept))
            replay += [f"urteil explore {trace_file}", f"urteil replay {trace_file}"]
        text = counterexample(
            spec, found, name, spec_name=title, replay=replay, verbose=run.verbose
        )
        run.keep(
            name,
            heading + text,
            f"{file}.txt",
            verdict_expected=right.get(name) == "violated" or in_brief,
            drawing=drawing,
            trace=trace,
            shape=shape_of_trace([step.action for step in discovery.trace], discovery.loop),
        )


def expectations(
    variant: Variant,
    names: Sequence[str],
    constants: selection.Settings,
    expected: Mapping[str, Verdict] | None = None,
) -> dict[str, Verdict | None]:
    """Returns the expected verdict on each property; None if no verdict is expected.

    - A verdict in `expected` comes first.
    - In a variant without a bug, every property is expected to hold. In a spec from the user's own
      file, no verdict is expected.
    - In a variant with a bug, one property is expected to be violated: the one that the bug breaks.
      It is expected only at the constants at which the bug shows. For every other property, no
      verdict is expected.
    """
    shown = {**constants, **variant.at} == constants
    right: dict[str, Verdict | None] = dict.fromkeys(names)
    for name in names:
        if variant.breaks is None:
            right[name] = None if variant.spec.endswith(".py") else "holds"
        elif name == variant.breaks and shown:
            right[name] = "violated"
    return {**right, **(expected or {})}


def progress_text(at: Progress) -> str:
    if at.liveness:
        return f"liveness: {at.liveness}"
    rate = at.distinct / at.seconds if at.seconds else 0.0
    return f"{at.distinct:,} states, depth {at.depth}, {at.queue:,} queued, {rate:,.0f} states/s"
