"""A run: one invocation that emits events, keeps them in a folder, and ends with one exit code.

stdout is results, stderr is progress. Whatever happens inside, the last event is `run_finished`.
"""

from __future__ import annotations

import functools
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import click

from checkers import verdicts
from checkers.events import (
    AnomalyDecided,
    Event,
    Evidence,
    PropertyDecided,
    RunFinished,
    RunStarted,
)
from checkers.progress import Progress
from checkers.report.decisions import judged
from checkers.report.document import Document
from checkers.report.folder import RunFolder, command_line
from checkers.report.progress import ProgressLine
from checkers.report.terminal import Terminal
from model.faults import InputFault

Reporter = Callable[[Event], None]
FOLDER = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
SEED = click.IntRange(0)
SEED_SAYS = "Fixes every random choice."
A_BUG = "a bug of Urteil: please report the text above"


def inside_github() -> bool:
    """Does this run inside GitHub Actions?"""
    return os.environ.get("GITHUB_ACTIONS") == "true"


class Interrupted(Exception):
    """The user pressed Ctrl-C; what was decided so far has been emitted."""


def print_json(event: Event) -> None:
    """NDJSON on stdout."""
    print(event.as_json(), flush=True)  # noqa: T201 - results go to stdout


@dataclass(slots=True)
class Run:
    """What a command is given: where to tell things, and how it was asked."""

    command: str
    seed: int
    verbose: int = 0
    quiet: bool = False
    reporters: list[Reporter] = field(default_factory=list)
    judged_by_expectation: bool = False
    folder: RunFolder | None = None
    decided: list[verdicts.Verdict] = field(default_factory=list)
    interrupted: bool = False
    line: ProgressLine = field(default_factory=lambda: ProgressLine(sys.stderr))

    def emit(self, event: Event) -> None:
        """Tells every reporter; a decision also counts for the exit code."""
        if isinstance(event, PropertyDecided | AnomalyDecided):
            self.decided.append(judged(event, by_expectation=self.judged_by_expectation))
        self.line.clear()
        for reporter in self.reporters:
            reporter(event)

    def keep(
        self,
        about: str,
        text: str,
        file: str,
        *,
        verdict_expected: bool = False,
        drawing: str | None = None,
        trace: Mapping[str, Any] | None = None,
    ) -> None:
        """Shows a piece of evidence and keeps it in the run folder."""
        kept = self.written(file, text + "\n")
        expected = verdict_expected and self.judged_by_expectation
        told = None if expected else trace  # what had to be found is told by its file alone
        self.emit(
            Evidence(
                about=about, text=text, file=kept, expected=expected, drawing=drawing, trace=told
            )
        )

    def written(self, file: str, text: str) -> str | None:
        """The name under which the run folder keeps the text; None without a folder."""
        return self.folder.keep(file, text) if self.folder is not None else None

    def progress(self, told: Progress | str) -> None:
        """Something passing on stderr: one live line on a terminal, few lines in a log."""
        if self.interrupted:
            raise KeyboardInterrupt  # it was raised before, where Python could only ignore it
        if not self.quiet:
            self.line(told)

    def note(self, text: str) -> None:
        """One lasting line on stderr."""
        if not self.quiet:
            self.line.clear()
            click.echo(text, err=True)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C: remembered too, for an exception inside a callback of the collector is lost."""
        del number, frame
        self.interrupted = True
        raise KeyboardInterrupt

    def meaning(self, code: int) -> str:
        """What an exit code says of this run."""
        if code == verdicts.HOLDS and not self.decided:
            return "done"  # there was nothing to decide
        table = verdicts.AS_EXPECTED if self.judged_by_expectation else {}
        return {**verdicts.EXIT_CODES, **table}[code]


def in_one_line(fault: InputFault) -> str:
    """What the user got wrong, and the next move."""
    return "; ".join(line.strip() for line in str(fault).splitlines() if line.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class ForPrograms:
    """What else is told, for other programs: a file each, and GitHub."""

    junit: Path | None
    sarif: Path | None
    github: bool

    def reporters(self) -> Iterator[Reporter]:
        """InputFault where a file can't be written."""
        if self.junit is not None:
            from checkers.report.junit import junit

            yield Document.begun(self.junit, "--junit", junit)
        if self.sarif is not None:
            from checkers.report.sarif import sarif

            yield Document.begun(self.sarif, "--sarif", sarif)
        if self.github:
            from checkers.report.github import GitHub

            yield GitHub(sys.stderr)


