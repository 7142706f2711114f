"""Writes run folders with chosen verdicts, as a run would leave them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from checkers.events import AnomalyDecided, Event, PropertyDecided, RunFinished, RunStarted
from checkers.verdicts import Verdict

ONE, TWO, THREE = "1111111111111111", "2222222222222222", "3333333333333333"


def anomaly(
    name: str = "lost-write",
    verdict: Verdict = "violated",
    *fingerprints: str,
    history: str = "runs/2026-11-23T0142-9a0e/history",
    count: int = 1,
    known: Mapping[str, str] | None = None,
    permitted: bool = False,
) -> AnomalyDecided:
    """Returns a verdict on an anomaly; a violation has the fingerprint ONE by default."""
    violated = verdict == "violated"
    return AnomalyDecided(
        anomaly=name,
        verdict=verdict,
        count=count if violated else 0,
        permitted=permitted,
        history=history,
        fingerprints=dict.fromkeys(fingerprints or (ONE,), "writer: send ok") if violated else {},
        known=known or {},
    )


def claim(name: str = "append_order", verdict: Verdict = "holds") -> PropertyDecided:
    """Returns the verdict of a suite on a claim."""
    found = {TWO: "# is lost"} if verdict == "violated" else {}
    return PropertyDecided(
        property=name,
        verdict=verdict,
        engine="hypothesis",
        spec="log",
        seconds=1.5,
        fingerprints=found,
    )


def write_run(
    base: Path,
    name: str,
    *events: Event,
    command: str = "analyze",
    day: int = 21,
    commit: str | None = None,
    uncommitted: bool = False,
    seed: int = 0,
    ended: bool = True,
) -> Path:
    """Writes the folder of a run called `2026-11-DAYT0142-NAME`, and returns it."""
    folder = base / f"2026-11-{day}T0142-{name}"
    folder.mkdir(parents=True)
    described = {
        "command": ["urteil", command],
        "seed": seed,
        "started": f"2026-11-{day}T01:42:00.000+00:00",
        "urteil": "0.4.0",
        "commit": commit,
        "uncommitted": uncommitted,
    }
    (folder / "run.json").write_text(json.dumps(described))
    line = f"urteil {command}"
    stream: list[Event] = [
        RunStarted(command=command, folder=str(folder), seed=seed, command_line=line),
        *events,
        *([RunFinished(exit_code=0, seconds=2.5)] if ended else []),
    ]
    (folder / "events.ndjson").write_text("".join(f"{one.as_json()}\n" for one in stream))
    return folder
