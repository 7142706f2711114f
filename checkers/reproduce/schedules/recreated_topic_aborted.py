"""A reader receives an aborted record, because its topic was deleted and created again.

The coordinator sends no marker to the new topic, so the aborted transaction stays open in the
partition's log. The marker of the producer's next transaction commits both transactions.

Source: KAFKA-5202; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import abort, all_of, begin, begin_commit, pause_for
from checkers.reproduce.checks import committed, done, is_ended
from checkers.reproduce.reproduction import Step
from checkers.reproduce.schedules.recreated_topic import reproduction

REPRODUCTION: Final = reproduction(
    "recreated-topic-aborted",
    promise="Always: a reader at read_committed receives no record of an aborted transaction.",
    end=Step("the transaction aborts", abort, is_ended),
    later=(
        Step("the next transaction appends b", all_of(pause_for(1), begin("b")), done),
        Step("the next transaction commits", begin_commit, committed),
    ),
    anomaly="G1a",
)
