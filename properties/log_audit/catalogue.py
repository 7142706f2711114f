"""All checks of the audit: first the checks that the files are readable, then the checks of their
content.
"""

from __future__ import annotations

from typing import Final

from model.faults import UnknownName
from properties.log_audit import (
    aborted_index,
    integrity,
    leader_epochs,
    offsets,
    open_transactions,
    producer_snapshots,
    producers,
    replicas,
    transactions,
)
from properties.log_audit.check import Check

CHECKS: Final[tuple[Check, ...]] = (
    *integrity.CHECKS,
    *offsets.CHECKS,
    *leader_epochs.CHECKS,
    *replicas.CHECKS,
    *producers.CHECKS,
    *transactions.CHECKS,
    *open_transactions.CHECKS,
    *aborted_index.CHECKS,
    *producer_snapshots.CHECKS,
)
BY_ID: Final = {check.id: check for check in CHECKS}


def named(names: tuple[str, ...] = ()) -> tuple[Check, ...]:
    """Returns the checks with the given names, in the order of the catalogue. If `names` is empty,
    returns all checks.

    Raises `UnknownName` if a name in `names` is not in the catalogue.
    """
    for name in names:
        if name not in BY_ID:
            raise UnknownName("check of log directories", name, BY_ID)
    return tuple(check for check in CHECKS if not names or check.id in names)
