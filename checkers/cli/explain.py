"""`urteil explain NAME`: everything that the catalogue knows of one name."""

from __future__ import annotations

import textwrap

import click

from checkers.claim_record import Decided
from checkers.cli import catalogue
from checkers.cli.run import Run, command
from checkers.events import Evidence, Listed

WIDTH = 100


@click.command("explain")
@click.argument("name")
@command(decides=False, folder=False)
def explain_command(run: Run, name: str) -> None:
    """Explain a version, bug, property, claim, suite, spec or anomaly by its name.

    \b
    urteil explain exactly_once_publish
    """
    for row in catalogue.named(name):
        run.emit(Evidence(about=row.item, text=explained(row)))


def explained(row: Listed) -> str:
    """A heading, the statement, and one paragraph for each fact that the row has."""
    facts = {
        k.replace("_", " "): _words(v)
        for k, v in row.facts.items()
        if v not in (None, "", [], (), {})
    }
    width = max(map(len, facts), default=0) + 2
    told = [
        f"  {name}\n{textwrap.indent(text.strip(), '    ')}"  # a program stays as it is
        if "\n" in text
        else textwrap.fill(
            text, WIDTH, initial_indent=f"  {name:<{width}}", subsequent_indent=" " * (width + 2)
        )
        for name, text in facts.items()
    ]
    statement = textwrap.fill(row.says, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([f"{row.item} ({row.kind})", statement, *told])


def _words(value: object) -> str:
    match value:
        case dict():
            return ", ".join(f"{k}={v}" for k, v in value.items())
        case [Decided(), *_] as runs:
            return "\n".join(map(str, runs)) + "\n"
        case list() | tuple():
            return "; ".join(map(str, value))
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
