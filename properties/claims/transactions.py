"""The claims about transactions in their literal form, over what clients observed and the logs in
the end.

A run is *transacted*: the history of its clients, what a reader at the isolation level that is
judged finds from the beginning of each log, the logs themselves, and where they end for readers of
either level. Each claim here is a function from that to its breaches; a claim that something *can*
happen is a set of goals, each of which has to be witnessed by some run.

Values are unique among all sends. What stands before the colon is the work that is done: an
application whose transaction was aborted does the same work again, under another value. Every
transaction that commits an offset of the group commits another one.

A transaction is *void* if it failed, or if its end was never asked for: it must not show.

Source: D2 (see properties.claims.catalogue); KIP-98, KIP-447, KIP-890.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from model.histories import (
    CommitOffset,
    EndOffset,
    FetchOffset,
    History,
    Isolation,
    Operation,
    Poll,
    Send,
)
from properties.anomalies.transactions import zombie_write
from properties.claims.breach import Always, Breach, Sometimes


class Entry(NamedTuple):
    """A record of a log, or a marker: `commit` or `abort`."""

    offset: int
    producer_id: int
    value: str = ""
    marker: str = ""


class Ends(NamedTuple):
    """Where a log ends for readers at read_committed and at read_uncommitted."""

    last_stable_offset: int
    high_watermark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transacted:
    """One run, long after every transaction should have ended."""

    history: History
    isolation: Isolation = "read_committed"  # of the readers that are judged
    read: Mapping[str, tuple[Poll, ...]]  # by key: what such a reader finds in the end
    logs: Mapping[str, tuple[Entry, ...]]  # by key: what its leader has in the end
    ends: Mapping[str, Ends]

    def transactions(self) -> Iterator[Operation]:
        """Every transaction, however it ended."""
        return (operation for operation in self.history if operation.f == "txn")

    def shown(self) -> Counter[str]:
        """How often a reader finds each value in the end."""
        return Counter(poll.value for log in self.read.values() for poll in log)

    def polls(self) -> Iterator[tuple[Operation, Poll]]:
        """Every record that a reader at this isolation level was given."""
        for operation in self.history:
            if operation.outcome == "ok" and operation.isolation == self.isolation:
                yield from ((operation, did) for did in operation.did if isinstance(did, Poll))

    def fetched(self) -> Iterator[tuple[Operation, int | None]]:
        """Every answer to what the group has committed."""
        for operation in self.history:
            if operation.outcome == "ok":
                yield from (
                    (operation, did.offset) for did in operation.did if isinstance(did, FetchOffset)
                )


def sends(transaction: Operation) -> tuple[Send, ...]:
    """What it sent."""
    return tuple(did for did in transaction.did if isinstance(did, Send))


def is_void(transaction: Operation) -> bool:
    """Nothing of it may ever show."""
    return transaction.outcome == "fail" or transaction.end_asked_ns is None


# ---------------------------------------------------------------- claims that hold always


def atomic_commit(run: Transacted) -> tuple[Breach, ...]:
    """Of a committed transaction everything is read in the end, of a void one nothing, of any
    other all or nothing; and the group's offset is never that of one that is not read.
    """
    return tuple(Breach("atomic_commit", why) for why in _torn(run))


def _torn(run: Transacted) -> Iterator[str]:
    shown = run.shown()
    told = {offset for _, offset in run.fetched() if offset is not None}
    for transaction in run.transactions():
        values = [send.value for send in sends(transaction)]
        there = [value for value in values if value in shown]
        missing = [value for value in values if value not in shown]
        if there and (is_void(transaction) or missing):
            rest = f"{missing[0]} is not" if missing else "it was not committed"
            yield f"{there[0]} is read, {rest}"
        elif missing and transaction.outcome == "ok" and transaction.end_asked_ns is not None:
            yield f"{missing[0]} was committed and is not read"
        elif missing and (offsets := told.intersection(_commits(transaction))):
            yield f"offset {min(offsets)} was told, and {missing[0]} of the same is not read"


def _commits(transaction: Operation) -> tuple[int, ...]:
    return tuple(did.offset for did in transaction.did if isinstance(did, CommitOffset))


def transactional_implies_idempotent(run: Transacted) -> tuple[Breach, ...]:
    """No value of a transaction lies in the logs twice, whatever was sent again."""
    where = [(entry.value, key, entry.offset) for key, log in run.logs.items() for entry in log]
    times = Counter(value for value, _, _ in where if value)
    ours = {send.value for transaction in run.transactions() for send in sends(transaction)}
    return tuple(
        Breach(
            "transactional_implies_idempotent",
            f"{value} lies at "
            + " and ".join(f"{key} {offset}" for found, key, offset in where if found == value),
        )
        for value, count in times.items()
        if count > 1 and value in ours
    )


def read_committed_waits(run: Transacted) -> tuple[Breach, ...]:
    """A reader is given nothing of a void transaction, nothing of an open one and nothing that lies
    behind it, and the end that it is told never goes back.
    """
    return tuple(
        Breach("read_committed_waits", why) for why in (*_too_early(run), *_ends_that_go_back(run))
    )


def _too_early(run: Transacted) -> Iterator[str]:
    of = {send.value: transaction for transaction in run.transactions()
          for send in sends(transaction)}  # fmt: skip
    ended_by_itself = [
        (transaction, send)
        for transaction in run.transactions()
        if transaction.outcome == "ok" or transaction.error == "ABORTED"
        for send in sends(transaction)
        if send.offset is not None
    ]
    for operation, poll in run.polls():
        read_ns = operation.completed_ns or 0
        transaction = of.get(poll.value)
        if transaction is not None and is_void(transaction):
            yield f"{poll.value} was read, and was not committed"
        elif transaction is not None and read_ns < (transaction.end_asked_ns or 0):
            yield f"{poll.value} was read before its transaction was asked to end"
        for earlier, send in ended_by_itself:
            is_behind = send.key == poll.key and (send.offset or 0) < (poll.offset or 0)
            if is_behind and read_ns < (earlier.end_asked_ns or 0):
                yield f"{poll.value} was read, behind {send.value} of an open transaction"


def _ends_that_go_back(run: Transacted) -> Iterator[str]:
    told = [
        (operation, did)
        for operation in run.history
        if operation.outcome == "ok" and operation.isolation == run.isolation == "read_committed"
        for did in operation.did
        if isinstance(did, EndOffset)
    ]
    for first, before in told:
        for second, after in told:
            is_later = (first.completed_ns or 0) < second.invoked_ns
            if is_later and before.key == after.key and after.offset < before.offset:
                yield f"{after.key}: the end was {before.offset}, and then {after.offset}"


def coordinator_log_is_replicated(run: Transacted) -> tuple[Breach, ...]:
    """What a coordinator acknowledged stands: a commit shows, and a producer stays known."""
    return tuple(Breach("coordinator_log_is_replicated", why) for why in _forgotten(run))


def _forgotten(run: Transacted) -> Iterator[str]:
    shown = run.shown()
    for transaction in run.transactions():
        if transaction.error == "INVALID_PRODUCER_ID_MAPPING":
            yield f"nobody knows {transaction.transactional_id} any more"
        for send in sends(transaction):
            if transaction.outcome == "ok" and send.value not in shown:
                yield f"the commit of {send.value} was acknowledged, and it is not read"


def offsets_in_transaction(run: Transacted) -> tuple[Breach, ...]:
    """The group's offset is that of a transaction that has been asked to end and is not void, and
    of none that ended before another committed one began.
    """
    return tuple(Breach("offsets_in_transaction", why) for why in _misplaced(run))


def _misplaced(run: Transacted) -> Iterator[str]:
    by_offset = {
        offset: transaction
        for transaction in run.transactions()
        for offset in _commits(transaction)
    }
    committed = {
        offset: transaction
        for offset, transaction in by_offset.items()
        if transaction.outcome == "ok"
    }
    for fetch, told in run.fetched():
        transaction = None if told is None else by_offset.get(told)
        if told is not None and (transaction is None or is_void(transaction)):
            yield f"offset {told} was told, and was not committed"
        elif transaction is not None and (fetch.completed_ns or 0) < (
            transaction.end_asked_ns or 0
        ):
            yield f"offset {told} was told before its transaction was asked to end"
        for offset, done in committed.items():
            is_over = fetch.isolation == "read_committed" and _before(done, fetch)
            if is_over and (transaction is None or _before(transaction, done)):
                yield f"offset {told} was told, and offset {offset} had been committed since"


def _before(one: Operation, other: Operation) -> bool:
    return one.completed_ns is not None and one.completed_ns < other.invoked_ns


def retry_resumes(run: Transacted) -> tuple[Breach, ...]:
    """An instance that was replaced has no effect any more, and what it left open ends once: it is
    read once, or never.
    """
    late = (
        f"process {run.history[row.op].process} wrote as {row.transactional_id}, "
        f"{row.late_ns} ns after it was replaced"
        for row in zombie_write.zombie_writes(run.history)
    )
    twice = (f"{value} is read {times} times" for value, times in run.shown().items() if times > 1)
    return tuple(Breach("retry_resumes", why) for why in (*late, *twice))


def timeout_aborts(run: Transacted) -> tuple[Breach, ...]:
    """In the end no transaction is open, and behind each record of one that was never asked to end
    the next marker of its producer is an abort.
    """
    return tuple(Breach("timeout_aborts", why) for why in _left_open(run))


def _left_open(run: Transacted) -> Iterator[str]:
    for key, ends in run.ends.items():
        if ends.last_stable_offset < ends.high_watermark:
            yield (
                f"{key}: readers are held at offset {ends.last_stable_offset} for ever, "
                f"the high watermark is {ends.high_watermark}"
            )
    never_asked = {
        send.value
        for transaction in run.transactions()
        if transaction.end_asked_ns is None
        for send in sends(transaction)
    }
    for log in run.logs.values():
        for place, entry in enumerate(log):
            if entry.value in never_asked:
                markers = (it.marker for it in log[place:] if it.producer_id == entry.producer_id)
                marker = next(filter(None, markers), "nothing")
                if marker != "abort":
                    yield f"{entry.value} was left alone, and its end is {marker}"


ALWAYS: Final[Always] = {
    "atomic_commit": atomic_commit,
    "transactional_implies_idempotent": transactional_implies_idempotent,
    "read_committed_waits": read_committed_waits,
    "coordinator_log_is_replicated": coordinator_log_is_replicated,
    "offsets_in_transaction": offsets_in_transaction,
    "retry_resumes": retry_resumes,
    "timeout_aborts": timeout_aborts,
}


# ---------------------------------------------------------------- things that can happen


def aborted_and_read(run: Transacted) -> bool:
    """A reader was given a record of a transaction that its producer aborted."""
    aborted = {
        send.value
        for transaction in run.transactions()
        if transaction.error == "ABORTED"
        for send in sends(transaction)
    }
    return any(poll.value in aborted for _, poll in run.polls())


def open_and_read(run: Transacted) -> bool:
    """A reader was given a record of a transaction before that was asked to end."""
    asked_ns = {
        send.value: transaction.end_asked_ns
        for transaction in run.transactions()
        for send in sends(transaction)
        if transaction.end_asked_ns is not None
    }
    return any(
        (operation.completed_ns or 0) < asked_ns.get(poll.value, 0)
        for operation, poll in run.polls()
    )


def written_again_and_read_once(run: Transacted) -> bool:
    """Some work was written several times, and a reader finds it once."""
    written = Counter(_work(entry.value) for log in run.logs.values() for entry in log)
    read = Counter(_work(value) for value in run.shown().elements())
    return any(work and written[work] > times == 1 for work, times in read.items())


def _work(value: str) -> str:
    return value.partition(":")[0]


SOMETIMES: Final[Sometimes] = {
    "read_uncommitted_sees_aborted": {
        "read and aborted": aborted_and_read,
        "read while it is open": open_and_read,
    },
    "writes_may_repeat_before_commit": {
        "written again and read once": written_again_and_read_once,
    },
}
