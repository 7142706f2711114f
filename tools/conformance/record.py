"""The record of comparisons: how the responses of each system differ from the responses of Kafka.

`record.json` has one row for each system. `python -m tools.conformance` writes this file, and
builds docs/conformance.md from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from checkers.conform.families import FAMILIES
from checkers.conform.reason import Reason
from checkers.conform.trial import Found

KEPT: Final = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    name: str
    verdict: str
    sentence: str
    pairs: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    system: str
    seed: int
    sent: int
    compared: int
    alike: int  # pairs without a difference
    unexplained: int
    reasons: tuple[Counted, ...]
    day: str
    families: tuple[str, ...] = ()  # empty for all


def outcome(system: str, seed: int, found: Found, rows: Sequence[Reason], day: str) -> Outcome:
    """Returns the system's entry of `record.json`.

    The entry lists those reasons in `rows` that explain a difference between the compared
    responses.
    """
    names = dict.fromkeys(row.name for row in rows if found.explained[row.name])
    by_name = {row.name: row for row in reversed(rows)}
    return Outcome(
        system=system,
        seed=seed,
        sent=found.sent.total(),
        compared=found.compared.total(),
        alike=found.alike,
        unexplained=found.broken.total(),
        reasons=tuple(
            Counted(
                name=name,
                verdict=str(by_name[name].verdict),
                sentence=by_name[name].sentence,
                pairs=found.explained[name],
                example=str(found.examples[name].difference),
            )
            for name in names
        ),
        day=day,
        families=() if set(found.sent) == set(FAMILIES) else tuple(found.sent),
    )


def kept() -> tuple[Outcome, ...]:
    """Returns the recorded entries, one for each system, or () if there is no file."""
    if not KEPT.exists():
        return ()
    rows: list[dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return tuple(
        replace(
            Outcome(**row),
            reasons=tuple(Counted(**one) for one in row["reasons"]),
            families=tuple(row["families"]),
        )
        for row in rows
    )


def keep(rows: Iterable[Outcome]) -> None:
    """Writes the results of comparisons to the file `KEPT`. If `rows` has several results of a
    system, the last one is written.
    """
    last = {row.system: asdict(row) for row in rows}
    text = json.dumps([last[system] for system in sorted(last)], indent=1)
    KEPT.write_text(f"{text}\n", encoding="utf-8")
