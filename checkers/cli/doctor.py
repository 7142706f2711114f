"""`urteil doctor`: what Urteil runs on and where that came from; exit 2 if a part is missing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import click

from checkers.cli import configuration
from checkers.cli.run import Run, command
from checkers.events import Measured
from model.faults import InputFault

PACKAGES = (
    "urteil", "pyspark", "hypothesis", "z3-solver", "networkx", "numpy", "pyarrow", "kio",
    "confluent-kafka",
)  # fmt: skip


@click.command("doctor")
@command(decides=False, folder=False)
def doctor_command(run: Run) -> None:
    """Show what Urteil runs on, and what is missing.

    \b
    urteil doctor --json
    """
    from checkers.spark import java

    run.emit(Measured(what="python", value=f"{platform.python_version()} on {platform.platform()}"))
    run.emit(Measured(what="cores", value=os.cpu_count() or 1))
    missing = []
    for package in PACKAGES:
        try:
            run.emit(Measured(what=package, value=version(package)))
        except PackageNotFoundError:
            missing.append(package)
            run.emit(Measured(what=package, value="missing"))
    chosen = java.choose()
    run.emit(Measured(what="java", value=f"{chosen.version} from {chosen.origin}: {chosen.home}"))
    for key, value in configuration.read().items():
        run.emit(Measured(what=f"[tool.urteil] {key}", value=str(value)))
    if missing:
        raise InputFault(f"missing: {', '.join(missing)}; install Urteil with its requirements")
