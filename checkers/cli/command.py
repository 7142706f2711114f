"""Makes a command from a function. The command has the common options, the output and the exit
code.

Four kinds of errors are converted to an exit code and a text on stderr: unusable input, Ctrl-C, a
full disk, and a bug of Urteil.
"""

from __future__ import annotations

import functools
import os
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from checkers import verdicts
from checkers.cli.run import Interrupted, Reporter, Run
from checkers.disk_full import disk_full
from checkers.events import (
    Event,
    RunFinished,
    RunStarted,
)
from checkers.report.document import Document
from checkers.report.folder import RunFolder, command_line
from checkers.report.killed_runs import killed_runs
from checkers.report.terminal import Terminal
from checkers.run_files import STORE
from checkers.scratch import temporary_files
from model.faults import InputFault

FOLDER = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
A_BUG = "this is a bug of Urteil: please report the text above"


def inside_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def until_closed(report: Reporter) -> Reporter:
    """Returns a reporter that prints to stdout until the reader closes the pipe, as `| head` does.
    After that, it prints nothing.

    The run then still writes all of its files, and its exit code does not change.
    """

    def reported(event: Event) -> None:
        try:
            report(event)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return reported


def print_json(event: Event) -> None:
    print(event.as_json(), flush=True)  # noqa: T201 - results go to stdout


