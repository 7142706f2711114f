"""A reader receives an aborted record, because its topic was deleted and created again.

The coordinator sends no marker to the new topic, so the aborted transaction stays open in the
partition's log. The marker of the producer's next transaction commits both transactions.

Source: KAFKA-5202; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.schedules.recreated_topic import reproduction
from checkers.reproduce.unmarked_transactions import ABORTED

REPRODUCTION: Final = reproduction("recreated-topic-aborted", ABORTED)
