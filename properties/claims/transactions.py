"""Executable definitions of the claims about transactions.

No two sends have the same value. A value such as `work 3:2` consists of the work (`work 3`) and the
attempt (`2`). If a transaction aborts, the application repeats the same work in another attempt. No
two transactions commit the same group offset. A transaction is *abandoned* if its end was never
requested. A transaction is *void* if it failed or was abandoned. No record of a void transaction
may be visible.

A claim that something can happen has goals (`SOMETIMES`). A goal is a situation that at least one
run must reach.

Source: docs/sources.md DOC2; KIP-98, KIP-447, KIP-890.
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
    """An entry of a partition's log: a record, or a marker (`commit` or `abort`)."""

    offset: int
    producer_id: int
    value: str = ""
    marker: str = ""


class Ends(NamedTuple):
    """The two end offsets of a log: the last stable offset and the high watermark."""

    last_stable_offset: int
    high_watermark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transacted:
    """The observations of the clients in one run, and the final logs.

    The logs are read long after every transaction should have ended.
    """

    history: History
    isolation: Isolation = "read_committed"  # of the judged readers
    read: Mapping[str, tuple[Poll, ...]]  # by key: the records that such a reader reads at the end
    logs: Mapping[str, tuple[Entry, ...]]  # by key: the log of the leader at the end
    ends: Mapping[str, Ends]

    def transactions(self) -> Iterator[Operation]:
        return (operation for operation in self.history if operation.f == "txn")

    def shown(self) -> Counter[str]:
        return Counter(poll.value for log in self.read.values() for poll in log)

    def polls(self) -> Iterator[tuple[Operation, Poll]]:
        """Yields (operation, record) for each record that a reader at the run's isolation level
        received.
        """
        for operation in self.history:
            if operation.outcome == "ok" and operation.isolation == self.isolation:
                yield from ((operation, did) for did in operation.did if isinstance(did, Poll))

    def fetched(self) -> Iterator[tuple[Operation, int | None]]:
        """Yields each successful fetch of the group's offset, with the offset that it returned. The
        offset is None if no offset was committed.
        """
        for operation in self.history:
            if operation.outcome == "ok":
                yield from (
                    (operation, did.offset) for did in operation.did if isinstance(did, FetchOffset)
                )


def sends(transaction: Operation) -> tuple[Send, ...]:
    return tuple(did for did in transaction.did if isinstance(did, Send))


def is_void(transaction: Operation) -> bool:
    """Returns True if the transaction failed, or if its end was never requested."""
    return transaction.outcome == "fail" or transaction.end_asked_ns is None


# ---------------------------------------------------------------- claims that hold always


def atomic_commit(run: Transacted) -> tuple[Breach, ...]:
    """Claim: readers receive either all records of a transaction or none of them.

    At the end of the run, readers receive all records of each committed transaction. They receive
    no record of a void transaction: one that failed, or whose end was never requested. If at least
    one record of a transaction is missing for readers, no OffsetFetch may return the group offset
    that the transaction committed.
    """
    return tuple(Breach("atomic_commit", why) for why in _torn(run))


def _torn(run: Transacted) -> Iterator[str]:
    shown = run.shown()
    fetched = {offset for _, offset in run.fetched() if offset is not None}
    for transaction in run.transactions():
        there = [send for send in sends(transaction) if send.value in shown]
        missing = [send for send in sends(transaction) if send.value not in shown]
        if there and missing:
            yield (
                f"transaction of {transaction.transactional_id}: its record {_at(there[0])} is "
                f"read at {run.isolation}, its record {_at(missing[0])} is not"
            )
        elif there and is_void(transaction):
            yield f"{there[0].value} is read, but was not committed"
        elif missing and transaction.outcome == "ok" and transaction.end_asked_ns is not None:
            yield f"{missing[0].value} was committed, but is not read"
        elif missing and (offsets := fetched.intersection(_commits(transaction))):
            yield (
                f"offset {min(offsets)} was fetched, "
                f"and {missing[0].value} of its transaction is not read"
            )


def _at(send: Send) -> str:
    return f"{send.value} of {send.key}"


def _commits(transaction: Operation) -> tuple[int, ...]:
    return tuple(did.offset for did in transaction.did if isinstance(did, CommitOffset))


def transactional_implies_idempotent(run: Transacted) -> tuple[Breach, ...]:
    """Claim: no value of a transaction is in the logs more than once."""
    where = [(entry.value, key, entry.offset) for key, log in run.logs.items() for entry in log]
    times = Counter(value for value, _, _ in where if value)
    ours = {send.value for transaction in run.transactions() for send in sends(transaction)}
    return tuple(
        Breach(
            "transactional_implies_idempotent",
            f"{value} is at "
            + " and ".join(f"{key} {offset}" for found, key, offset in where if found == value),
        )
        for value, count in times.items()
        if count > 1 and value in ours
    )


