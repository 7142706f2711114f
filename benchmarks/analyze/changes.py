"""Changes operations of a synthetic history so that each change violates exactly one real-time
rule.

There are two kinds of changes:

    retimed   The start of a send S is moved to a later time. By then, another send to the same key
              has completed with a higher offset. S begins after that send but has a lower offset:
              this is an inversion. No read of the record of S comes before the new start.
    lowered   An observed log end offset is halved, which makes it stale. No other rule depends on
              an end offset.

A synthetic history is generated in periods, which are called windows. Every change stays inside one
window, and all offsets in earlier windows are lower. So the operations of this window suffice to
compute the violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.analyze.cluster import (
    END,
    FIRST_SCENE,
    INSTANT_BITS,
    KINDS,
    OK,
    POLL,
    READ_UNCOMMITTED,
    SEND,
    F,
)
from benchmarks.analyze.recorded import NULL, Ints, Operations, positions
from properties.anomalies.real_time.offset_order_inversion import OffsetOrderInversion
from properties.anomalies.real_time.stale_end_offset import StaleEndOffset


class Changes:
    """The operations of one time window, and changes of them.

    `first_op` is the number of the window's first operation, in completion order.
    """

    def __init__(self, window: Operations, first_op: int) -> None:
        self.window, self.first_op = window, first_op
        self.op = np.repeat(np.arange(len(window.counts)), window.counts)
        self.position = positions(window.counts)
        self.kind, self.key, self.offset = (window.of_row[n] for n in ("kind", "key", "offset"))
        self.observed = window.of_operation["outcome"][self.op] == OK
        self.observed &= window.of_operation["process"][self.op] < FIRST_SCENE
        self.observed &= window.of_row["offset"] != NULL
        self.completed = window.of_operation["completed_ns"][self.op]

    def make(
        self, count: int, keys: Sequence[str], rng: np.random.Generator
    ) -> Iterator[OffsetOrderInversion | StaleEndOffset]:
        """Moves the starts of `count` sends, lowers `count` end offsets, and yields the violations
        that these changes cause.

        Raises RuntimeError if this part of the history has too few suitable operations.
        """
        late = self._overtaken()
        isolation = self.window.of_operation["isolation"][self.op]
        ends = np.flatnonzero(self.observed & (self.kind == END) & (isolation == READ_UNCOMMITTED))
        retimed = rng.permutation(np.flatnonzero(late))[:count].tolist()
        lowered = list(islice(filter(self._lowered, rng.permutation(ends).tolist()), count))
        if not len(retimed) == len(lowered) == count:
            raise RuntimeError(f"a window has places for {len(retimed)}, {len(lowered)} changes")
        self.window.of_operation["invoked_ns"][self.op[retimed]] = late[retimed]
        for row in retimed:
            yield self._inversion(row, keys)
        for row in lowered:
            yield self._stale(row, keys)

    def _overtaken(self) -> Ints:
        """Returns a new start for each send, or 0 if there is none. With the new start, the send is
        an inversion: it begins after another send with a higher offset has ended.

        The other send is to the same key. The new start is just after its end. The new start must
        be before the end of the send itself, and before the end of a poll that read the record of
        the send. Sends in transactions get no new start.
        """
        sends = np.flatnonzero(self.observed & (self.kind == SEND))
        sends = sends[np.lexsort((self.offset[sends], self.key[sends]))][::-1]
        began_ns = int(self.completed.min())
        by_key = (self.key[sends] << INSTANT_BITS) + self.completed[sends] - began_ns
        before = np.r_[0, np.minimum.accumulate(by_key)[:-1]]  # by offsets that are higher
        known = before - (self.key[sends] << INSTANT_BITS) + began_ns + 1
        value = self.window.of_row["value"]
        polled = np.flatnonzero(self.kind == POLL)
        read = np.full(len(self.window.values), 2**63 - 1)
        read[value[polled]] = self.completed[polled]
        until = np.minimum(self.completed[sends], read[value[sends]])
        single = self.window.of_operation["f"][self.op[sends]] == F.index("send")
        late = np.zeros(len(self.op), dtype=np.int64)
        same_key = np.r_[False, self.key[sends][1:] == self.key[sends][:-1]]
        late[sends] = np.where(single & same_key & (known < until), known, 0)
        return late

    def _lowered(self, row: int) -> bool:
        known = self._before(row)
        half = self.offset[row] // 2
        if not (self.kind[known] != END).any() or self._log_end(known).max() <= half:
            return False
        self.offset[row] = half
        return True

    def _before(self, row: int) -> Ints:
        invoked_ns = self.window.of_operation["invoked_ns"][self.op[row]]
        rows = self.observed & np.isin(self.kind, (SEND, POLL, END)) & (self.key == self.key[row])
        return np.flatnonzero(rows & (self.completed < invoked_ns))

    def _log_end(self, rows: Ints) -> Ints:
        log_end: Ints = self.offset[rows] + (self.kind[rows] != END)
        return log_end

    def _known(self, row: int) -> dict[str, Any]:
        rows = self._before(row)
        ties = (self.position[rows], self.op[rows], self.completed[rows], -self._log_end(rows))
        known = int(rows[np.lexsort(ties)[0]])
        return {
            "known_end": int(self._log_end(np.array([known]))[0]),
            "known_from": KINDS[self.kind[known]],
            "known_op": self.first_op + int(self.op[known]),
        }

    def _inversion(self, row: int, keys: Sequence[str]) -> OffsetOrderInversion:
        return OffsetOrderInversion(
            key=keys[self.key[row]],
            offset=int(self.offset[row]),
            value=str(self.window.values[int(self.window.of_row["value"][row])].as_py()),
            op=self.first_op + int(self.op[row]),
            **self._known(row),
        )

    def _stale(self, row: int, keys: Sequence[str]) -> StaleEndOffset:
        return StaleEndOffset(
            key=keys[self.key[row]],
            end_offset=int(self.offset[row]),
            op=self.first_op + int(self.op[row]),
            **self._known(row),
        )
