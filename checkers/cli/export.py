"""`urteil export`: writes a spec for other tools, as TLA+ for TLC or as a state graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from checkers.cli import selection
from checkers.cli.command import FOLDER, command
from checkers.cli.run import Run
from checkers.events import Measured
from model.faults import InputFault
from model.language.spec import Spec


@click.command("export")
@click.option(
    "--as",
    "form",
    type=click.Choice(["tla", "graphml"]),
    default="tla",
    show_default=True,
    help="Format: tla is TLA+ for TLC; graphml is the state graph, of 20,000 states at most.",
)
@click.option("--to", type=FOLDER, default=Path(), show_default=True, help="Folder to write to.")
@selection.spec_options(default="replication")
@command(decides=False, folder=False)
def export_command(
    run: Run,
    spec: str,
    variant: str | None,
    kafka: str | None,
    assignments: Sequence[str],
    patterns: Sequence[str],
    form: str,
    to: Path,
) -> None:
    """Write SPEC as a TLA+ module, or its state graph for Gephi, yEd or Cytoscape.

    \b
    urteil export replication --variant kip-101 --set replicas=3 --to build
    java -jar tla2tools.jar -config build/Kip101.cfg build/Kip101.tla
    urteil export transactions-abstract --as graphml

    For TLC, the folder gets a configuration with the same constants. For a state graph, the command
    also prints the numbers of states, transitions, deadlocks, and components that no behaviour
    leaves.
    """
    chosen, made = selection.selected(spec, variant, assignments, kafka)
    if form == "graphml":
        if patterns:
            raise InputFault("--property: a state graph has no properties\n  leave --property out")
        _write_graph(run, made, to)
    else:
        names = selection.properties(made, patterns, f"{chosen.spec} {chosen.name}")
        _write_tla(run, made, names, to)


def _write_tla(run: Run, spec: Spec, names: Sequence[str], to: Path) -> None:
    from model.language import tla

    name = type(spec).__name__
    texts = {f"{name}.tla": tla.module(spec), f"{name}.cfg": tla.configuration(spec, names=names)}
    to.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (to / file).write_text(text, encoding="utf-8")
        run.emit(Measured(metric=f"tla {file}", value=len(text.splitlines()), unit="lines"))


def _write_graph(run: Run, spec: Spec, to: Path) -> None:
    from checkers.explicit.graph import compiled_graph

    found = compiled_graph(spec)
    to.mkdir(parents=True, exist_ok=True)
    file = f"{type(spec).__name__}.graphml"
    found.write_graphml(to / file)
    counts = {
        "states": found.graph.number_of_nodes(),
        "transitions": found.graph.number_of_edges(),
        "deadlocks": len(found.deadlocks()),
        "terminal components": len(found.terminal_components()),
    }
    for counted, count in counts.items():
        run.emit(Measured(metric=f"{file} {counted}", value=count))
