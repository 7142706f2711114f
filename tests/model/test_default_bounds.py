"""Each spec has the same states, transitions and witnesses at its default bounds as ever.

A changed guard or update of a spec changes some of these numbers, even if every claim still holds.
Whoever changes a spec on purpose writes the new numbers here, and says in the commit why they are
right.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from checkers.explicit.search import explore
from model.specs import SPECS, find


class Counts(NamedTuple):
    """What an exploration of every state finds; `witnesses` has the steps to each witness."""

    distinct: int
    generated: int
    depth: int
    witnesses: tuple[int, ...]


COUNTS = {
    "replication": Counts(47_203, 128_623, 22, (7, 4)),
    "election": Counts(26_753, 70_323, 24, (6, 2, 7, 5, 1)),
    "reassignment": Counts(24_759, 65_193, 23, (4, 2, 5, 5, 1, 4, 2)),
    "group-offsets": Counts(220_612, 911_696, 26, (8, 9, 7, 7)),
    "classic-group": Counts(86_284, 485_888, 26, (7, 7, 10, 12)),
    "consumer-group": Counts(73_756, 291_255, 24, (9, 11, 7, 9)),
    "retention": Counts(8_964, 31_738, 16, (4, 6, 6, 5)),
    "transactions": Counts(45_761, 132_345, 43, (13, 13, 13, 10, 26)),
    "idempotence": Counts(764, 1_945, 17, (4, 7, 7, 3)),
    "replication-abstract": Counts(162_154, 1_612_700, 25, (5, 4)),
    "transactions-abstract": Counts(1_660, 5_579, 14, (6, 6, 9, 4)),
    "idempotence-abstract": Counts(4_816, 27_282, 11, (4, 2, 3)),
}


@pytest.mark.parametrize("spec", SPECS)
def test_the_counts_at_the_default_bounds_are_the_recorded_ones(spec: str) -> None:
    found = explore(find(spec).make())
    witnesses = tuple(len(one.trace) - 1 for one in found.witnesses.values())
    assert found.exhausted
    assert not found.violated
    assert Counts(found.distinct, found.generated, found.depth, witnesses) == COUNTS[spec]
