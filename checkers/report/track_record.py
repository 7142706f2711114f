"""The track record: every bug and every old version that must be caught, as a table.

Lengths are those of shortest counterexamples, counts those of distinct states; both come from the
runs that `checkers/track_record.json` keeps.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.track_record import kept
from model.specs import VARIANTS
from reference_impl.node.seeded_bugs import SEEDED_BUGS

Row = tuple[str, str, str, str, str, str]
HEAD: Row = ("bug or version", "reported as", "what is wrong", "of", "breaks", "caught by")


def rows() -> Iterator[Row]:
    """Variants of the model that fail, then the bugs seeded in the reference broker."""
    record = kept()
    for variant in VARIANTS:
        if variant.breaks is not None:
            caught = record.get((variant.spec, variant.name))
            told = "not run yet" if caught is None else f"exploration, {caught}"
            yield (
                variant.name,
                variant.known_as,
                variant.says,
                variant.spec,
                variant.breaks,
                told,
            )
    for seeded in SEEDED_BUGS:
        breaks, caught_by = ", ".join(seeded.breaks), ", ".join(seeded.caught_by)
        yield seeded.name, "", seeded.changes, "broker", breaks, caught_by


def table() -> str:
    """All rows as Markdown."""
    rule = "|".join(["---"] * len(HEAD))
    return "\n".join([_line(HEAD), f"|{rule}|", *map(_line, rows())])


def _line(row: Row) -> str:
    return f"| {' | '.join(row)} |"
