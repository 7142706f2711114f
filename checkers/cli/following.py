"""`urteil analyze --follow`: the verdict on a recording while it grows, whenever it changes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.cli.run import Run
from checkers.events import AnomalyDecided, Evidence
from checkers.report.terminal import table
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.histories.analysis import Analysis

_ROTATIONS: Final = 3  # a part may take the place of its tail while it is read; hardly as often


@contextmanager
def followed(
    run: Run, history: Path, engine: str, master: str | None, analysis: Callable[[], Analysis]
) -> Generator[None]:
    """Shows each verdict that differs from the last; then the block asks the same session.

    It follows until the recording has ended, or the user presses Ctrl-C: that ends the following,
    not the run. InputFault for what is no recording.
    """
    from checkers.histories.io import recorded
    from checkers.spark.connect import SCHEME
    from checkers.spark.following import growths
    from checkers.spark.session import session

    if engine != "spark":
        raise InputFault(f"--follow --engine {engine}: only Spark follows; leave out --engine")
    if master is not None and master.startswith(SCHEME):
        raise InputFault(
            f"--follow --master {master}: over Spark Connect nobody here hears of what has come; "
            "follow on this machine, or by spark://HOST:PORT"
        )
    if not history.is_dir():
        raise InputFault(f"--follow {history}: name the folder that `urteil record` is writing")
    recorded.metadata(history)
    with session(master) as spark:
        before: object = None
        try:
            with closing(growths(history, spark)) as grown:
                for _ in grown:
                    found = _decided(analysis)
                    if _verdicts(found) != before:
                        before = _verdicts(found)
                        title = f"{history}: {found.operations:,} operations so far"
                        run.emit(Evidence(about=title, text=_table(found, title)))
        except BaseException:  # Spark's own, if it was interrupted while it was asked
            if not run.interrupted:
                raise
            run.interrupted = False
            run.note("interrupted: the last word on what there is")
            spark.sparkContext.cancelAllJobs()
        yield


def _decided(analysis: Callable[[], Analysis]) -> Analysis:
    for _ in range(_ROTATIONS):
        try:
            return analysis()
        except FileNotFoundError:
            continue
    return analysis()


def _verdicts(found: Analysis) -> object:
    """What a reader would call another verdict: counts of observations always grow."""
    return found.broken, [(one.anomaly.id, one.verdict, one.count) for one in found.decisions]


def _table(found: Analysis, title: str) -> str:
    return table(
        [
            AnomalyDecided(
                anomaly=one.anomaly.id,
                verdict=one.verdict,
                count=one.count,
                permitted=one.permitted,
                observations=one.observations,
                history=title,
                reason=one.reason,
            )
            for one in found.decisions
        ]
    )
