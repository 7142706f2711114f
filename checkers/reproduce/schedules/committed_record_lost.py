"""KAFKA-20734: a committed record is lost, because its partition had no leader at the commit.

The coordinator sends no marker to a partition without a leader, so the transaction stays open in
the partition's log. If the next transaction of the producer aborts, the abort marker ends both
transactions. So every reader at read_committed skips the committed record.

Source: KAFKA-20734.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import abort, all_of, begin, begin_commit, pause_for, read
from checkers.reproduce.checks import committed, done, is_ended, was_read
from checkers.reproduce.reproduction import Step
from checkers.reproduce.schedules.skipped_marker import reproduction, without_leader

STEPS: Final = (
    *without_leader(Step("the transaction commits", begin_commit, committed)),
    Step("the next transaction appends b", all_of(pause_for(3), begin("b")), done),
    Step("the next transaction aborts", abort, is_ended),
    Step("a third transaction appends c", all_of(pause_for(2), begin("c")), done),
    Step("the third transaction commits", begin_commit, committed),
    Step("a consumer reads the partition", all_of(pause_for(2), read), was_read),
)
REPRODUCTION: Final = reproduction(
    "committed-record-lost",
    promise="Always: a reader at read_committed receives every record of a committed transaction.",
    steps=STEPS,
    anomaly="lost-write",
)
