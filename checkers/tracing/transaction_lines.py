"""A table of Kafka's log lines about transactions, and of the step that each line reports.

No line shows that a partition wrote a transaction marker. All markers count as written when the
coordinator has received the responses of all partitions.

Source: TransactionStateManager.appendTransactionToLog;
TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue. Messages of Kafka 3.5 to 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum, unique
from typing import Final

from checkers.tracing.logged_events import Row, nothing, row


@unique
class TransactionStep(StrEnum):
    """The kinds of steps that a coordinator takes for a transactional id, for example
    `send a marker`.
    """

    APPEND = "append a change of the transaction"
    FAIL = "fail to append a change"
    CHANGE = "change the transaction"
    SEND_MARKER = "send a marker"
    MARKED = "have the answers to all markers"


_STATE: Final = (
    r"producerId=(?P<producer>-?\d+), .*?producerEpoch=(?P<epoch>-?\d+), .*?"
    r"txnState=(?P<state>\w+), "
)
_METADATA: Final[Mapping[str, str]] = {  # by the releases that write it so
    "3.5 to 4.0": (  # a Scala class; 3.x has no transaction versions
        rf"\({_STATE}topicPartitions=(?:Hash)?Set\((?P<partitions>[^)]*)\), [^)]*?"
        r"(?:clientTransactionVersion=(?P<version>TV_\d+))?\)"
    ),
    "4.1 and newer": (  # a Java record
        rf"\[{_STATE}topicPartitions=\[(?P<partitions>[^\]]*)\], .*?"
        r"clientTransactionVersion=(?P<version>TV_\d+)\]"
    ),
}
_STATES: Final = "TransactionStateManager"
_MARKERS: Final = "TransactionMarkerChannelManager"

TABLE: Final[Sequence[Row]] = (
    *(
        row(
            _STATES,
            "Appending new metadata",
            TransactionStep.APPEND,
            rf"TxnTransitMetadata{metadata} for transaction id (?P<subject>.+?) with coordinator"
            r" epoch (?P<coordinator>\d+)",
            is_late=True,
        )
        for metadata in _METADATA.values()
    ),
    row(
        _STATES,
        "Appending",
        TransactionStep.FAIL,
        r"Appending (?P<subject>.+?)'s new metadata .* failed due to",
    ),
    *(
        row(
            _STATES,
            "Updating",
            TransactionStep.CHANGE,
            rf"Updating (?P<subject>.+?)'s transaction state to TxnTransitMetadata{metadata} with"
            r" coordinator epoch (?P<coordinator>\d+) for .* succeeded",
            is_late=True,
        )
        for metadata in _METADATA.values()
    ),
    *nothing(_STATES, ""),
    row(
        _MARKERS,
        "Added marker",
        TransactionStep.SEND_MARKER,
        r"producerId=(?P<producer>\d+), producerEpoch=(?P<epoch>\d+), "
        r"coordinatorEpoch=(?P<coordinator>\d+), result=(?P<result>\w+), "
        r"partitions=\[(?P<partitions>[^\]]*)\].* for transactional id (?P<subject>.+?) to",
    ),
    row(
        _MARKERS,
        "Completed sending transaction markers",
        TransactionStep.MARKED,
        r"markers for (?P<subject>.+?); begin transition to (?P<state>\w+)",
    ),
    *nothing(_MARKERS, ""),
)
