"""KAFKA-20734: a committed record is lost, because its partition had no leader at the commit.

The coordinator sends no marker to a partition without a leader, so the transaction stays open in
the partition's log. If the next transaction of the producer aborts, the abort marker ends both
transactions. So every reader at read_committed skips the committed record.

Source: KAFKA-20734.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.schedules.skipped_marker import reproduction
from checkers.reproduce.unmarked_transactions import COMMITTED

REPRODUCTION: Final = reproduction("committed-record-lost", COMMITTED)
