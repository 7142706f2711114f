"""`urteil analyze --log-dirs A B C`: the audit of what brokers keep on disk."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from checkers.cli.run import Run, replay
from checkers.events import AnomalyDecided, Measured
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.log_dirs.audit import Audit

KEPT: Final = "log_dirs"  # in the run folder
TAKEN: Final = ("anomalies", "engine", "master")  # options that an audit has too


def auditing(function: Callable[..., None]) -> Callable[..., None]:
    """Lets a command of one HISTORY take log directories instead, to audit them."""

    @click.argument(
        "paths", metavar="HISTORY", nargs=-1, required=True, type=click.Path(path_type=Path)
    )
    @click.option(
        "--log-dirs",
        is_flag=True,
        help="Audit what brokers keep on disk: HISTORY is the log.dirs folder of each.",
    )
    @functools.wraps(function)
    def either(run: Run, paths: tuple[Path, ...], log_dirs: bool, **options: Any) -> None:
        if log_dirs:
            _refuse_others(options.keys() - TAKEN)
            asked = {name: options[name] for name in ("engine", "master")}
            decide(run, paths, checks=tuple(options["anomalies"]), **asked)
            return
        history, *others = paths
        if others:
            raise InputFault("more than one HISTORY; log.dirs folders are read by --log-dirs")
        function(run, history=history, **options)

    return either


def _refuse_others(names: Collection[str]) -> None:
    """InputFault for an option that was typed and that an audit would silently leave out."""
    context = click.get_current_context()
    for parameter in context.command.params:
        typed = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in names and typed:
            option = parameter.opts[0]
            raise InputFault(f"{option} is about histories; leave it out with --log-dirs")


def decide(
    run: Run,
    folders: Sequence[Path],
    *,
    checks: tuple[str, ...] = (),
    engine: str = "spark",
    master: str | None = None,
) -> Audit:
    """Audits the folders, shows what was found, keeps every row of it, and returns it."""
    from checkers.report.log_audit import decided, explained, keep_rows, rows_shown

    name = ", ".join(map(str, folders))
    try:
        found = audited(run, folders, checks, engine, master)
    except KeyboardInterrupt:
        _undecided(run, name, checks, "interrupted")
        raise
    text = explained(found, name, verbose=run.verbose > 0)
    run.keep(name, f"{text}\n\nreplay  {replay()}", f"{KEPT}.txt")
    kept = {} if run.folder is None else keep_rows(found, run.folder.path, KEPT)
    for decision in found.decisions:
        for row in rows_shown(decision, name):
            run.emit(row)
        again = replay() if checks else f"{replay()} --anomaly {decision.check.id}"
        run.emit(decided(decision, name, kept, again))
    run.emit(Measured(what=f"{name}: batches", value=found.batches))
    return found


def _undecided(run: Run, name: str, checks: tuple[str, ...], reason: str) -> None:
    """Says of every check that was asked for why nobody knows."""
    from properties.log_audit.catalogue import named

    for check in named(checks):
        run.emit(
            AnomalyDecided(
                anomaly=check.id,
                verdict="undecided",
                count=0,
                permitted=False,
                history=name,
                over="log directories",
                reason=reason,
            )
        )


def audited(
    run: Run, folders: Sequence[Path], checks: tuple[str, ...], engine: str, master: str | None
) -> Audit:
    """The audit by the engine that was asked for."""
    if engine == "local":
        from checkers.log_dirs.audit import audit

        return audit(folders, checks=checks, watch=run.progress)
    from checkers.spark.log_dirs import audit_on_spark

    return audit_on_spark(folders, checks=checks, master=master, watch=run.progress)
