"""Explores one spec for a command, and emits its verdicts and counterexamples."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from checkers.cli import selection
from checkers.cli.check_on_spark import explored_on_spark
from checkers.cli.checkpointing import checkpoints_for, search_command
from checkers.cli.run import Interrupted, Run
from checkers.cli.search_options import SPARK, SearchOptions
from checkers.events import PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.explicit.checkpoints import Checkpoints
    from checkers.explicit.exploration import Exploration, Progress
    from model.language.spec import Spec
    from model.variants import Variant

ENDED = ("exhausted", "all decided", "ill-defined")  # why a search stopped that nobody resumes
NOT_OF_THE_ENGINE = ("master", "checkpoint", "resume")  # options of a search


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
    """Explores the spec, or takes random walks if `walks` has weights of actions. Emits the
    verdicts and counterexamples.

    Raises Interrupted after Ctrl-C, and InputFault if the spec uses a value outside its type.
    """
    search, safety = search or SearchOptions(), safety_of(spec, properties)
    with checkpoints_for(run, variant, spec, safety, search) as checkpoints:
        if walks is None:
            found = explored(run, variant, spec, properties, budget, search, checkpoints)
        else:
            found = walked(run, spec, properties, budget, walks)
        constants = selection.constants(spec)
        right = expectations(variant, properties, constants, expected)
        show_counterexamples(run, variant, spec, found, command or search_command(), right)
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
        if checkpoints is not None and found.why_stopped in ENDED:
            checkpoints.remove()
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
    checkpoints: Checkpoints | None = None,
) -> Exploration:
    """Explores the spec within the budget, and displays the progress. If `budget` contains no
    number of states, explores at most 10 million states.
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
    safety = safety_of(spec, properties)

    def progress(at: Progress) -> None:
        run.progress(f"{variant.spec} {variant.name}: {progress_text(at)}")

    if search.engine == SPARK:
        claims = chosen(spec, safety) if safety else ()
        task = Task(spec=spec, claims=claims, budget=limits, progress=progress)
        undecided = [c for c in spec.liveness_properties if c.name in lively]
        decided = explored_on_spark(task, search, undecided)
    else:
        options = {k: v for k, v in asdict(search).items() if k not in NOT_OF_THE_ENGINE}
        found = explore(
            spec,
            properties=safety,
            liveness=lively,
            budget=limits,
            progress=progress,
            checkpoints=checkpoints,
            **options,
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


def safety_of(spec: Spec, properties: Sequence[str]) -> list[str]:
    """Returns those of `properties` that are not liveness properties."""
    lively = {claim.name for claim in spec.liveness_properties}
    return [name for name in properties if name not in lively]


def walked(
    run: Run,
    spec: Spec,
    properties: Sequence[str],
    budget: str | None,
    weights: Mapping[str, float],
) -> Exploration:
    """Takes random walks within the budget. Walks are finite, so the verdict on each liveness
    property is `undecided`.
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
    """Emits a counterexample of each violated property, and writes it as text, SVG and ITF. The
    shortest counterexample is the first.
    """
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
    """Returns the expected verdict on each property. The value is None if no verdict is expected.

    - If `expected` has a verdict on a property, this verdict is expected.
    - If the variant is not known to break a property, every property is expected to hold. For a
      spec in a user's own file, no verdict is expected.
    - If the variant is known to break a property, this property is expected to be violated. This
      applies only to the constants of the recorded counterexample. For every other property, no
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
