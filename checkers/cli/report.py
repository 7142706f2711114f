"""`urteil report FOLDER`: writes the report of an earlier run once more, from the folder of the
run.
"""

from __future__ import annotations

from pathlib import Path

import click

from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.events import Measured


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@command(decides=False, folder=False)
def report_command(run: Run, folder: Path) -> None:
    """Write the HTML report of a run again; the run may have been killed.

    \b
    urteil report runs/2026-11-21T0142-c3f1
    """
    from checkers.report.saved_run import write_report

    run.emit(Measured(metric="report", value=str(write_report(folder))))
