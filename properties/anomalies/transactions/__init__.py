"""Anomalies of transactions: a torn, open or fenced transaction is read, or a zombie writes."""

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
