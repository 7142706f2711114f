"""`urteil doctor`: shows the versions and settings of this installation.

The exit code is 2 if a required part is missing.
"""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.cache import cache
from checkers.cli import configuration, prove
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.events import Measured
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.java import Java

PACKAGES = (
    "urteil", "pyspark", "hypothesis", "z3-solver", "networkx", "numpy", "pyarrow", "kio",
    "confluent-kafka",
)  # fmt: skip
MEGABYTE = 1_000_000


@click.command("doctor")
@click.option(
    "--spark-archive",
    is_flag=True,
    help="Keep the classes of Spark on disk, so that it starts with half of the CPU time.",
)
@command(decides=False, folder=False)
def doctor_command(run: Run, spark_archive: bool) -> None:
    """Show versions, C compiler, cache, Java and settings, and what is missing.

    \b
    urteil doctor
    urteil doctor --json
    urteil doctor --spark-archive
    """
    from checkers import java

    if spark_archive:
        from checkers.spark.making_archive import make_archive

        run.progress("starting Spark, and keeping its classes: a minute or less")
        make_archive()
    run.emit(
        Measured(metric="python", value=f"{platform.python_version()} on {platform.platform()}")
    )
    run.emit(Measured(metric="cores", value=os.cpu_count() or 1))
    missing = []
    for package in PACKAGES:
        try:
            run.emit(Measured(metric=package, value=version(package)))
        except PackageNotFoundError:
            missing.append(package)
            run.emit(Measured(metric=package, value="missing"))
    for figure in (*_compiler(), _proofs()):
        run.emit(figure)
    chosen = java.choose()
    run.emit(Measured(metric="java", value=f"{chosen.version} from {chosen.origin}: {chosen.home}"))
    run.emit(_spark_archive(chosen))
    for key, value in configuration.read().items():
        run.emit(Measured(metric=f"[tool.urteil] {key}", value=str(value)))
    if missing:
        raise InputFault(f"missing: {', '.join(missing)}; install Urteil with its requirements")


def _spark_archive(chosen: Java) -> Measured:
    from checkers.spark.class_archive import archive_of

    file = archive_of(chosen)
    kept = f"{file}, {_size(file) / MEGABYTE:,.1f} MB"
    missing = "none; urteil doctor --spark-archive makes it, and Spark starts faster"
    return Measured(metric="archive of Spark's classes", value=kept if file.exists() else missing)


def _compiler() -> Iterator[Measured]:
    from checkers import compiler

    try:
        yield Measured(metric="C compiler", value=shlex.join(compiler.command()))
    except compiler.CannotCompile as fault:
        yield Measured(metric="C compiler", value=f"none ({fault}); check uses --engine numpy")
    folder = cache("compiled")
    megabytes = sum(map(_size, folder.glob("*"))) / MEGABYTE
    yield Measured(metric="cache of compiled specs", value=f"{folder}, {megabytes:,.1f} MB")


def _proofs() -> Measured:
    files = list(cache(prove.PROVED).glob("*.json"))
    size = f"{len(files):,} conditions, {sum(map(_size, files)) / MEGABYTE:,.1f} MB"
    return Measured(metric="cache of proofs", value=f"{cache(prove.PROVED)}, {size}")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
