"""`urteil explain NAME`: explains a spec, a claim, an anomaly or another item of `urteil list`."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import click

from checkers.claim_record import Decided
from checkers.cli import catalogue, completion
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.events import Evidence, Listed

WIDTH = 100


@click.command("explain")
@click.argument("name", shell_complete=completion.explained)
@click.option(
    "--kafka",
    metavar="RELEASE",
    shell_complete=completion.releases,
    help="Also explain what this Kafka release, such as 4.3, has of it.",
)
@command(decides=False, folder=False)
def explain_command(run: Run, name: str, kafka: str | None) -> None:
    """Explain a spec, version, bug, property, claim, suite or anomaly by its name.

    NAME may be the path of a .py file with a spec of your own.

    \b
    urteil explain exactly_once_publish
    urteil explain lost-write
    urteil explain transactions
    urteil explain my_protocol.py
    urteil explain idempotence --kafka 4.3
    """
    from checkers.report.spec_page import spec_page

    for row in catalogue.named(name):
        page = spec_page(row.item) if row.kind == "spec" else {}
        of_release = {} if kafka is None else catalogue.of_release(row, kafka)
        text = explained(replace(row, facts={**of_release, **row.facts, **page}))
        run.emit(Evidence(about=row.item, text=text))


def explained(row: Listed) -> str:
    facts = {
        k.replace("_", " "): _words(v)
        for k, v in row.facts.items()
        if v not in (None, "", [], (), {})
    }
    width = max(map(len, facts), default=0) + 2
    paragraphs = [
        f"  {name}\n{textwrap.indent(text.strip(), '    ')}"  # a program keeps its lines
        if "\n" in text
        else textwrap.fill(
            text, WIDTH, initial_indent=f"  {name:<{width}}", subsequent_indent=" " * (width + 2)
        )
        for name, text in facts.items()
    ]
    statement = textwrap.fill(row.statement, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([f"{row.item} ({row.kind})", statement, *paragraphs])


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
