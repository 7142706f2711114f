"""`urteil analyze --follow`: analyzes a growing recording, and prints the verdicts when they
change.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from checkers.cli.run import Run
from checkers.cli.topics import topic_growths
from checkers.events import AnomalyDecided, Evidence
from checkers.report.terminal import table
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.histories.analysis import Analysis
    from checkers.histories.io.locations import Location
    from checkers.histories.topics.address import Topic
    from checkers.histories.topics.copying import TopicCopy

_RETRIES: Final = 3  # of an analysis: the recorder may rename the file it is reading


@contextmanager
def followed(
    run: Run,
    history: Location,
    engine: str,
    master: str | None,
    analyze_now: Callable[[], Analysis],
    *,
    ui: bool = False,
) -> Generator[None]:
    """Prints each verdict that changes while the recording grows. Then runs the `with` block.

    The block runs at the end of the recording, or after Ctrl-C. The Spark session is still open in
    the block. Raises InputFault if the history cannot be followed.
    """
    from checkers.histories.io import recorded
    from checkers.spark.following import growths

    if engine != "spark":
        raise InputFault(
            f"--follow works with Spark only, except for topics: leave out --engine {engine}"
        )
    _refuse_connect(master)
    if not isinstance(history, Path):
        raise InputFault(
            f"--follow {history}: follows local recordings and topics only; leave out --follow"
        )
    if not history.is_dir():
        raise InputFault(
            f"--follow {history}: not a folder; name the one that `urteil record` writes"
        )
    recorded.metadata(history)
    with _spark(run, master, ui=ui) as spark:
        cancel = spark.sparkContext.cancelAllJobs
        with closing(growths(history, spark)) as grown:
            _print_changes(run, str(history), grown, analyze_now, cancel)
        yield


@contextmanager
def followed_topic(
    run: Run,
    topic: Topic,
    copy: TopicCopy,
    engine: str,
    master: str | None,
    analyze_now: Callable[[], Analysis],
    *,
    ui: bool = False,
) -> Generator[None]:
    """Prints each verdict that changes while the topic grows, until Ctrl-C. Then runs the caller's
    `with` block.
    """
    grown = topic_growths(run, copy)
    if engine != "spark":
        _print_changes(run, str(topic), grown, analyze_now)
        yield
        return
    with _spark(run, master, ui=ui) as spark:
        _print_changes(run, str(topic), grown, analyze_now, spark.sparkContext.cancelAllJobs)
        yield


@contextmanager
def _spark(run: Run, master: str | None, *, ui: bool) -> Generator[Any]:
    from checkers.spark.session import session, ui_address

    _refuse_connect(master)
    with session(master, ui=ui) as spark:
        if ui:
            run.note(f"Spark's web UI: {ui_address(spark)}")
        yield spark


def _refuse_connect(master: str | None) -> None:
    from checkers.spark.connect import SCHEME

    if master is not None and master.startswith(SCHEME):
        raise InputFault(
            f"--follow --master {master}: --follow does not work over Spark Connect; "
            "use a local or spark:// master"
        )


def _print_changes(
    run: Run,
    name: str,
    grown: Iterable[None],
    analyze_now: Callable[[], Analysis],
    cancel: Callable[[], None] = lambda: None,
) -> None:
    before: object = None
    try:
        for _ in grown:
            found = _analyzed(analyze_now)
            if _verdicts(found) != before:
                before = _verdicts(found)
                title = f"{name}: {found.operations:,} operations so far"
                run.emit(Evidence(about=title, text=_table(found, title)))
    except BaseException:  # a Spark call that is interrupted raises an error of its own
        if not run.interrupted:
            raise
        run.interrupted = False
        run.note("interrupted: a last analysis of what was recorded so far")
        cancel()


def _analyzed(analyze_now: Callable[[], Analysis]) -> Analysis:
    for _ in range(_RETRIES):
        try:
            return analyze_now()
        except FileNotFoundError:
            continue
    return analyze_now()


def _verdicts(found: Analysis) -> object:
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
                observed=one.anomaly.observes,
                history=title,
                reason=one.reason,
            )
            for one in found.decisions
        ]
    )
