"""A batch of a simulated producer that has no final response yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from model.histories import Operation, Outcome
from model.histories import Send as Sent
from model.vocabulary import Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.messages import Produced
from reference_impl.simulation.clients import NS_PER_MS


class Begun(NamedTuple):
    """A send that has begun: the value, the process in the history, and the time of the
    beginning.
    """

    value: str
    process: int
    invoked_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unacknowledged:
    """A batch of sends that have begun. The batch has no final response yet."""

    sends: tuple[Begun, ...]
    number: int  # of the batch, since the producer has this epoch
    sequence: Sequence  # of its first record
    attempts: int = 0
    awaits: int | None = None  # correlation of the request in flight
    answer: Produced | None = None  # to this request, if those of earlier requests are missing
    may_be_written: bool = False  # an earlier attempt may have written it
    changed_ns: int = 0  # when it was sent, or when the last attempt ended

    @property
    def records(self) -> list[Record]:
        return [
            Record(value=send.value.encode(), timestamp_ms=send.invoked_ns // NS_PER_MS)
            for send in self.sends
        ]

    def encoded(self, producer_id: ProducerId, producer_epoch: ProducerEpoch) -> bytes:
        return encode(
            self.records,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=self.sequence,
        )

    def operations(
        self,
        key: str,
        outcome: Outcome,
        completed_ns: int | None,
        base_offset: Offset | None = None,
        *,
        error: str | None = None,
    ) -> tuple[Operation, ...]:
        """Returns one operation of the history for each send in the batch.

        `base_offset` is the offset of the first record. If it is None, the operations have no
        offsets.
        """
        return tuple(
            Operation(
                process=send.process,
                f="send",
                outcome=outcome,
                invoked_ns=send.invoked_ns,
                completed_ns=completed_ns,
                did=(Sent(key, send.value, None if base_offset is None else Offset(offset)),),
                error=error,
            )
            for offset, send in enumerate(self.sends, base_offset or Offset(0))
        )
