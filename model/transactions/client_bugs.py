"""Bugs of a client that was fenced, and of a client that continues after an error.

Source: KAFKA-19367; KAFKA-8805; KIP-360.
"""

from __future__ import annotations

from model.language import Bool, false, true
from model.releases import LATEST, kafka
from model.transactions.aborts import AbortAndContinue
from model.transactions.fences import TWO_INSTANCES, StrictFence
from model.transactions.state import QUIET, Instance, Transaction
from model.variants import bug


@bug(
    "fence-looks-like-an-end",
    breaks="the_fenced_get_no_epoch",
    steps=8,
    at=TWO_INSTANCES,
    fixed_by="strict-fence",
    issue="KAFKA-19367",
    in_force=kafka("4.0", LATEST, "since 4.0.1; reproduced on a real broker of 4.3"),
)
class FenceLooksLikeAnEnd(StrictFence):
    """A late EndTxn of a fenced instance looks like a retry, so the instance receives the new
    epoch.

    A fence raises the epoch, as every end of a transaction does. If the old instance requests an
    abort after the fence, the coordinator treats the request as a retry, and answers with the new
    epoch. The old instance may then begin its next transaction before the new instance receives an
    epoch. The new instance must fence again, and may wait for ever.
    """

    def is_barred(s, k: Transaction) -> Bool:
        return false


@bug(
    "keeps-epoch-after-abort",
    breaks="no_hanging_transaction",
    steps=12,
    at={**QUIET, "records_late": True},
    fixed_by="kip-360-v1",
    issue="KAFKA-8805",
    in_force=kafka("3.6", "3.9", needs="a client of Kafka 2.4 or older"),
)
class KeepsEpochAfterAbort(AbortAndContinue):
    """A client begins the next transaction under the epoch of the aborted transaction.

    A late record of the aborted transaction arrives during the next transaction. The coordinator
    confirms the record's epoch, so the leader appends the record to the next transaction. If the
    next transaction is committed, the record is committed too (KAFKA-8805).
    """

    def has_next_epoch(s, k: Transaction, i: Instance) -> Bool:
        return true
