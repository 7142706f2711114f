"""Collects the unconfirmed values of a history, with their senders, readers and offsets.

    p1 txn{id=x} k=a -> info       op 0     a was sent by op 0, which ended info
    c1 poll          -> ok k=a@3   op 1     op 1 is a reader of a, and locates a at offset 3

A value is unconfirmed if it was polled at an offset where no send of the value was acknowledged.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from checkers.histories.facts.record_locations import (
    POLL_OK,
    SEND_FAIL,
    SEND_INFO,
    SEND_OK,
    UNCOMMITTED,
)
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET

Record = tuple[int, int]  # key, value


@dataclass(slots=True)
class UnconfirmedRecord:
    sent_by: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # op, role
    readers: list[int] = field(default_factory=list[int])  # at read_committed, ended ok
    located_at: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # offset, op

    @property
    def writer(self) -> int:
        """The operation with the lowest number that sent the value and did not fail.

        If all senders failed, it is the sender with the lowest number.
        """
        return min(self.sent_by, key=lambda it: (it[1] == SEND_FAIL, it[0]))[0]

    def place(self) -> tuple[int, int] | None:
        """Returns the highest offset at which the value was observed, and the first operation that
        observed it there.

        Returns None if the value was observed at no offset.
        """
        if not self.located_at:
            return None
        offset = max(offset for offset, _ in self.located_at)
        return offset, min(op for at, op in self.located_at if at == offset)


def unconfirmed_records(unconfirmed: UnconfirmedValues) -> dict[Record, UnconfirmedRecord]:
    """Returns an `UnconfirmedRecord` for each unconfirmed value. The dict is indexed by the topic
    partition and the value.

    All callers get the same dict and must not change it.
    """
    return unconfirmed.observations.derived(("records",), lambda _: _collect_records(unconfirmed))


def _collect_records(unconfirmed: UnconfirmedValues) -> dict[Record, UnconfirmedRecord]:
    records: defaultdict[Record, UnconfirmedRecord] = defaultdict(UnconfirmedRecord)
    seen, sent = unconfirmed.observations, unconfirmed.sends
    polls = (seen.ints(name).tolist() for name in ("key", "value", "offset", "op", "role"))
    sends = (sent.ints(name).tolist() for name in ("key", "value", "offset", "op", "role"))
    dirty: defaultdict[Record, list[tuple[int, int]]] = defaultdict(list)
    for key, value, offset, op, role in zip(*polls, strict=True):
        if role < POLL_OK:  # a send; `sends` has all of them, also those without an offset
            continue
        if role == POLL_OK:
            records[key, value].readers.append(op)
        if offset != UNKNOWN_OFFSET:
            into = dirty[key, value] if role & UNCOMMITTED else records[key, value].located_at
            into.append((offset, op))
    rows = list(zip(*sends, strict=True))
    for key, value, _, op, role in rows:
        records[key, value].sent_by.append((op, role))
    took_effect = {
        op for it in records.values() if it.readers for op, role in it.sent_by if role == SEND_INFO
    }
    for key, value, offset, op, role in rows:
        if offset != UNKNOWN_OFFSET and (role == SEND_OK or op in took_effect):
            records[key, value].located_at.append((offset, op))
    for record, located_at in dirty.items():
        if not any(role == SEND_FAIL for _, role in records[record].sent_by):
            records[record].located_at.extend(located_at)
    return dict(records)
