"""`urteil runs`: lists earlier runs and flaky verdicts, or writes them to an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.cli import completion
from checkers.cli.command import FILE, command
from checkers.cli.run import Run
from checkers.events import Listed, Measured
from checkers.run_files import has_checkpoint
from checkers.verdicts import LISTED_AS
from model.faults import InputFault, UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checkers.over_time.flaky import Flaky
    from checkers.over_time.kept_run import KeptRun


@click.command("runs")
@click.option("--command", "of", metavar="NAME", help="Only runs of this command, such as test.")
@click.option("--spec", metavar="NAME", help="Only verdicts on this spec, variant or suite.")
@click.option(
    "--claim",
    metavar="NAME",
    shell_complete=completion.decided_names,
    help="Only verdicts on this claim, property or anomaly.",
)
@click.option(
    "--verdict",
    metavar="WORD",
    shell_complete=completion.verdict_words,
    help=f"Only runs with such a verdict: {', '.join(LISTED_AS)}.",
)
@click.option("--since", metavar="DAY", help="Only runs since a day: 2026-11-21, or 7d.")
@click.option("--html", type=FILE, help="Write a page with the history of each claim.")
@command(decides=False, folder=False, reads_runs=True)
def runs_command(
    run: Run,
    of: str | None,
    spec: str | None,
    claim: str | None,
    verdict: str | None,
    since: str | None,
    html: Path | None,
) -> None:
    """List the runs below --out with their verdicts, the oldest first, then the flaky verdicts.

    \b
    urteil runs
    urteil runs --claim lost-write --since 7d
    urteil runs --html history.html

    A verdict is flaky if runs at the same commit disagree on it.
    """
    from checkers.over_time.choosing import Filter
    from checkers.over_time.choosing import since as day
    from checkers.over_time.flaky import flaky

    if verdict is not None and verdict not in LISTED_AS:
        raise UnknownName("verdict", verdict, LISTED_AS)
    kept = Filter(
        command=of,
        spec=spec,
        claim=claim,
        verdict=verdict,
        since=None if since is None else day(since),
    )
    runs = stored(run)
    chosen = kept(runs)
    # A filter by verdict would hide one side of a flaky verdict.
    unsteady = flaky(Filter(command=of, spec=spec, claim=claim, since=kept.since)(runs))
    if html is not None:
        _write(html, chosen, unsteady)
        run.emit(Measured(metric="page", value=str(html)))
        return
    for one in chosen:
        run.emit(_listed(one))
    for unstable in unsteady:
        run.emit(_listed_flaky(unstable))
    if not chosen:
        run.note(f"no such run below {run.parent}")


def stored(run: Run) -> tuple[KeptRun, ...]:
    """Adds the runs that are missing in the store of runs, and returns all runs of the store.

    Raises UnusableStore if the store cannot be used, and InputFault if the parent folder of the
    runs does not exist.
    """
    from checkers.over_time.store import opened

    if not run.parent.is_dir():
        raise InputFault(f"{run.parent}: no such folder; name the parent of run folders by --out")
    with opened(run.parent) as store:
        # A refused run has no folder in the end, so it must not get into the store.
        store.add_missing(left_out="" if run.folder is None else run.folder.path.name)
        for why in store.unread:
            run.note(f"left out: {why}")
        return store.runs()


def _listed(run: KeptRun) -> Listed:
    facts: dict[str, object] = {
        "of": run.command,
        "started": run.started,
        "command_line": run.command_line,
        "seed": run.seed,
        "urteil": run.urteil,
        "commit": run.commit,
        "uncommitted": run.uncommitted,
        "system": run.system,
        "seconds": run.seconds,
        "exit_code": run.exit_code,
        "folder": run.folder,
        "verdicts": [
            {
                "claim": one.claim,
                "subject": one.subject,
                "verdict": one.word,
                "count": one.count,
                "seconds": one.seconds,
                "fingerprints": dict(one.fingerprints),
            }
            for one in run.verdicts
        ],
    }
    parts = (
        run.counts() if run.exit_code is not None else f"{run.counts()}, did not end",
        f"seed {run.seed}",
        run.system or "",
        f"{run.commit[:8]}{' and changes' if run.uncommitted else ''}" if run.commit else "",
        "" if run.seconds is None else f"{run.seconds:.1f} s",
        "" if Path(run.folder).is_dir() else "folder removed",
        "can be resumed" if has_checkpoint(Path(run.folder)) else "",
    )
    return Listed(kind="run", item=run.id, statement="  ".join(filter(None, parts)), facts=facts)


def _listed_flaky(one: Flaky) -> Listed:
    facts: dict[str, object] = {
        "of": one.command,
        "subject": one.subject,
        "commit": one.commit,
        "violated_in": list(one.violated),
        "runs": one.runs,
    }
    return Listed(kind="flaky", item=one.claim, statement=f"{one}  {one.subject}", facts=facts)


def _write(file: Path, runs: Sequence[KeptRun], unsteady: Sequence[Flaky]) -> None:
    from checkers.over_time.page import page

    try:
        file.write_text(page(runs, unsteady), encoding="utf-8")
    except OSError as why:
        raise InputFault(
            f"--html {file}: cannot be written: {why.strerror}; name a file in a folder that exists"
        ) from why
