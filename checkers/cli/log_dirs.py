"""`urteil analyze --log-dirs A B C`: audits the log directories of brokers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from checkers import demo
from checkers.cli.command import replay_command
from checkers.cli.places import PLACE
from checkers.cli.run import Run
from checkers.events import Measured
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.histories.io.locations import Place
    from checkers.histories.topics.address import Topic
    from checkers.log_dirs.audit import Audit


LOG_DIRECTORIES: Final = "log directories"
KEPT: Final = "log_dirs"  # name of the rows and the text in the run folder
SHARED: Final = ("anomalies", "engine", "master")  # options that an audit also takes
HISTORY_MISSING: Final = (
    "HISTORY is missing: name a recorded folder or a .parquet, .ndjson or .edn file, or try --demo"
)
DEMO: Final = Path(demo.__file__).with_name("three-anomalies.edn")


def auditing(function: Callable[..., None]) -> Callable[..., None]:
    @click.argument("paths", metavar="[HISTORY]", nargs=-1, type=PLACE)
    @click.option(
        "--log-dirs",
        is_flag=True,
        help="Audit log directories: HISTORY is the log.dirs folder of each broker.",
    )
    @click.option(
        "--demo", is_flag=True, help="Analyze the bundled example: a small history with anomalies."
    )
    @click.option(
        "--require-exercised",
        is_flag=True,
        help="Exit with 3 if nothing was observed that could have shown one of the anomalies.",
    )
    @functools.wraps(function)
    def either(
        run: Run,
        paths: tuple[Place | Topic, ...],
        log_dirs: bool,
        demo: bool,
        require_exercised: bool,
        **options: Any,
    ) -> None:
        from checkers.histories.io.locations import expanded
        from checkers.histories.topics.address import Topic

        run.require_exercised = require_exercised
        if demo:
            if paths or log_dirs:
                raise InputFault("--demo brings its own history: leave out HISTORY and --log-dirs")
            paths = (DEMO,)
        if not paths and (log_dirs or not options["explain"]):
            raise InputFault(HISTORY_MISSING)
        if log_dirs:
            _refuse_others(options.keys() - SHARED)
            folders = tuple(path for path in paths if isinstance(path, Path))
            if len(folders) < len(paths):
                raise InputFault("--log-dirs reads local folders: copy the log directories first")
            shared = {name: options[name] for name in ("engine", "master")}
            decide(run, folders, checks=tuple(options["anomalies"]), **shared)
            return
        history, *others = paths or (None,)
        if others:
            raise InputFault(
                "more than one HISTORY: analyze them one by one; log directories need --log-dirs"
            )
        named = history if history is None or isinstance(history, Topic) else expanded(history)
        function(run, history=named, **options)

    return either


def _refuse_others(names: Collection[str]) -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        typed = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in names and typed:
            option = parameter.opts[0]
            raise InputFault(
                f"{option} applies to histories only; leave out {option} or --log-dirs"
            )


def decide(
    run: Run,
    folders: Sequence[Path],
    *,
    checks: tuple[str, ...] = (),
    engine: str = "spark",
    master: str | None = None,
) -> Audit:
    from checkers.report.anomaly_events import decided, keep_rows, undecided
    from checkers.report.log_audit import explained, rows_shown
    from properties.log_audit.catalogue import named

    name = ", ".join(map(str, folders))
    try:
        found = audited(run, folders, checks, engine, master)
    except KeyboardInterrupt:
        for event in undecided(named(checks), name, "interrupted", LOG_DIRECTORIES):
            run.emit(event)
        raise
    text = explained(found, name, verbose=run.verbose > 0)
    run.keep(name, f"{text}\n\nreplay  {replay_command()}", f"{KEPT}.txt")
    tables = {one.check.id: one.rows for one in found.decisions}
    kept = {} if run.folder is None else keep_rows(tables, run.folder.path, KEPT)
    for decision in found.decisions:
        for row in rows_shown(decision, name):
            run.emit(row)
        one = "" if checks else f" --anomaly {decision.check.id}"
        run.emit(
            decided(
                decision.check,
                verdict=decision.verdict,
                count=decision.count,
                permitted=decision.permitted,
                observations=decision.observations,
                observed=decision.check.observes,
                history=name,
                input_kind=LOG_DIRECTORIES,
                reason=decision.reason,
                file=kept.get(decision.check.id),
                replay=replay_command() + one,
            )
        )
    run.emit(Measured(metric=f"{name}: batches", value=found.batches))
    return found


def audited(
    run: Run, folders: Sequence[Path], checks: tuple[str, ...], engine: str, master: str | None
) -> Audit:
    if engine == "local":
        from checkers.log_dirs.audit import audit

        return audit(folders, checks=checks, watch=run.progress)
    from checkers.spark.log_dirs import audit_on_spark

    return audit_on_spark(folders, checks=checks, master=master, watch=run.progress)