def replay() -> str:
    """The command that does this run again; where else it is told is no part of it."""
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
    *, decides: bool = True, folder: bool = True, judged_by_expectation: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function of a Run a command: shared options, reporters, folder and exit code.

    A command that decides nothing exits 0 when it could do its work. A run folder that would hold
    nothing but a mistyped command is not left behind.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @click.option("--json", "as_json", is_flag=True, help="NDJSON events on stdout.")
        @click.option("--seed", type=SEED, default=0, show_default=True, help=SEED_SAYS)
        @click.option(
            "--out",
            type=FOLDER,
            default=Path("runs"),
            show_default=True,
            hidden=not folder,
            help="Where run folders go.",
        )
        @click.option("--junit", type=FILE, hidden=not decides, help="Verdicts as JUnit XML too.")
        @click.option("--sarif", type=FILE, hidden=not decides, help="Violations as SARIF too.")
        @click.option(
            "--github",
            is_flag=True,
            default=inside_github,
            hidden=not decides,
            help="Annotations and a step summary; always inside GitHub Actions.",
        )
        @click.option("-v", "--verbose", count=True, help="Whole states, more rows.")
        @click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
        @functools.wraps(function)
        def wrapped(
            as_json: bool,
            seed: int,
            out: Path,
            junit: Path | None,
            sarif: Path | None,
            github: bool,
            verbose: int,
            quiet: bool,
            **options: Any,
        ) -> None:
            name = click.get_current_context().info_name or ""
            run = Run(name, seed, verbose, quiet, judged_by_expectation=judged_by_expectation)
            run.reporters.append(print_json if as_json else Terminal(sys.stdout, run.meaning))
            before = signal.signal(signal.SIGINT, run.interrupt)
            with _no_word_of_lost_interrupts():
                asked = ForPrograms(junit=junit, sarif=sarif, github=github and decides)
                code = _guarded(run, function, out if folder else None, asked, options)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the end is left to say
            if code == verdicts.HOLDS and decides:
                code = verdicts.exit_code(run.decided)
            if code == verdicts.UNUSABLE_INPUT and run.folder is not None:
                run.folder.drop_if_bare()
                run.reporters.remove(run.folder)
            run.emit(RunFinished(exit_code=code))
            signal.signal(signal.SIGINT, before)
            raise SystemExit(code)

        return wrapped

    return decorate


@contextmanager
def _no_word_of_lost_interrupts() -> Generator[None]:
    """Python prints a traceback of what it must ignore; an interrupt among it is remembered."""
    shows = sys.unraisablehook

    def hook(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_type is not KeyboardInterrupt:
            shows(ignored)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = shows


def _guarded(
    run: Run,
    function: Callable[..., None],
    base: Path | None,
    asked: ForPrograms,
    options: dict[str, Any],
) -> int:
    """Runs the command; every way that it can end is one exit code, HOLDS for its end."""
    try:
        if base is not None:
            run.folder = RunFolder.make(base, command=command_line(), seed=run.seed)
            run.reporters.insert(0, run.folder)  # what the others name is there when they do
        run.reporters += asked.reporters()
        if run.folder is not None:
            run.emit(
                RunStarted(
                    command=run.command,
                    folder=str(run.folder.path),
                    seed=run.seed,
                    line=replay(),
                    judged_by_expectation=run.judged_by_expectation,
                )
            )
        function(run, **options)
    except InputFault as fault:
        run.line.clear()
        click.echo(f"urteil {run.command}: {in_one_line(fault)}", err=True)
        return verdicts.UNUSABLE_INPUT
    except (Interrupted, KeyboardInterrupt):
        return _interrupted(run)
    except BrokenPipeError:  # whoever read our results has gone: there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return verdicts.INTERRUPTED
    except Exception:  # the boundary: a bug of ours is reported as one, with all that mends it
        if run.interrupted:  # a library that was interrupted fails in its own way
            return _interrupted(run)
        trace = traceback.format_exc()
        if run.folder is not None:
            run.folder.keep("bug.txt", trace)
        run.line.clear()
        click.echo(f"{trace}urteil {run.command}: {A_BUG}", err=True)
        return verdicts.OUR_OWN_BUG
    return verdicts.HOLDS


def _interrupted(run: Run) -> int:
    where = f"; what there is, is kept in {run.folder.path}" if run.folder is not None else ""
    run.note(f"interrupted{where}")
    return verdicts.INTERRUPTED
