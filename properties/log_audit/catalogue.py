"""The checks of the audit, as rows: first what can be read at all, then what it says."""

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
    """The checks of these names in catalogue order, all of them without a name; UnknownName."""
    for name in names:
        if name not in BY_ID:
            raise UnknownName("check of log directories", name, BY_ID)
    return tuple(check for check in CHECKS if not names or check.id in names)
