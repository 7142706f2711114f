"""Anomalies of transactions: a reader receives records of a torn, open or fenced transaction, or a
zombie producer writes.
"""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.transactions import (
    fenced_transaction_read,
    open_transaction_read,
    torn_transaction,
    zombie_write,
)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return (
        torn_transaction.anomaly(declared),
        open_transaction_read.ANOMALY,
        fenced_transaction_read.ANOMALY,
        zombie_write.ANOMALY,
    )
