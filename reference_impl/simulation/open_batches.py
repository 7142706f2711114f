"""The open batches of a simulated producer: batches without a final response, and their sequence
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.vocabulary import Sequence
from reference_impl.simulation.unacknowledged import Begun, Unacknowledged


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatches:
    """The open batches of a producer in the order of their sequence numbers. All of them have
    the same producer epoch.
    """

    batches: tuple[Unacknowledged, ...] = ()
    next_number: int = 0  # of a batch
    next_sequence: Sequence = Sequence(0)  # noqa: RUF009 - an int by another name
    acknowledged_end: int = 0  # the sequence number after the last acknowledged one

    def __iter__(self) -> Iterator[Unacknowledged]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> Unacknowledged:
        return self.batches[index]

    @property
    def in_flight(self) -> tuple[Unacknowledged, ...]:
        """The batches whose latest request has not timed out and has no response yet."""
        return tuple(batch for batch in self.batches if batch.awaits is not None)

    @property
    def none_is_retried(self) -> bool:
        return all(batch.attempts == 1 for batch in self.batches)

    @property
    def are_acknowledged(self) -> bool:
        """True if the highest sequence number is acknowledged. All lower sequence numbers are
        then in the log, too.
        """
        return self.acknowledged_end == self.next_sequence

    def has_room(self, most: int) -> bool:
        """Returns True if the producer may begin one more batch.

        From the oldest open batch to the new batch, there may be at most `most` batches.
        Acknowledged batches between them count, too. A broker remembers five batches of a producer,
        so at most five batches may have an unknown outcome. In Kafka, TCP ensures this limit: a
        lost response closes the connection, and the outcome of later requests on the connection is
        unknown, too.
        """
        oldest = self.batches[0].number if self.batches else self.next_number
        return self.next_number - oldest < most

    def begin(self, sends: tuple[Begun, ...]) -> OpenBatches:
        batch = Unacknowledged(sends=sends, number=self.next_number, sequence=self.next_sequence)
        return replace(
            self,
            batches=(*self.batches, batch),
            next_number=self.next_number + 1,
            next_sequence=Sequence(self.next_sequence + len(sends)),
        )

    def replaced(self, index: int, batch: Unacknowledged) -> OpenBatches:
        return replace(self, batches=(*self.batches[:index], batch, *self.batches[index + 1 :]))

    def rested(self, index: int, now_ns: int, *, may_be_written: bool) -> OpenBatches:
        """Returns the batches after a failed attempt to send the batch at `index`.

        This batch waits for its retry from `now_ns` on. If `may_be_written`, the failed attempt may
        have written the batch to the log.
        """
        batch = self.batches[index]
        may_be_written = may_be_written or batch.may_be_written
        resting = replace(
            batch, awaits=None, answer=None, changed_ns=now_ns, may_be_written=may_be_written
        )
        return self.replaced(index, resting)

    def without(self, batch: Unacknowledged) -> OpenBatches:
        return replace(self, batches=tuple(one for one in self.batches if one is not batch))

    def acknowledged(self, batch: Unacknowledged) -> OpenBatches:
        end = max(self.acknowledged_end, batch.sequence + len(batch.sends))
        return replace(self.without(batch), acknowledged_end=end)

    def renumbered(self, now_ns: int) -> OpenBatches:
        """Returns the same batches under a new producer epoch: their sequence numbers begin at
        0, and each batch waits to be sent again.
        """
        again: list[Unacknowledged] = []
        following = 0
        for number, batch in enumerate(self.batches):
            first = Sequence(following)
            again.append(
                replace(
                    batch,
                    number=number,
                    sequence=first,
                    awaits=None,
                    answer=None,
                    changed_ns=now_ns,
                )
            )
            following += len(batch.sends)
        return OpenBatches(
            batches=tuple(again), next_number=len(again), next_sequence=Sequence(following)
        )
