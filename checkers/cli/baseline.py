"""`urteil baseline RUN`: writes the violations of a run as a file of known violations."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import click

from checkers.cli import completion
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.cli.runs import stored
from checkers.events import Evidence
from model.faults import InputFault

DAYS = 90  # until a new entry expires


@click.command("baseline")
@click.argument("named", metavar="RUN", shell_complete=completion.runs)
@click.option("--owner", default="nobody yet", show_default=True, help="Who fixes the violations.")
@click.option(
    "--reason", default="not yet explained", show_default=True, help="Why they are known."
)
@click.option(
    "--expires", metavar="DAY", help=f"Last day on which they are known. Default: in {DAYS} days."
)
@command(decides=False, folder=False, reads_runs=True)
def baseline_command(run: Run, named: str, owner: str, reason: str, expires: str | None) -> None:
    """Print the violations that make RUN fail as a baseline (a file of known violations) in TOML.

    \b
    urteil baseline last > baseline.toml
    urteil test delivery --baseline baseline.toml
    urteil baseline last --owner storage --reason KAFKA-19148 >> baseline.toml

    RUN is a folder, an id or its last four digits, last, or last~N. A claim is left out if every
    violation of the claim in RUN was already known.
    """
    from checkers.over_time.baseline import written
    from checkers.over_time.choosing import named as found

    for option, text in (("--owner", owner), ("--reason", reason)):
        if not text.strip():
            raise InputFault(f"{option} is empty: write a text")
    kept = found(named, stored(run) if run.parent.is_dir() else ())
    text = written(kept, owner=owner, reason=reason, expires=_day(expires))
    run.emit(Evidence(about=kept.id, text=text.rstrip("\n")))


def _day(text: str | None) -> date:
    if text is None:
        return (datetime.now(tz=UTC) + timedelta(days=DAYS)).date()
    try:
        return date.fromisoformat(text)
    except ValueError as why:
        raise InputFault(f"--expires {text}: write a day such as 2027-03-31") from why
