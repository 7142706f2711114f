"""Writes and reads the checkpoints of `urteil check`. A checkpoint is a stored state of the search:
`--checkpoint` writes checkpoints, and `--resume` continues a search from a checkpoint.
"""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.cli import selection
from checkers.cli.command import replay_command
from checkers.cli.run import Run
from checkers.cli.search_options import SearchOptions
from checkers.events import Measured
from checkers.report.decisions import many
from checkers.run_files import CHECKPOINT, RUNNING, has_checkpoint
from checkers.scratch import locked
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.explicit.checkpoint import Checkpoint
    from checkers.explicit.checkpoints import Checkpoints
    from checkers.over_time.kept_run import KeptRun
    from model.language.spec import Spec
    from model.variants import Variant

CHECKPOINT_OPTIONS: Final = ("--checkpoint", "--resume")


def search_command(*, without: Sequence[str] = CHECKPOINT_OPTIONS) -> str:
    """Returns the command line that repeats the current search, without the options in
    `without`. By default, these are the options for checkpoints.
    """
    words, again = iter(shlex.split(replay_command())), list[str]()
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in without:
            again.append(word)
        elif not equals:
            next(words, None)
    return shlex.join(again)


@contextmanager
def checkpoints_for(
    run: Run, variant: Variant, spec: Spec, safety: Sequence[str], search: SearchOptions
) -> Generator[Checkpoints | None]:
    """Yields the object that writes and reads the checkpoints of a search. Yields None if no option
    for checkpoints is set.

    Until the `with` block ends, SIGTERM interrupts the search as Ctrl-C does. Raises InputFault if
    the checkpoint for `--resume` is missing or damaged, or if it belongs to another search.
    """
    if search.checkpoint is None and search.resume is None:
        yield None
        return
    from checkers.explicit.checkpoint import Checkpoint
    from checkers.explicit.checkpoints import Checkpoints

    assert run.folder is not None, "a check has a folder"
    earlier = None if search.resume is None else resumable(search.resume, run)
    resumed = None if earlier is None else Checkpoint.read(Path(earlier.folder) / CHECKPOINT)
    minutes = search.checkpoint
    every_s = 60 * minutes if minutes is not None else resumed.every_s if resumed else 0.0

    def announce(kept: Checkpoint) -> None:
        assert earlier is not None
        run.note(what_is_kept(earlier, kept, safety))
        run.emit(Measured(metric="kept", value=kept.facts["states"], unit="states"))

    made = Checkpoints(
        folder=run.folder.path / CHECKPOINT,
        every_s=every_s,
        identity={},
        command=search_command(without=(*CHECKPOINT_OPTIONS, "--budget", "--out")),
        resumed=resumed,
        announce=announce,
        note=run.note,
    )
    made.require(
        spec=variant.spec,
        variant=variant.name,
        constants=selection.constants(spec),
        claims=list(safety),
        coverage=search.coverage,
        fingerprints=search.fingerprints,
        urteil=version("urteil"),
    )
    before = signal.signal(signal.SIGTERM, run.interrupt)
    try:
        yield made
    finally:
        signal.signal(signal.SIGTERM, before)
        if made.last is not None and has_checkpoint(run.folder.path):
            run.note(how_to_resume(made.last, run.folder.path))


def how_to_resume(last: Checkpoint, folder: Path) -> str:
    states, depth = last.facts["states"], last.facts["depth"]
    return (
        f"the checkpoint has {states:,} states to depth {depth}; go on with {last.command} "
        f"--resume {shlex.quote(str(folder))}, and a --budget if it is spent"
    )


def what_is_kept(found: KeptRun, kept: Checkpoint, claims: Sequence[str]) -> str:
    started = datetime.fromisoformat(found.started)
    violated = len(kept.facts["violated"])
    holding = len(claims) - violated
    verdicts = (
        f"{many(holding, 'claim')} still {'holds' if holding == 1 else 'hold'}" if holding else "",
        f"{violated} {'was' if violated == 1 else 'were'} violated" if violated else "",
    )
    return (
        f"kept {kept.facts['states']:,} states to depth {kept.facts['depth']} of the run of "
        f"{started:%Y-%m-%d %H:%M} UTC; {', '.join(filter(None, verdicts))}"
    )


def resumable(text: str, run: Run) -> KeptRun:
    """Returns the run that `text` names. Raises InputFault if the run has no checkpoint, or if
    the run is still running.
    """
    from checkers.over_time.choosing import named
    from checkers.over_time.kept_run import read_run, run_folders

    runs = [read_run(folder) for folder in run_folders(run.parent) if has_checkpoint(folder)]
    runs.sort(key=lambda one: one.started)
    found = named(text, runs, counts=lambda _: True, having="a checkpoint")
    if not has_checkpoint(Path(found.folder)):
        raise InputFault(
            f"--resume {text}: {found.folder} has no checkpoint: a search writes one with "
            "--checkpoint MINUTES, and deletes it when every claim is decided; leave out --resume"
        )
    if is_running(Path(found.folder)):
        raise InputFault(f"--resume {text}: {found.folder} still runs; end it first, by Ctrl-C")
    return found


def is_running(folder: Path) -> bool:
    lock = locked(folder / RUNNING)
    if lock is None:
        return (folder / RUNNING).exists()
    os.close(lock)
    return False
