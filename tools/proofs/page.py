"""Builds the page docs/proofs.md from the recorded results of `tools.proofs`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import fsum
from pathlib import Path
from typing import Final

from tools.proofs.campaign import SEEDS, Task
from tools.proofs.record import Proved, Row

PAGE: Final = Path(__file__).parents[2] / "docs" / "proofs.md"
TOP: Final = """<!-- Written by tools/proofs: do not edit. -->
# Proofs on ten seeds

A seed changes how Z3 searches, so a proof may succeed on one seed and leave a condition *unknown*
on another. `make proofs` proves every proved version on the seeds 0 to 9.

A condition is about one action and one claim. Two kinds of conditions need no query of a solver:

- *by frame*: the action changes no variable of the claim.
- *by consequence*: the claim follows from other claims in the same state. One query proves this
  for all actions. It belongs to the claim's first condition, which is not counted here.

On seed 0, cvc5 decides every query again, so it gets all other conditions. The two solvers must not
disagree. A condition that cvc5 leaves unknown counts as not agreed.
"""


def page(every: Collection[Task], rows: Mapping[Proved, Row], machine: Mapping[str, str]) -> str:
    """Returns the page: the results on all seeds and the CPU times of each proved version."""
    lines = [TOP, *_versions(every, rows), "", *_totals(every, rows), "", *_open(rows), ""]
    lines += [f"Measured with {', '.join(f'{k} {v}' for k, v in machine.items())}."] if rows else []
    return "\n".join(lines).rstrip() + "\n"


def _versions(every: Collection[Task], rows: Mapping[Proved, Row]) -> Iterator[str]:
    yield (
        "| version | conditions | by frame | by consequence | proved, of seeds tried "
        "| CPU with Z3 | cvc5 agrees | CPU with cvc5 |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for spec, version in dict.fromkeys((it.key.spec, it.key.version) for it in every):
        keys = (Proved(spec=spec, version=version, seed=seed) for seed in SEEDS)
        of = [rows[key] for key in keys if key in rows]
        if not of:
            yield f"| {spec} {version} | | | | not tried | | | |"
            continue
        proved = sum(not row.reason for row in of)
        times = sorted(row.cpu_s for row in of)
        second = next((row.second for row in of if row.second is not None), None)
        agrees = "not tried" if second is None else f"{second.agreed} of {second.conditions}"
        cpu = "" if second is None else f"{second.cpu_s:.1f} s"
        yield (
            f"| {spec} {version} | {of[0].conditions} | {of[0].by_frame} | {of[0].by_consequence} "
            f"| {proved} of {len(of)} | {times[0]:.1f} to {times[-1]:.1f} s | {agrees} | {cpu} |"
        )


def _totals(every: Collection[Task], rows: Mapping[Proved, Row]) -> Iterator[str]:
    failed = sum(bool(row.reason) for row in rows.values())
    yield f"{len(rows)} of {len(every)} proofs are done; {failed} failed."
    versions = len({(it.key.spec, it.key.version) for it in every})
    for seed in SEEDS:
        of = [row for key, row in rows.items() if key.seed == seed]
        if len(of) == versions:
            cpu, load = fsum(row.cpu_s for row in of), max(row.load for row in of)
            yield f"All proofs on seed {seed} took {cpu:.0f} s of CPU (load up to {load:.0f})."
    seconds = [row.second for row in rows.values() if row.second is not None]
    if seconds:
        agreed, asked = sum(it.agreed for it in seconds), sum(it.conditions for it in seconds)
        yield f"cvc5 agrees on {agreed} of {asked} conditions ({agreed / asked:.1%})."


def _open(rows: Mapping[Proved, Row]) -> Iterator[str]:
    yield "## Open conditions"
    yield ""
    found = [
        *(
            f"- {key.spec} {key.version}, seed {key.seed}: {condition}"
            for key, row in sorted(rows.items())
            for condition in row.open or ([row.reason] if row.reason else [])
        ),
        *(
            f"- {key.spec} {key.version}, unknown to cvc5: {', '.join(row.second.unknown)}"
            for key, row in sorted(rows.items())
            if row.second is not None and row.second.unknown
        ),
    ]
    yield from found or ["None is known."]
