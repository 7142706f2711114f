"""Removes lemmas from proved specs, and lets `--houdini` search for lemmas that replace them.

    python -m tools.removed_lemmas --seconds 3600   # runs the missing cases
    python -m tools.removed_lemmas --again          # runs all of them

A case is a version of a spec, and the removed lemmas: one lemma, or all lemmas of the version. The
results are written to benchmarks/results/removed_lemmas.json. Each search has a budget of
`BUDGET_S` seconds of CPU time. The recorded time of a case is the CPU time of its search and
proofs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, get_args

from benchmarks.pairs import cpu_model
from checkers import symbolic
from checkers.lemmas.pool import stated
from checkers.lemmas.proposing import OutOfTime, Proposal, Proposer
from checkers.lemmas.text import with_lemmas
from checkers.symbolic.limits import Effort
from checkers.symbolic.small_induction import SmallInduction
from model.language import Spec
from model.specs import find

KEPT: Final = Path(__file__).parents[1] / "benchmarks" / "results" / "removed_lemmas.json"
BUDGET_S: Final = 20.0
ALL: Final = "all lemmas"

SMALL: Final = {  # the proved specs that are small enough, with their versions
    "transactions-abstract": ("v2",),
    "consumer-group-abstract": ("kip-1251",),
    "idempotence-abstract": ("kip-360", "with-restarts"),
    "read-committed-abstract": ("restores-unreplicated",),
    "classic-group-abstract": ("kip-345",),
    "share-group-abstract": ("start-offset-grows",),
}

Result = Literal[
    "not needed",  # the claims are proved without the lemma
    "found again",  # the proposed lemmas imply the removed one
    "replaced",  # other lemmas prove the claims
    "not found",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    spec: str
    version: str
    removed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The result of a case: the names and the texts of the proposed lemmas, and the effort of the
    search.
    """

    case: Case
    result: Result
    lemmas: Mapping[str, str]
    proves: tuple[str, ...]
    missing: tuple[str, ...]
    why: str
    tried: int
    true: int
    states: int
    cpu_s: float


def cases() -> Iterator[Case]:
    for spec, versions in SMALL.items():
        for name in versions:
            made = find(spec, name).make()
            for removed in (*(c.name for c in made.claims if c.lemma), ALL):
                yield Case(spec=spec, version=name, removed=removed)


def conduct(case: Case, whole: Spec, seconds: float = BUDGET_S) -> Row:
    """Removes some lemmas from the spec `whole`, tries to prove the claims without these lemmas,
    and searches for lemmas that replace them. `case` names the lemmas to remove.
    """
    began = time.process_time()
    own = [c.name for c in whole.claims if c.lemma]
    removed = own if case.removed == ALL else [case.removed]
    spec = with_lemmas(whole, (), removed)
    proof = symbolic.prove(spec)
    targets = [c.name for c in spec.claims if not c.lemma and c.name not in proof.proved]
    found = Proposal()
    if targets:

        def poll() -> None:
            if time.process_time() - began > seconds:
                raise OutOfTime

        found = Proposer(spec, targets, symbolic.prove, poll=poll).run()
    return Row(
        case=case,
        result=result_of(whole, spec, removed, targets, found),
        lemmas={one.claim.name: str(one.text) for one in found.lemmas},
        proves=found.proves,
        missing=found.missing,
        why=found.why,
        tried=found.tried,
        true=found.true,
        states=found.states,
        cpu_s=round(time.process_time() - began, 1),
    )


def result_of(
    whole: Spec, spec: Spec, removed: Sequence[str], targets: Sequence[str], found: Proposal
) -> Result:
    if not targets:
        return "not needed"
    if found.missing:
        return "not found"
    extended = with_lemmas(spec, [one.claim for one in found.lemmas])
    gone = [c for c in whole.claims if c.name in removed]
    induction = SmallInduction(spec, None, Effort())
    every = stated(with_lemmas(extended, gone))
    induction.add(c.clause for c in every)
    kept = [c.name for c in extended.claims]
    again = all(induction.follows(name, kept) for name in removed)
    return "found again" if again else "replaced"


def kept(file: Path = KEPT) -> dict[Case, Row]:
    if not file.exists():
        return {}
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    made = [Row(**{**row, **_as_written(row)}) for row in rows]
    return {row.case: row for row in made}


def _as_written(row: Mapping[str, Any]) -> dict[str, object]:
    """JSON changes the types of some fields of a row. Returns these fields with their Python types:
    a `Case`, and tuples.
    """
    tuples = {name: tuple(row[name]) for name in ("proves", "missing")}
    return {"case": Case(**row["case"]), **tuples}


def keep(rows: Sequence[Row], file: Path = KEPT) -> None:
    machine = {"CPU": cpu_model(), "z3-solver": version("z3-solver")}
    lines = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in rows)
    text = f'{{"machine": {json.dumps(machine)}, "budget_s": {BUDGET_S}, "rows": [\n{lines}\n]}}\n'
    file.write_text(text, encoding="utf-8")


def table(rows: Mapping[Case, Row]) -> str:
    """Returns the results as a table of Markdown, with a line for each version of a spec."""
    every = [case for case in cases() if case.removed != ALL]
    lines = [
        f"| version | tried | {' | '.join(get_args(Result))} | all removed | CPU |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for spec, version_ in dict.fromkeys((case.spec, case.version) for case in rows):
        of = [row for case, row in rows.items() if (case.spec, case.version) == (spec, version_)]
        one = [row for row in of if row.case.removed != ALL]
        counts = [sum(row.result == result for row in one) for result in get_args(Result)]
        whole = ", ".join(row.result for row in of if row.case.removed == ALL)
        times = sorted(row.cpu_s for row in of)
        number = sum((case.spec, case.version) == (spec, version_) for case in every)
        tried, cpu = f"{len(one)} of {number}", f"{times[0]} to {times[-1]} s"
        cells = [f"{spec} {version_}", tried, *counts, whole or "not tried", cpu]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the cases that are missing in the file of results. Returns 3 if cases are missing in the
    end, and 0 otherwise.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3_600.0, help="the budget")
    parser.add_argument("--spec", help="only this spec")
    parser.add_argument("--again", action="store_true", help="repeat recorded cases")
    options = parser.parse_args(arguments)
    until = time.monotonic() + options.seconds
    rows = kept()
    for case in (every := list(cases())):
        done = case in rows and not options.again
        if done or options.spec not in (None, case.spec) or time.monotonic() >= until:
            continue
        rows[case] = row = conduct(case, find(case.spec, case.version).make())
        keep([rows[one] for one in every if one in rows])
        sys.stdout.write(f"{case.spec} {case.removed}: {row.result}, {row.cpu_s} s\n")
        sys.stdout.flush()
    return 0 if all(case in rows for case in every) else 3


if __name__ == "__main__":
    sys.exit(main())
