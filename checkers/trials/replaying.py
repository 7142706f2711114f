"""Reads the trials (test runs on a cluster) that `urteil test` has saved, and runs them again.

The file `trial.json` in the folder of a trial has the suite, the claim, the configuration of the
cluster, the system and the calls. The calls of other trials that ran at the same time are included.
The same calls do not always have the same result, so a trial is repeated several times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from checkers.trials.evidence import PROGRAM, TRIAL, Origin
from checkers.trials.known import Program
from checkers.trials.trial import Ran, Trials
from model.faults import InputFault
from properties.suites.machines.driven import Power
from properties.suites.registry import suite_named
from properties.suites.search.programs import calls_in
from properties.suites.suite import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTrial:
    """A saved trial (a test run on a cluster)."""

    folder: Path
    suite: Suite
    claim: str
    setting: str
    programs: tuple[Program, ...]  # the trial's own, then those that ran at the same time
    origin: Origin

    @property
    def needs(self) -> frozenset[Power]:
        calls = chain.from_iterable(self.programs)
        needed = (self.suite.machine.NEEDS.get(call.rule) for call in calls)
        return frozenset(power for power in needed if power is not None)

    def shown_by(self, ran: Ran) -> str | None:
        """Returns a text on how the repeated test run broke the claim, or reached a goal of the
        claim. Returns None if it did neither.

        A claim of the form "X can happen" has goals, which are conditions that some run must reach.
        Other claims have no goals.
        """
        found = (how for name, how in ran.shown.items() if name.partition(": ")[0] == self.claim)
        return next(found, None)

    def again(self, trials: Trials, times: int) -> Iterator[Ran]:
        for _ in range(times):
            yield trials.together(self.suite, self.setting, self.programs)[0]


def is_of_trial(path: Path) -> bool:
    """Returns True for a folder, and for a file with the name `trial.json` or `program.txt`."""
    # Any other file is a trace of a model. A folder is not read here, so it may have no trial.
    return path.is_dir() or path.name in (PROGRAM, TRIAL)


def kept_trials(path: Path) -> tuple[KeptTrial, ...]:
    """Returns the trials (test runs) that are saved in a folder. `path` is the folder, or a file in
    it. A folder of a trial has one trial. A run folder has the folders of several trials, and all
    of them are returned.

    Raises InputFault if there is no trial, or if a trial is unreadable.
    """
    folder = path if path.is_dir() else path.parent
    files = [folder / TRIAL] if (folder / TRIAL).exists() else sorted(folder.glob(f"*/{TRIAL}"))
    if not files:
        raise InputFault(
            f"{path}: no {TRIAL}: name the run folder of `urteil test SUITE --on SYSTEM` that kept"
            " a trial, or a trace in ITF"
        )
    return tuple(_read(file) for file in files)


def _read(file: Path) -> KeptTrial:
    try:
        read: Any = json.loads(file.read_text(encoding="utf-8"))
        return KeptTrial(
            folder=file.parent,
            suite=suite_named(read["suite"]),
            claim=read["claim"],
            setting=read["setting"],
            programs=tuple(calls_in("\n".join(calls)) for calls in read["programs"]),
            origin=Origin(**read["origin"]),
        )
    except OSError as why:
        raise InputFault(f"{why.filename}: {why.strerror}; name a folder of a trial") from why
    except (ValueError, KeyError, TypeError) as why:
        raise InputFault(f"{file}: not a kept trial: {why}; run the suite again") from why
