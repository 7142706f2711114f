"""The record of mutation testing: a JSON file with a line for each mutant that was tried."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from tools.mutants.mutations import Mutant
from tools.mutants.trying import Outcome, Verdict

KEPT: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "mutants.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    id: str
    room: str  # the part of the product
    line: int
    operator: str
    before: str
    outcome: Outcome
    after: str = ""
    scope: str = ""
    test: str = ""
    error: str = ""
    ran: int = 0  # of a crash: the calls that ran the changed statement, as in `Verdict`
    raised: int = 0
    reason: str = ""  # why no test can see a survivor, or a crash suffices; empty while it is open

    @property
    def file(self) -> str:
        return self.id.partition("#")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What can change the outcome of a mutant: the seed, and the versions of three tools."""

    seed: int
    python: str
    pytest: str
    hypothesis: str


def tried(part: str, mutant: Mutant, verdict: Verdict) -> Tried:
    return Tried(
        id=mutant.id,
        room=part,
        line=mutant.line,
        scope=mutant.scope,
        operator=mutant.operator,
        before=" ".join(mutant.before.split()),
        after=" ".join(mutant.after.split()),
        outcome=verdict.outcome,
        test=verdict.test,
        error=verdict.error,
        ran=verdict.ran if verdict.outcome == "crash" else 0,
        raised=verdict.raised if verdict.outcome == "crash" else 0,
    )


def kept(file: Path = KEPT) -> dict[str, Tried]:
    """Returns the recorded mutants by their ids, or {} if there is no record yet."""
    if not file.exists():
        return {}
    rows = json.loads(file.read_text(encoding="utf-8"))["mutants"]
    return {row["id"]: Tried(**row) for row in rows}


def with_reasons_of(before: Tried | None, row: Tried) -> Tried:
    """Returns the new result of a mutant.

    If the earlier result `before` has the same outcome, the new result keeps the explanation in
    `before`: why the mutant survives or crashes.
    """
    if before is None or row.outcome != before.outcome:
        return row
    return replace(row, reason=before.reason)


def at_their_points(rows: Mapping[str, Tried], points: Iterable[Mutant]) -> Iterator[Tried]:
    """Returns the results of all mutants that still exist, with their present line numbers.

    `rows` has the results by the ids of the mutants.
    """
    return (replace(rows[it.id], line=it.line) for it in points if it.id in rows)


def keep(versions: Versions, rows: Iterable[Tried], file: Path = KEPT) -> None:
    ordered = sorted(rows, key=lambda it: (it.room, it.file, it.line, it.id))
    lines = [
        json.dumps({k: v for k, v in asdict(row).items() if v not in ("", 0)}) for row in ordered
    ]
    head = json.dumps(asdict(versions))
    text = f'{{"versions": {head}, "mutants": [\n' + ",\n".join(lines) + "\n]}\n"
    partial = file.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)
