"""The record of `tools.seeds`: a JSON file with one line for the result of each search."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

KEPT: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "seeds.json"
INSIDE: Final = "inside"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Searched:
    """The identity of a search.

    `where` is INSIDE if the settings satisfy the conditions of all claims. Otherwise `where` names
    a claim, and a setting that does not satisfy the condition of this claim.
    """

    suite: str
    where: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The result of a search. `other` maps each claim with an unexpected verdict to this
    verdict.
    """

    searched: Searched
    claims: int
    other: dict[str, str] = field(default_factory=dict[str, str])
    cpu_s: float = 0.0


def kept(file: Path = KEPT) -> dict[Searched, Row]:
    """Returns the recorded results, or {} if there is no file."""
    if not file.exists():
        return {}
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    rows = [Row(searched=Searched(**row.pop("searched")), **row) for row in found]
    return {row.searched: row for row in rows}


def keep(rows: Iterable[Row], file: Path = KEPT) -> None:
    lines = [json.dumps(asdict(row)) for row in sorted(rows, key=lambda row: row.searched)]
    partial = file.with_suffix(".partial")
    partial.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    partial.replace(file)
