"""Finds a run by its folder, by its id, or by `last` or `last~N`, and filters runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from checkers.over_time.kept_run import KeptRun, KeptVerdict, read_run
from checkers.run_files import DESCRIPTION
from model.faults import InputFault, UnknownName

_LAST: Final = re.compile(r"last(?:~(\d+))?")
_DAYS: Final = re.compile(r"(\d+)d")


def _has_verdicts(run: KeptRun) -> bool:
    return bool(run.verdicts)


def named(
    text: str,
    runs: Sequence[KeptRun],
    *,
    counts: Callable[[KeptRun], bool] = _has_verdicts,
    having: str = "verdicts",
) -> KeptRun:
    """Returns the run that the text describes: a folder, an id, the last four digits of an id,
    `last` or `last~N`.

    `last` is the newest run, and `last~1` is the run before it. For `last`, only the runs for which
    `counts` returns True are counted. `having` describes these runs in the message of an error.

    Raises InputFault if there is no such run, or if the digits are the end of several ids.
    """
    folder = Path(text)
    if (folder / DESCRIPTION).is_file():
        return read_run(folder)
    if found := _LAST.fullmatch(text):
        back = int(found[1] or 0)
        counted = [run for run in runs if counts(run)]
        if back >= len(counted):
            raise InputFault(
                f"{text}: there are {len(counted)} runs with {having}; see urteil runs, or name "
                "their parent folder by --out"
            )
        return counted[-1 - back]
    matching = [run for run in runs if run.id == text or run.id.endswith(f"-{text}")]
    if not matching:
        raise UnknownName("run", text, [run.id for run in runs])
    if len(matching) > 1:
        ids = ", ".join(run.id for run in matching)
        raise InputFault(f"{text} is the end of more than one run: {ids}; write the whole id")
    return matching[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    command: str | None = None
    spec: str | None = None
    claim: str | None = None
    verdict: str | None = None
    since: date | None = None

    def __call__(self, runs: Sequence[KeptRun]) -> tuple[KeptRun, ...]:
        """Returns the runs that satisfy the conditions. If a condition is about verdicts, the
        verdicts that do not satisfy it are omitted, and so are runs without any remaining verdict.
        """
        kept = [run for run in runs if self._fits(run)]
        if self.spec is None and self.claim is None and self.verdict is None:
            return tuple(kept)
        chosen = (replace(run, verdicts=self._verdicts(run)) for run in kept)
        return tuple(run for run in chosen if run.verdicts)

    def _fits(self, run: KeptRun) -> bool:
        of_command = self.command in (None, run.command)
        return of_command and (self.since is None or run.started >= self.since.isoformat())

    def _verdicts(self, run: KeptRun) -> tuple[KeptVerdict, ...]:
        return tuple(
            one
            for one in run.verdicts
            if self.spec in (None, one.spec, one.variant)
            and self.claim in (None, one.claim)
            and self.verdict in (None, one.word)
        )


def since(text: str) -> date:
    """Returns the day that a text describes, such as `2026-11-21`, or `7d` for seven days ago.
    Raises InputFault for any other text.
    """
    if found := _DAYS.fullmatch(text):
        return (datetime.now(tz=UTC) - timedelta(days=int(found[1]))).date()
    try:
        return date.fromisoformat(text)
    except ValueError as why:
        raise InputFault(f"--since {text}: write a day such as 2026-11-21, or 7d") from why
