"""The record of `tools.proofs`: a JSON file with one line for the result of each proof."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

KEPT: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "proofs.json"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Proved:
    spec: str
    version: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """The result of cvc5. `conditions` is the number of conditions that need a query to a solver.
    `agreed` is how many of them cvc5 decides as Z3 does.
    """

    agreed: int
    conditions: int
    unknown: list[str]
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The result of a proof.

    A condition states that an action preserves a claim. It is proved *by frame* if the action
    changes no variable of the claim. It is proved *by consequence* if the claim follows from other
    claims in the same state. Neither needs a query. `open` has the refuted or unknown conditions
    with their reasons. `reason` is the reason why the proof failed, or empty. `load` is the load
    average of the machine at the end.
    """

    proved: Proved
    conditions: int
    by_frame: int
    by_consequence: int
    open: list[str]
    reason: str
    cpu_s: float
    load: float
    second: Second | None = None


def kept(file: Path = KEPT) -> tuple[dict[str, str], dict[Proved, Row]]:
    """Returns the machine on which the proofs ran, and their results. Both are empty if there is no
    file.
    """
    if not file.exists():
        return {}, {}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    rows = [_row(**row) for row in found["rows"]]
    return found["machine"], {row.proved: row for row in rows}


def _row(*, proved: dict[str, Any], second: dict[str, Any] | None, **rest: Any) -> Row:
    return Row(proved=Proved(**proved), second=None if second is None else Second(**second), **rest)


def keep(rows: Iterable[Row], machine: dict[str, str], file: Path = KEPT) -> None:
    lines = [json.dumps(asdict(row)) for row in sorted(rows, key=lambda row: row.proved)]
    text = f'{{"machine": {json.dumps(machine)}, "rows": [\n' + ",\n".join(lines) + "\n]}\n"
    partial = file.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)
