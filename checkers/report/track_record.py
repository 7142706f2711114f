"""The track record: every bug and every old version that must be caught, as the README's table.

Lengths are those of shortest counterexamples; tests pin each by running it.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.specs import VARIANTS
from reference_impl.bugs import SEEDED_BUGS

Row = tuple[str, str, str, str, str]
HEAD: Row = ("bug or version", "what is wrong", "of", "breaks", "caught by")


def rows() -> Iterator[Row]:
    """Variants of the model that fail, then the bugs seeded in the reference broker."""
    for variant in VARIANTS:
        if variant.breaks is not None:
            caught = f"exploration, in {variant.steps} steps"
            yield variant.name, variant.says, variant.spec, variant.breaks, caught
    for seeded in SEEDED_BUGS:
        breaks, caught = ", ".join(seeded.breaks), ", ".join(seeded.caught_by)
        yield seeded.name, seeded.changes, "broker", breaks, caught


def table() -> str:
    """All rows as Markdown."""
    rule = "|".join(["---"] * len(HEAD))
    return "\n".join([_line(HEAD), f"|{rule}|", *map(_line, rows())])


def _line(row: Row) -> str:
    return f"| {' | '.join(row)} |"
