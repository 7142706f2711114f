"""`urteil export`: writes a spec as a TLA+ module and a TLC configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from checkers.cli import selection
from checkers.cli.run import FOLDER, Run, command
from checkers.events import Measured


@click.command("export")
@click.option(
    "--as",
    "form",
    type=click.Choice(["tla"]),
    default="tla",
    show_default=True,
    help="Format: tla is TLA+ for TLC.",
)
@click.option("--to", type=FOLDER, default=Path(), show_default=True, help="Folder to write to.")
@selection.spec_options(default="replication")
@command(decides=False, folder=False)
def export_command(
    run: Run,
    spec: str,
    variant: str | None,
    assignments: Sequence[str],
    patterns: Sequence[str],
    form: str,
    to: Path,
) -> None:
    """Write SPEC as a TLA+ module, and a TLC configuration with the same constants.

    \b
    urteil export replication --variant kip-101 --set replicas=3 --to build
    java -jar tla2tools.jar -config build/Kip101.cfg build/Kip101.tla
    """
    from model.language import tla

    chosen, made = selection.selected(spec, variant, assignments)
    names = selection.properties(made, patterns, f"{chosen.spec} {chosen.name}")
    to.mkdir(parents=True, exist_ok=True)
    name = type(made).__name__
    texts = {f"{name}.tla": tla.module(made), f"{name}.cfg": tla.configuration(made, names=names)}
    for file, text in texts.items():
        (to / file).write_text(text)
        run.emit(Measured(metric=f"{form} {file}", value=len(text.splitlines()), unit="lines"))
