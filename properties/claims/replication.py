"""Executable definitions of the claims about publishing and replication.

After all faults have ended, a reader reads the log from its start. No two sends have the same
value. In a history, a process has only one open request at a time. So if a producer has several
requests in flight, the history shows it as several processes, which have the same producer session
(`sessions`).

A claim that something can happen has goals (`SOMETIMES`). A goal is a situation that at least one
run must reach.

Source: docs/sources.md DOC0, DOC1, DOC3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import groupby
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.real_time import offset_order_inversion, stale_end_offset
from properties.claims.breach import Always, Breach, Sometimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The history of the clients in one run on one topic partition, and the final log."""

    history: History
    log: tuple[tuple[int, str], ...]  # (offset, value) in log order, as read at the end
    sessions: Mapping[int, int] = field(default_factory=dict[int, int])  # default: the process
    read_at_ms: int | None = None  # when the reading of `log` began; None: after the last commit

    def sends(self, *outcomes: str) -> Iterator[tuple[Operation, Send]]:
        for operation in self.history:
            if operation.outcome in outcomes:
                yield from ((operation, did) for did in operation.did if isinstance(did, Send))

    def polls(self) -> Iterator[Poll]:
        for operation in self.history:
            yield from (did for did in operation.did if isinstance(did, Poll))

    def offsets_of(self) -> Mapping[str, tuple[int, ...]]:
        found: defaultdict[str, tuple[int, ...]] = defaultdict(tuple)
        for offset, value in self.log:
            found[value] += (offset,)
        return found

    def session_of(self, operation: Operation) -> int:
        return self.sessions.get(operation.process, operation.process)


# ---------------------------------------------------------------- claims that hold always


def exactly_once_publish(published: Published) -> tuple[Breach, ...]:
    """Claim: every acknowledged value is in the log, and no value is in the log twice."""
    repeated = (
        f"{value} is at offsets {', '.join(map(str, offsets))}"
        for value, offsets in published.offsets_of().items()
        if len(offsets) > 1
    )
    return tuple(Breach("exactly_once_publish", why) for why in (*_lost(published), *repeated))


def committed_survives(published: Published) -> tuple[Breach, ...]:
    """Claim: every acknowledged value is in the log."""
    return tuple(Breach("committed_survives", why) for why in _lost(published))


def _lost(published: Published) -> Iterator[str]:
    where = published.offsets_of()
    for _, sent in published.sends("ok"):
        if sent.value not in where:
            yield f"{sent.value} was acknowledged and is not in the log"


def reads_are_committed(published: Published) -> tuple[Breach, ...]:
    """Claim: every record that a consumer received is in the log at the same offset."""
    log = dict(published.log)
    return tuple(
        Breach(
            "reads_are_committed",
            f"{poll.value} was read at offset {poll.offset}, where the log has "
            f"{log.get(poll.offset, 'nothing')}",
        )
        for poll in published.polls()
        if poll.offset is not None and log.get(poll.offset) != poll.value
    )


def append_order(published: Published) -> tuple[Breach, ...]:
    """Claim: the log has the values of a producer session in the order in which their sends
    began.
    """
    where = published.offsets_of()
    by_session: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for operation, sent in published.sends("ok", "info", "fail"):
        if sent.value in where:
            session = published.session_of(operation)
            by_session[session].append((operation.invoked_ns, sent.value))
    breaches: list[Breach] = []
    for sends in by_session.values():
        breaches += (Breach("append_order", why) for why in _inversions(sends, where))
    return tuple(breaches)


def _inversions(
    sends: list[tuple[int, str]], where: Mapping[str, tuple[int, ...]]
) -> Iterator[str]:
    last = (-1, "")  # the highest offset of the sends that began earlier, and its value
    for _, group in groupby(sorted(sends), key=lambda send: send[0]):
        values = [value for _, value in group]
        for value in values:
            if min(where[value]) < last[0]:
                yield (
                    f"{last[1]} was sent before {value} but is after it in the log, "
                    f"at offset {last[0]} against {min(where[value])}"
                )
        last = max(last, *((max(where[value]), value) for value in values))


def offset_identifies(published: Published) -> tuple[Breach, ...]:
    """Claim: the log, the acknowledgements and the reads agree on the value at each offset."""
    values_at: defaultdict[int, set[str]] = defaultdict(set)
    for offset, value in published.log:
        values_at[offset].add(value)
    for _, sent in published.sends("ok"):
        if sent.offset is not None:
            values_at[sent.offset].add(sent.value)
    for poll in published.polls():
        if poll.offset is not None:
            values_at[poll.offset].add(poll.value)
    return tuple(
        Breach("offset_identifies", f"offset {offset} stands for {' and '.join(sorted(values))}")
        for offset, values in sorted(values_at.items())
        if len(values) > 1
    )


def linearizable_offsets(published: Published) -> tuple[Breach, ...]:
    """Claim: acknowledged offsets and end offsets never go back in real time."""
    rows = (
        *offset_order_inversion.inversions(published.history),
        *stale_end_offset.stale_end_offsets(published.history),
    )
    return tuple(Breach("linearizable_offsets", _named(row)) for row in rows)


def _named(row: object) -> str:
    assert is_dataclass(row)
    values = ", ".join(f"{entry.name} {getattr(row, entry.name)}" for entry in fields(row))
    return f"{type(row).__name__}: {values}"


ALWAYS: Final[Always] = {
    "committed_survives": committed_survives,
    "exactly_once_publish": exactly_once_publish,
    "reads_are_committed": reads_are_committed,
    "append_order": append_order,
    "offset_identifies": offset_identifies,
    "linearizable_offsets": linearizable_offsets,
}


# ---------------------------------------------------------------- things that can happen


def unanswered_and_written(published: Published) -> bool:
    """Returns True if the run has a value whose send has an unknown outcome, and the value is in
    the log.
    """
    where = published.offsets_of()
    return any(sent.value in where for _, sent in published.sends("info"))


def unanswered_and_not_written(published: Published) -> bool:
    """Returns True if the run has a value whose send has an unknown outcome, and the value is not
    in the log.
    """
    where = published.offsets_of()
    return any(sent.value not in where for _, sent in published.sends("info"))


def written_twice(published: Published) -> bool:
    """Returns True if the log of the run has some value at two offsets or more."""
    return any(len(offsets) > 1 for offsets in published.offsets_of().values())


def done_with_and_lost(published: Published) -> bool:
    """Returns True if some value is not in the log of the run, although its send completed with the
    outcome `ok` or `info`.
    """
    where = published.offsets_of()
    return any(
        sent.value not in where
        for operation, sent in published.sends("ok", "info")
        if operation.completed_ns is not None
    )


SOMETIMES: Final[Sometimes] = {
    "ambiguous_send": {
        "unanswered and written": unanswered_and_written,
        "unanswered and not written": unanswered_and_not_written,
    },
    "retry_duplicates": {"written twice": written_twice},
    "no_retry_loses": {"unanswered and not written": unanswered_and_not_written},
    "acks_levels": {"done with and lost": done_with_and_lost},
}
