"""The track record as a Markdown table: each modelled bug or faulty version, and how it is caught.

A row of a spec has the length of a shortest counterexample and the number of distinct states, from
`checkers/track_record.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.track_record import kept
from model.specs import all_variants
from reference_impl.node.seeded_bugs import SEEDED_BUGS

Row = tuple[str, ...]
HEAD: Row = (
    "bug or version",
    "issue",
    "what is wrong",
    "in which Kafka",
    "spec",
    "breaks",
    "caught by",
)


def rows() -> Iterator[Row]:
    record = kept()
    for variant in all_variants():
        if variant.breaks is not None:
            caught = record.get((variant.spec, variant.name))
            yield (
                variant.name,
                variant.issue,
                variant.summary,
                str(variant.in_force),
                variant.spec,
                variant.breaks,
                "not run yet" if caught is None else f"exploration, {caught}",
            )
    for seeded in SEEDED_BUGS:
        breaks, caught_by = ", ".join(seeded.breaks), ", ".join(seeded.caught_by)
        in_force = str(seeded.in_force)
        yield seeded.name, "", seeded.changes, in_force, "broker", breaks, caught_by


def table() -> str:
    rule = "|".join(["---"] * len(HEAD))
    return "\n".join([_line(HEAD), f"|{rule}|", *map(_line, rows())])


def _line(row: Row) -> str:
    return f"| {' | '.join(row)} |"
