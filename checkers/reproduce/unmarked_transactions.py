"""The steps after a transaction that has ended without a marker in a partition.

The transaction is still open in the partition's log. The marker of the producer's next transaction
ends both transactions with the outcome of the next transaction. So the first transaction is aborted
in the log although it was committed, or committed although it was aborted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checkers.reproduce.actions import abort, all_of, begin, begin_commit, pause_for, read
from checkers.reproduce.checks import committed, done, is_ended, was_read
from checkers.reproduce.reproduction import Step


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A transaction of the record `a` that ends without a marker.

    `end` is the step that ends it. `promise` is the guarantee of Kafka that is then violated, and
    the steps in `later` show the violation.
    """

    end: Step
    later: tuple[Step, ...]
    promise: str
    anomaly: str


READS: Final = Step("a consumer reads the partition", all_of(pause_for(2), read), was_read)
COMMITTED: Final = Unmarked(
    end=Step("the transaction commits", begin_commit, committed),
    later=(
        Step("the next transaction appends b", all_of(pause_for(3), begin("b")), done),
        Step("the next transaction aborts", abort, is_ended),
        Step("a third transaction appends c", all_of(pause_for(2), begin("c")), done),
        Step("the third transaction commits", begin_commit, committed),
        READS,
    ),
    promise="Always: a reader at read_committed receives every record of a committed transaction.",
    anomaly="lost-write",
)
ABORTED: Final = Unmarked(
    end=Step("the transaction aborts", abort, is_ended),
    later=(
        Step("the next transaction appends b", all_of(pause_for(3), begin("b")), done),
        Step("the next transaction commits", begin_commit, committed),
        READS,
    ),
    promise="Always: a reader at read_committed receives no record of an aborted transaction.",
    anomaly="G1a",
)
