"""`urteil check`: explores a spec and prints the shortest counterexample of each violation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from checkers.cli import selection
from checkers.cli.check_on_spark import session_for
from checkers.cli.check_release import EVERY, ReleaseOptions, check_release
from checkers.cli.command import command
from checkers.cli.exploring import check
from checkers.cli.run import Run
from checkers.cli.search_options import SPARK, SearchOptions, search_options
from checkers.events import Measured
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.explicit.exploration import Exploration
    from model.language.spec import Spec


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

    
    urteil check replication --variant kip-101 --set replicas=3 --set as_published=true
    urteil check replication --property 'strong_*' --budget 60s
    urteil check my_protocol.py
    urteil check reassignment --kafka 4.3
    urteil check replication --set replicas=5 --simulate --weight '*shrink*=3' --budget 60s
    urteil check replication --engine spark --master spark://HOST:7077 --budget 1000M-states

    With --simulate, take random walks instead. With --kafka, check the version that models the
    release, and then the bugs that the release has, as separate variants. For each violated claim,
    also check the version that fixes the violation. Without SPEC, --kafka checks all specs.
    """
    from checkers.explicit.vacuity import vacuous

    if weights and not simulate:
        raise InputFault("--weight applies to random walks only: add --simulate")
    search = SearchOptions.of(**options)
    if simulate and search.engine == SPARK:
        raise InputFault("--engine spark --simulate: Spark takes no random walks; leave out one")
    if search.checkpoint_option is not None and (simulate or kafka is not None):
        other = "--simulate" if simulate else f"--kafka {kafka}"
        why = "random walks have" if simulate else "a command with several searches has"
        raise InputFault(
            f"{search.checkpoint_option} {other}: {why} no checkpoints; leave out one of the two"
        )
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
    """Emits the number of deadlocks, if the search found any.

    If the search measured coverage (option --coverage), two more counts are emitted: how often each
    action was taken, and how often each guard disabled its action.
    """
    if found.deadlocks:
        run.emit(Measured(metric="deadlocks", value=found.deadlocks, unit="states"))
    for action in spec.actions if found.disabled else ():
        taken = found.taken[action.name]
        run.emit(Measured(metric=f"taken {action.name}", value=taken, unit="times"))
        for guard, times in zip(action.guards, found.disabled[action.name], strict=True):
            what = f"disabled {action.name}, line {guard.line}: {guard}"
            run.emit(Measured(metric=what, value=times, unit="times"))