def read_committed_waits(run: Transacted) -> tuple[Breach, ...]:
    """Claim: a reader at read_committed receives no record of a transaction that is open or that
    did not commit. If a record of an open transaction is in the log, a reader receives no record
    that follows it.

    The end offset that readers at read_committed see never goes back.
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
            yield f"{poll.value} was read, but was not committed"
        elif transaction is not None and read_ns < (transaction.end_asked_ns or 0):
            yield f"{poll.value} was read before the end of its transaction was requested"
        for earlier, send in ended_by_itself:
            is_after = send.key == poll.key and (send.offset or 0) < (poll.offset or 0)
            if is_after and read_ns < (earlier.end_asked_ns or 0):
                yield f"{poll.value} was read, after {send.value} of an open transaction"


def _ends_that_go_back(run: Transacted) -> Iterator[str]:
    received = [
        (operation, did)
        for operation in run.history
        if operation.outcome == "ok" and operation.isolation == run.isolation == "read_committed"
        for did in operation.did
        if isinstance(did, EndOffset)
    ]
    for first, before in received:
        for second, after in received:
            is_later = (first.completed_ns or 0) < second.invoked_ns
            if is_later and before.key == after.key and after.offset < before.offset:
                yield f"{after.key}: the end offset was {before.offset}, and later {after.offset}"


def coordinator_log_is_replicated(run: Transacted) -> tuple[Breach, ...]:
    """Claim: the records of an acknowledged commit are visible, and the coordinator forgets no
    transactional id.
    """
    return tuple(Breach("coordinator_log_is_replicated", why) for why in _forgotten(run))


def _forgotten(run: Transacted) -> Iterator[str]:
    shown = run.shown()
    for transaction in run.transactions():
        if transaction.error == "INVALID_PRODUCER_ID_MAPPING":
            yield f"the coordinator no longer knows transactional id {transaction.transactional_id}"
        for send in sends(transaction):
            if transaction.outcome == "ok" and send.value not in shown:
                yield f"the commit of {send.value} was acknowledged, but it is not read"


def offsets_in_transaction(run: Transacted) -> tuple[Breach, ...]:
    """Claim: each group offset that a fetch returns was set by a committed transaction.

    A transaction is treated as committed if it did not fail, and if its end was requested before
    the fetch completed. At read_committed, the fetch must not return an old offset. An offset is
    old if a later transaction set another offset and committed before the fetch began.
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
    for fetch, offset_now in run.fetched():
        transaction = None if offset_now is None else by_offset.get(offset_now)
        if offset_now is not None and (transaction is None or is_void(transaction)):
            yield f"offset {offset_now} was fetched, but was not committed"
        elif transaction is not None and (fetch.completed_ns or 0) < (
            transaction.end_asked_ns or 0
        ):
            yield f"offset {offset_now} was fetched before the end of its transaction was requested"
        for offset, done in committed.items():
            is_over = fetch.isolation == "read_committed" and _before(done, fetch)
            if is_over and (transaction is None or _before(transaction, done)):
                yield f"offset {offset_now} was fetched, though offset {offset} was committed later"


def _before(one: Operation, other: Operation) -> bool:
    return one.completed_ns is not None and one.completed_ns < other.invoked_ns


def retry_resumes(run: Transacted) -> tuple[Breach, ...]:
    """Claim: a replaced producer writes no further records, and readers read no value twice.

    A producer is replaced when another producer initializes with the same transactional id.
    """
    late = (
        f"process {run.history[row.op].process} wrote as {row.transactional_id}, "
        f"{row.late_ns} ns after it was replaced"
        for row in zombie_write.zombie_writes(run.history)
    )
    twice = (f"{value} is read {times} times" for value, times in run.shown().items() if times > 1)
    return tuple(Breach("retry_resumes", why) for why in (*late, *twice))


def timeout_aborts(run: Transacted) -> tuple[Breach, ...]:
    """Claim: no transaction is open when a run ends, and every abandoned transaction was aborted.

    A transaction was aborted if, after each record of the transaction, the next marker of the
    producer is an abort marker.
    """
    return tuple(Breach("timeout_aborts", why) for why in _left_open(run))


def _left_open(run: Transacted) -> Iterator[str]:
    for key, ends in run.ends.items():
        if ends.last_stable_offset < ends.high_watermark:
            yield (
                f"{key}: readers are stuck at offset {ends.last_stable_offset}, "
                f"the high watermark is {ends.high_watermark}"
            )
    abandoned = {
        send.value
        for transaction in run.transactions()
        if transaction.end_asked_ns is None
        for send in sends(transaction)
    }
    for log in run.logs.values():
        for place, entry in enumerate(log):
            if entry.value in abandoned:
                markers = (it.marker for it in log[place:] if it.producer_id == entry.producer_id)
                marker = next(filter(None, markers), "nothing")
                if marker != "abort":
                    yield f"the transaction of {entry.value} was abandoned; its marker is {marker}"


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
    """Returns True if a reader of the run received a record of a transaction that its producer
    aborted.
    """
    aborted = {
        send.value
        for transaction in run.transactions()
        if transaction.error == "ABORTED"
        for send in sends(transaction)
    }
    return any(poll.value in aborted for _, poll in run.polls())


def open_and_read(run: Transacted) -> bool:
    """Returns True if a reader of the run received a record of a transaction before the client
    requested the end of the transaction.
    """
    requested_ns = {
        send.value: transaction.end_asked_ns
        for transaction in run.transactions()
        for send in sends(transaction)
        if transaction.end_asked_ns is not None
    }
    return any(
        (operation.completed_ns or 0) < requested_ns.get(poll.value, 0)
        for operation, poll in run.polls()
    )


def written_again_and_read_once(run: Transacted) -> bool:
    """Returns True if the logs of the run have several records of the same work, and a reader reads
    exactly one of them.

    A value is the name of the work, a colon, and a text that differs if a client repeats the
    transaction.
    """
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
