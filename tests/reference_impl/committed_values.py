"""Finds the values that a read_committed reader takes from a fetch response, as in KIP-98."""

from __future__ import annotations

from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import decode, header
from reference_impl.protocol.messages import Fetched


def committed_values(answer: Fetched) -> list[str]:
    """Returns the values of the response in log order, without those of aborted transactions."""
    waiting = sorted(answer.aborted, key=lambda txn: txn.first_offset)
    active: set[int] = set()
    values: list[str] = []
    for data in batches(answer.batches):
        head = header(data)
        while waiting and waiting[0].first_offset <= head.last_offset:
            active.add(waiting.pop(0).producer_id)
        if head.is_control:
            active.discard(head.producer_id)
        elif not (head.is_transactional and head.producer_id in active):
            values += [(record.value or b"").decode() for _, record in decode(data)]
    return values