def in_one_line(fault: InputFault) -> str:
    return "; ".join(line.strip() for line in str(fault).splitlines() if line.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOutputs:
    """The outputs for other programs: JUnit XML, SARIF, and annotations for GitHub.

    If a violation is in the file `baseline`, a list of known violations, the outputs mark it as
    known.
    """

    junit: Path | None
    sarif: Path | None
    github: bool
    baseline: Path | None = None

    def reporters(self) -> Iterator[Reporter]:
        """Yields a reporter for each output that the user has selected. Raises InputFault if a file
        is not writable.
        """
        if self.junit is not None:
            from checkers.report.junit import junit

            yield Document.begun(self.junit, "--junit", junit)
        if self.sarif is not None:
            from checkers.report.sarif import sarif

            yield Document.begun(self.sarif, "--sarif", sarif)
        if self.github:
            from checkers.report.github import GitHub

            yield GitHub(sys.stderr)


def replay_command() -> str:
    """Returns the command line that repeats this run. It does not contain the options for JUnit,
    SARIF and GitHub.
    """
    words, again = iter(command_line()), list[str]()
    for word in words:
        name, equals, _ = word.partition("=")
        if name in ("--junit", "--sarif"):
            if not equals:
                next(words, None)
        elif word != "--github":
            again.append(word)
    return shlex.join(again)


def command(
    *,
    decides: bool = True,
    folder: bool = True,
    judged_by_expectation: bool = False,
    reads_runs: bool = False,
    dry_with: str = "",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns a decorator that makes a command from a function. The first parameter of the function
    must be a `Run`.

    With `decides=False`, the command gives no verdicts, and its exit code is 0 if it succeeds. With
    `folder=False`, the run has no folder. With `judged_by_expectation=True`, the exit code depends
    on whether each verdict is the expected one. With `reads_runs=True`, the help text shows
    the option `--out` even if the run has no folder.

    `dry_with` is the name of an option, such as `explain`. If the user sets this option, the run
    gives no verdicts and has no folder.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @click.option("--json", "as_json", is_flag=True, help="Print events as NDJSON on stdout.")
        @click.option(
            "--seed",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Seed of every random choice: the same seed repeats the run.",
        )
        @click.option(
            "--out",
            type=FOLDER,
            default=Path("runs"),
            show_default=True,
            hidden=not (folder or reads_runs),
            help="Parent folder of run folders.",
        )
        @click.option(
            "--junit", type=FILE, hidden=not decides, help="Also write verdicts as JUnit XML."
        )
        @click.option(
            "--sarif", type=FILE, hidden=not decides, help="Also write violations as SARIF."
        )
        @click.option(
            "--baseline",
            type=FILE,
            hidden=not decides,
            help="TOML file of known violations, which do not fail; see urteil baseline.",
        )
        @click.option(
            "--github",
            is_flag=True,
            default=inside_github,
            hidden=not decides,
            help="Print annotations and write a step summary; on by default in GitHub Actions.",
        )
        @click.option(
            "-v",
            "--verbose",
            count=True,
            help="Show more: whole states, every verdict, up to 32 rows. -vv: disabled actions.",
        )
        @click.option("-q", "--quiet", is_flag=True, help="Hide progress and notes.")
        @functools.wraps(function)
        def wrapped(
            as_json: bool,
            seed: int,
            out: Path,
            junit: Path | None,
            sarif: Path | None,
            baseline: Path | None,
            github: bool,
            verbose: int,
            quiet: bool,
            **options: Any,
        ) -> None:
            name = click.get_current_context().info_name or ""
            run = Run(name, seed, verbose, quiet, judged_by_expectation=judged_by_expectation)
            run.parent = out
            dry = bool(options.get(dry_with))
            terminal = Terminal(sys.stdout, run.meaning, verbose=verbose > 0)
            run.reporters.append(until_closed(print_json if as_json else terminal))
            before = signal.signal(signal.SIGINT, run.interrupt)
            with _lost_interrupts_hidden(), temporary_files():
                outputs = MachineOutputs(
                    junit=junit, sarif=sarif, github=github and decides, baseline=baseline
                )
                base = out if folder and not dry else None
                code = _guarded(run, function, base, outputs, options)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the last event is left to emit
            if code == verdicts.HOLDS and (run.decided or (decides and not dry)):
                code = verdicts.exit_code(run.decided, require_exercised=run.require_exercised)
            code = _finished(run, code)
            signal.signal(signal.SIGINT, before)
            raise SystemExit(code)

        return wrapped

    return decorate


@contextmanager
def _lost_interrupts_hidden() -> Generator[None]:
    shows = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            shows(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = shows


def _guarded(
    run: Run,
    function: Callable[..., None],
    base: Path | None,
    outputs: MachineOutputs,
    options: dict[str, Any],
) -> int:
    try:
        if outputs.baseline is not None:
            from checkers.over_time.baseline import read_baseline

            run.baseline = read_baseline(outputs.baseline)
        if base is not None:
            if (base / STORE).exists():
                from checkers.over_time.store import check_store

                check_store(base)
            run.folder = RunFolder.make(base, command=command_line(), seed=run.seed)
            run.reporters.insert(0, run.folder)  # first: the other reporters name its files
            for text in killed_runs(base):
                run.note(text)
        run.reporters += outputs.reporters()
        if run.folder is not None:
            run.emit(
                RunStarted(
                    command=run.command,
                    folder=str(run.folder.path),
                    seed=run.seed,
                    command_line=replay_command(),
                    judged_by_expectation=run.judged_by_expectation,
                )
            )
        function(run, **options)
    except InputFault as fault:
        return _refused(run, fault)
    except (Interrupted, KeyboardInterrupt):
        return _interrupted(run)
    except Exception as error:  # anything else is a bug of ours: report it with its traceback
        if run.interrupted:  # an interrupted library may raise an error of its own
            return _interrupted(run)
        full = disk_full(error, run.folders())
        if full is not None:
            return _refused(run, full)
        trace = traceback.format_exc()
        if run.folder is not None:
            run.folder.keep("bug.txt", trace)
        run.line.clear()
        click.echo(f"{trace}urteil {run.command}: {A_BUG}", err=True)
        return verdicts.OUR_OWN_BUG
    return verdicts.HOLDS


def _refused(run: Run, fault: InputFault) -> int:
    run.line.clear()
    click.echo(f"urteil {run.command}: {in_one_line(fault)}", err=True)
    return verdicts.UNUSABLE_INPUT


def _finished(run: Run, code: int) -> int:
    """Emits the final event and returns the exit code. The exit code is `code`, or 2 if the disk is
    full.
    """
    try:
        if code == verdicts.UNUSABLE_INPUT and run.folder is not None:
            run.folder.drop_if_bare()
            run.reporters.remove(run.folder)
        elif run.baseline is not None:
            run.emit(run.baseline.result())
        run.emit(RunFinished(exit_code=code, seconds=round(time.monotonic() - run.began, 2)))
        keep_in_store(run)
    except OSError as error:
        fault = disk_full(error, run.folders())
        if fault is None:
            raise
        return _refused(run, fault)
    finally:
        if run.folder is not None:
            run.folder.end()
    return code


def keep_in_store(run: Run) -> None:
    """Adds the run to the store of runs. Does nothing if the run has no folder."""
    if run.folder is None or run.folder not in run.reporters:
        return
    from checkers.over_time.kept_run import read_run
    from checkers.over_time.store import UnusableStore, opened

    try:
        with opened(run.folder.path.parent) as store:
            store.add(read_run(run.folder.path))
    except UnusableStore as fault:
        run.note(f"the run is not in the store yet: {in_one_line(fault)}")


def _interrupted(run: Run) -> int:
    where = f"; partial results are in {run.folder.path}" if run.folder is not None else ""
    run.note(f"interrupted{where}")
    return verdicts.INTERRUPTED
