"""`urteil diff A B`: lists new violations, gone violations and changed verdicts of two runs."""

from __future__ import annotations

import click

from checkers.cli import completion
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.cli.runs import stored
from checkers.events import Measured


@click.command("diff")
@click.argument("before", shell_complete=completion.runs)
@click.argument("after", shell_complete=completion.runs)
@command(decides=False, folder=False, reads_runs=True)
def diff_command(run: Run, before: str, after: str) -> None:
    """Compare the verdicts and violations of run BEFORE with those of run AFTER.

    \b
    urteil diff last~1 last
    urteil diff c3f1 runs/2026-11-23T0142-9a0e

    A run is a folder, an id or its last four digits, last, or last~N: N runs before the last.
    The exit code is 1 if AFTER has a violation that BEFORE does not have and that no baseline file
    accepts. Otherwise the exit code is 0.
    """
    from checkers.over_time.choosing import named
    from checkers.over_time.comparing import compared, is_failure

    runs = stored(run) if run.parent.is_dir() else ()
    earlier, later = named(before, runs), named(after, runs)
    found = compared(earlier, later)
    for metric, one in (("before", earlier), ("after", later)):
        run.emit(Measured(metric=metric, value=f"{one.id}  {one.command_line}"))
    for difference in found:
        run.emit(difference)
        run.decided.append("violated" if is_failure(difference) else "holds")
    changes = [one.change for one in found]
    counts = (f"{changes.count(change)} {change}" for change in ("new", "gone", "changed"))
    run.emit(Measured(metric="differences", value=", ".join(counts)))
