"""Keeps the evidence of a trial: its program, the faults with their times, and the history."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from checkers.histories.io.recorded import as_table
from checkers.trials.deciding import Judged
from checkers.trials.trial import Ran
from properties.suites.suite import Suite

FAULTS: Final = "faults.ndjson"
HISTORY: Final = "history.parquet"


def program(suite: Suite, ran: Ran) -> str:
    """Returns the trial's calls as a program.

    The comment of a call is the first sentence of its rule's docstring.
    """
    name = suite.machine.__name__
    lines = [f"{name}({ran.setting!r})"]
    for call in ran.calls:
        said = (getattr(suite.machine, call.rule).__doc__ or "").strip().splitlines()[0]
        lines.append(f"{call}  # {said}")
    return "\n".join((*lines, "state.teardown()  # ends all faults, and judges the run"))


def kept(folder: Path, suite: Suite, judged: Judged) -> Path | None:
    """Writes the evidence of a trial to a new folder below `folder`; returns the new folder.

    Returns None if there is no evidence.
    """
    if judged.evidence is None:
        return None
    ran = judged.evidence
    own = _new(folder, f"{suite.name}-{judged.side.claim}")
    (own / "program.txt").write_text(program(suite, ran) + "\n", encoding="utf-8")
    began_ns = min((one.invoked_ns for one in ran.history), default=0)
    lines = (
        json.dumps({**asdict(fault), "after_s": round((fault.at_ns - began_ns) / 1e9, 3)})
        for fault in ran.inflicted
    )
    (own / FAULTS).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    pq.write_table(as_table(ran.history), own / HISTORY)  # pyright: ignore[reportUnknownMemberType]
    return own


def _new(folder: Path, name: str) -> Path:
    number = 1
    while (own := folder / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    own.mkdir(parents=True)
    return own
