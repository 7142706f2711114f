"""The page with the history of each claim. It is one HTML file that has no scripts and makes no
requests.

A claim has one row for each subject. The subject is a history, or a spec with its constants and
engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from checkers.over_time.flaky import Flaky
from checkers.over_time.kept_run import KeptRun, KeptVerdict, worst
from checkers.report.decisions import MARKS
from checkers.report.html import environment

MOST: Final = 200  # runs in a row
STATES: Final = {
    "violated": "violated",
    "undecided": "undecided",
    "known": "known-violation",
    "permitted": "as-expected",
    "holds": "holds",
    "not exercised": "not-exercised",
}


def page(runs: Sequence[KeptRun], unsteady: Sequence[Flaky]) -> str:
    """Returns an HTML page with the verdicts of all runs on each claim.

    The claims are ordered by the verdict of the newest run, the worst verdict first. Of claims with
    equal verdicts, flaky claims come first.
    """
    rows: dict[tuple[str, str], list[tuple[KeptRun, KeptVerdict]]] = {}
    for run in runs:
        by_claim: dict[tuple[str, str], list[KeptVerdict]] = {}
        for one in run.verdicts:
            by_claim.setdefault((one.claim, one.subject), []).append(one)
        for key, group in by_claim.items():
            rows.setdefault(key, []).append((run, worst(group)))
    flaky = {(one.claim, one.subject): one for one in unsteady}
    histories = [_history(key, kept, flaky.get(key)) for key, kept in rows.items()]
    # A claim that is violated now comes first, then flaky ones.
    histories.sort(key=lambda it: (it["rank"], it["flaky"] is None, it["claim"]))
    groups = [(name, [*of]) for name, of in groupby(histories, lambda it: it["claim"])]
    template = environment().get_template("history.html.j2")
    return template.render(
        groups=groups,
        runs=len(runs),
        first=runs[0].started[:10] if runs else "",
        last=runs[-1].started[:10] if runs else "",
        unsteady=len(flaky),
        most=MOST,
    )


def _history(
    key: tuple[str, str], kept: Sequence[tuple[KeptRun, KeptVerdict]], flaky: Flaky | None
) -> dict[str, Any]:
    runs = [_shown(run, verdict) for run, verdict in kept[-MOST:]]
    return {
        "claim": key[0],
        "subject": key[1],
        "rank": [*STATES].index(kept[-1][1].word),
        "state": runs[-1]["state"],
        "flaky": str(flaky) if flaky is not None else None,
        "runs": runs,
        "left_out": len(kept) - len(runs),
    }


def _shown(run: KeptRun, verdict: KeptVerdict) -> dict[str, Any]:
    seconds = verdict.seconds if verdict.seconds is not None else run.seconds
    changed = " and changes" if run.uncommitted else ""
    return {
        "run": run.id,
        "started": run.started[:16].replace("T", " "),
        "mark": MARKS[verdict.verdict],
        "word": verdict.word,
        "state": STATES[verdict.word],
        "count": verdict.count or None,
        "fingerprints": [*verdict.fingerprints.items()],
        "seed": run.seed,
        "urteil": run.urteil,
        "system": verdict.system or run.system or "",
        "commit": f"{run.commit[:8]}{changed}" if run.commit else "",
        "seconds": "" if seconds is None else f"{seconds:.1f} s",
    }
