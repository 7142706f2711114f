"""A correct synthetic cluster and its clients, generated window by window as columns.

A window is a period of time. All processes (clients) are idle at the beginning and at the end of a
window. Every event of a log (append, marker, commit, read) takes effect at an instant between
invocation and completion of its operation. The offsets have the order of these instants, so the
history is linearizable by construction. A record is readable from the instant at which no
transaction at or below its offset is open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.analyze.recorded import NULL, Ints, Operations, Vocabulary, positions

TRANSACTIONAL: Final = 5  # the number of senders that are transactional
SENDERS: Final = 8
READERS: Final = 8
END_READERS: Final = 2
SLOTS: Final = SENDERS + READERS + END_READERS
SENDS_AT_ONCE: Final = 8  # at most, of a transaction
RECORDS_AT_ONCE: Final = (10, 50)
ENDS_AT_ONCE: Final = 4
FIRST_SCENE: Final = 1_000_000_000  # processes of injected scenes have higher numbers
COMMIT_EVERY: Final = 16  # polls
FETCH_EVERY: Final = 4  # commits
STABLE: Final = 0.25  # share of end offset queries at read_committed
INFO: Final = 0.005  # of all sends and transactions
FAIL: Final = 0.01
US: Final = 1_000  # ns
INSTANT_BITS: Final = 34  # of an instant inside its window, ns
INDEX_BITS: Final = 20  # of the number of a record inside its window

F: Final = (
    "send",
    "txn",
    "poll",
    "end_offset",
    "commit_offset",
    "fetch_offset",
    "assign",
    "init_producer",
)
OUTCOMES: Final = ("ok", "fail", "info")
OK, FAILED, UNKNOWN = range(3)
KINDS: Final = ("send", "poll", "end_offset", "commit_offset", "fetch_offset", "assigned", "none")
SEND, POLL, END, COMMIT, FETCH, ASSIGNED, NONE = range(7)
ISOLATIONS: Final = ("read_committed", "read_uncommitted")
READ_COMMITTED, READ_UNCOMMITTED = range(2)
VALUELESS: Final = pa.array([], pa.string())


def vocabulary(partitions: int) -> Vocabulary:
    return {
        "f": F,
        "outcome": OUTCOMES,
        "kind": KINDS,
        "key": [f"orders-{number}" for number in range(partitions)],
        "error": ("_MSG_TIMED_OUT: Local: Message timed out", "_PURGE_QUEUE: Local: Purged"),
        "transactional_id": [f"app-{number}" for number in range(TRANSACTIONAL)],
        "group": ("readers",),
        "isolation": ISOLATIONS,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    first: Ints  # for each key the index of its first entry
    base: Ints  # for each key the offset of that entry
    appended: Ints  # key and instant of each entry, ascending
    stable: Ints  # key and instant from which each entry is readable, ascending
    record: Ints  # the number of the record; NULL for a marker or an aborted record
    keys: Ints
    offsets: Ints


@dataclass(slots=True)
class Cluster:
    rng: np.random.Generator
    partitions: int
    hot: float = 0.0  # share of the records whose key is the first one, besides its even share
    now_ns: int = 1_000 * US
    _ends: Ints = field(init=False)  # for each key the next offset
    _retired: Ints = field(init=False)  # for each sender the number of its ended processes
    _sent: Ints = field(init=False)  # for each sender the number of its values
    _readers: int = field(init=False)

    def __post_init__(self) -> None:
        self._ends = np.zeros(self.partitions, dtype=np.int64)
        self._retired = np.zeros(SENDERS, dtype=np.int64)
        self._sent = np.zeros(SENDERS, dtype=np.int64)
        self._readers = min(READERS, self.partitions)

    def assigns(self) -> Operations:
        """Returns `assign` operations that divide the keys among all readers."""
        readers = np.arange(self._readers)
        keys = np.arange(self.partitions)
        owner = keys % self._readers
        return Operations.of(
            np.bincount(owner, minlength=self._readers),
            VALUELESS,
            process=SENDERS + readers,
            f=F.index("assign"),
            outcome=OK,
            invoked_ns=readers * US,
            completed_ns=readers * US + 900,
            kind=ASSIGNED,
            key=keys[np.argsort(owner, kind="stable")],
        )

    def never(self) -> Operations:
        """Returns, for each sender, a send operation that never completes."""
        sender = np.arange(SENDERS)
        processes = sender + SLOTS * self._retired
        return Operations.of(
            np.ones(SENDERS, dtype=np.int64),
            _values(processes, self._sent),
            process=processes,
            f=np.where(sender < TRANSACTIONAL, F.index("txn"), F.index("send")),
            outcome=UNKNOWN,
            invoked_ns=self.now_ns + sender,
            error=0,
            transactional_id=np.where(sender < TRANSACTIONAL, sender, NULL),
            kind=SEND,
            key=self._keys(SENDERS),
            value=sender,
        )

    def window(self, size: int) -> list[Operations]:
        """Returns all operations of the next window, in which each sender makes `size` sends."""
        began_ns = self.now_ns
        sends, append, commit, logged = self._sends(size)
        log = self._append(sends, append, commit, logged)
        keys, values = sends.of_row["key"], sends.values
        offset = np.full(len(keys), NULL)
        visible = log.record != NULL
        offset[log.record[visible]] = log.offsets[visible]
        row_outcome = np.repeat(sends.of_operation["outcome"], sends.counts)
        sends.of_row["offset"][:] = np.where(row_outcome == OK, offset, NULL)
        operations = [
            sends,
            self._initialised(sends),
            *self._polls(log, values),
            self._end_offsets(log, size),
        ]
        latest = max(int(o.of_operation["completed_ns"].max(initial=0)) for o in operations)
        assert latest - began_ns < 1 << INSTANT_BITS
        self.now_ns = latest + 500 * US
        return operations

    # ------------------------------------------------------------ senders

    def _sends(self, size: int) -> tuple[Operations, Ints, Ints, Ints]:
        """Returns `size` sends of each sender; they have no offsets yet. For each record, the
        function also returns the time of the append, the time when the transaction ends, and the
        fate of the record.

        The fate is 0 if the record was lost, 1 if it was aborted, and 2 if it took effect.
        """
        rng, shape = self.rng, (SENDERS, size)
        duration = rng.integers(200 * US, 1_400 * US, shape)
        pause = rng.integers(10 * US, 90 * US, shape)
        completed = self.now_ns + np.cumsum(duration + pause, axis=1)
        invoked = completed - duration
        chance = rng.random(shape)
        outcome = np.where(chance < INFO, UNKNOWN, np.where(chance < INFO + FAIL, FAILED, OK))
        ended = np.cumsum(outcome == UNKNOWN, axis=1)
        sender = np.broadcast_to(np.arange(SENDERS)[:, None], shape)
        process = sender + SLOTS * (self._retired[:, None] + ended - (outcome == UNKNOWN))
        self._retired += ended[:, -1]
        transactional = sender < TRANSACTIONAL
        counts = np.where(transactional, rng.integers(1, SENDS_AT_ONCE + 1, shape), 1).ravel()
        fate = np.where(outcome == OK, 2, 0)
        fate = np.where(outcome == UNKNOWN, 2 * rng.integers(0, 2, shape), fate)
        fate = np.where((fate == 0) & transactional, 1, fate)

        row_op = np.repeat(np.arange(sender.size), counts)
        position, share = positions(counts), counts[row_op]
        span = (duration * 7 // 10).ravel()[row_op]
        jitter = rng.random(len(row_op))
        append = invoked.ravel()[row_op] + ((position + jitter) / share * span).astype(np.int64)
        keys = self._keys(len(row_op))
        append = append[_first_alike(row_op, keys)]  # records of one key are sent in one request
        settled = (invoked + duration * 9 // 10).ravel()[row_op]
        row_transactional = transactional.ravel()[row_op]
        per_sender = counts.reshape(shape).sum(axis=1)
        number = positions(per_sender) + np.repeat(self._sent, per_sender)
        self._sent += per_sender
        sends = Operations.of(
            counts,
            _values(process.ravel()[row_op], number),
            process=process.ravel(),
            f=np.where(transactional, F.index("txn"), F.index("send")).ravel(),
            outcome=outcome.ravel(),
            invoked_ns=invoked.ravel(),
            completed_ns=completed.ravel(),
            error=np.where(outcome == OK, NULL, np.where(outcome == UNKNOWN, 0, 1)).ravel(),
            transactional_id=np.where(transactional, sender, NULL).ravel(),
            end_asked_ns=np.where(transactional, invoked + duration * 8 // 10, NULL).ravel(),
            kind=SEND,
            key=keys,
            value=np.arange(len(row_op)),
        )
        return sends, append, np.where(row_transactional, settled, append), fate.ravel()[row_op]

    def _keys(self, count: int) -> Ints:
        keys = self.rng.integers(0, self.partitions, count)
        if self.hot:
            keys[self.rng.random(count) < self.hot] = 0
        return keys

    def _initialised(self, sends: Operations) -> Operations:
        of = sends.of_operation
        begun = np.flatnonzero((of["outcome"] == UNKNOWN) & (of["transactional_id"] != NULL))
        return Operations.of(
            np.ones(len(begun), dtype=np.int64),
            VALUELESS,
            # a new process with the same transactional id
            process=of["process"][begun] + SLOTS,
            f=F.index("init_producer"),
            outcome=OK,
            invoked_ns=of["completed_ns"][begun] + US,
            completed_ns=of["completed_ns"][begun] + 8 * US,
            transactional_id=of["transactional_id"][begun],
            kind=NONE,
        )

    # ------------------------------------------------------------ logs

    def _append(self, sends: Operations, append: Ints, commit: Ints, fate: Ints) -> _Log:
        keys = sends.of_row["key"]
        row_op = np.repeat(np.arange(len(sends.counts)), sends.counts)
        alone = _first_alike(row_op, keys) == np.arange(len(keys))
        in_transaction = sends.of_operation["transactional_id"][row_op] != NULL
        records = np.flatnonzero(fate > 0)
        marked = np.flatnonzero(in_transaction & alone & (fate > 0))
        entry_key = np.r_[keys[records], keys[marked]]
        instant = np.r_[append[records], commit[marked]] - self.now_ns
        settled = np.r_[commit[records], commit[marked]] - self.now_ns
        record = np.r_[np.where(fate[records] == 2, records, NULL), np.full(len(marked), NULL)]

        order = _order(entry_key, instant)
        entry_key = entry_key[order]
        first = np.searchsorted(entry_key, np.arange(self.partitions + 1))
        base = self._ends.copy()
        self._ends += np.diff(first)
        offsets = np.arange(len(order)) - first[entry_key] + base[entry_key]
        high = entry_key << INSTANT_BITS
        return _Log(
            first=first[:-1],
            base=base,
            appended=high | instant[order],
            stable=np.maximum.accumulate(high | settled[order]),
            record=record[order],
            keys=entry_key,
            offsets=offsets,
        )

    def _end_offsets(self, log: _Log, size: int) -> Operations:
        rng = self.rng
        width = min(ENDS_AT_ONCE, self.partitions)
        count = max(1, size // 2)
        duration = rng.integers(300 * US, 1_500 * US, (END_READERS, count))
        pause = rng.integers(100 * US, 1_000 * US, (END_READERS, count))
        completed = self.now_ns + np.cumsum(duration + pause, axis=1)
        invoked = (completed - duration).ravel()
        instant = (invoked + duration.ravel() // 2 - self.now_ns).clip(max=(1 << INSTANT_BITS) - 1)
        start = rng.integers(0, self.partitions, len(invoked))
        keys = ((start[:, None] + np.arange(width)) % self.partitions).ravel()
        queries = (keys << INSTANT_BITS) | np.repeat(instant, width)
        committed = rng.random(len(invoked)) < STABLE
        ends = np.where(
            np.repeat(committed, width),
            np.searchsorted(log.stable, queries, side="right"),
            np.searchsorted(log.appended, queries, side="right"),
        )
        return Operations.of(
            np.full(len(invoked), width),
            VALUELESS,
            process=np.repeat(SENDERS + READERS + np.arange(END_READERS), count),
            f=F.index("end_offset"),
            outcome=OK,
            invoked_ns=invoked,
            completed_ns=completed.ravel(),
            isolation=np.where(committed, READ_COMMITTED, READ_UNCOMMITTED),
            kind=END,
            key=keys,
            offset=ends - log.first[keys] + log.base[keys],
        )

    # ------------------------------------------------------------ readers

    def _polls(self, log: _Log, values: pa.Array) -> list[Operations]:
        readable = np.flatnonzero(log.record != NULL)
        stable = log.stable & ((1 << INSTANT_BITS) - 1)
        owner = log.keys[readable] % self._readers
        stream = readable[_order(owner, stable[readable])]
        owner = log.keys[stream] % self._readers
        batch = self._batches(owner)
        rows = stream[_order(batch, log.keys[stream])]  # a stable sort keeps offsets in order
        counts = np.bincount(batch)
        last = np.cumsum(counts) - 1
        reader, ready = owner[last], stable[stream[last]] + self.now_ns
        wait = self.rng.integers(90 * US, 400 * US, len(counts))
        completed = _completions(reader, ready, wait)
        previous = np.r_[0, completed[:-1]]
        previous[np.r_[True, reader[1:] != reader[:-1]]] = self.now_ns
        polls = Operations.of(
            counts,
            values,
            process=SENDERS + reader,
            f=F.index("poll"),
            outcome=OK,
            invoked_ns=previous + 60 * US,
            completed_ns=completed,
            isolation=READ_COMMITTED,
            kind=POLL,
            key=log.keys[rows],
            offset=log.offsets[rows],
            value=log.record[rows],
        )
        commits = self._commits(polls, np.arange(0, len(counts), COMMIT_EVERY), US)
        every = COMMIT_EVERY * FETCH_EVERY
        fetches = self._commits(polls, np.arange(0, len(counts), every), 30 * US)
        fetches.of_operation["f"][:] = F.index("fetch_offset")
        fetches.of_row["kind"][:] = FETCH
        return [polls, commits, fetches]

    def _batches(self, owner: Ints) -> Ints:
        low, high = RECORDS_AT_ONCE
        sizes = self.rng.integers(low, high + 1, len(owner) // low + 1)
        begins = np.zeros(len(owner), dtype=bool)
        edges = np.cumsum(sizes)
        begins[edges[edges < len(owner)]] = True
        begins[1:] |= owner[1:] != owner[:-1]
        return np.cumsum(begins)

    def _commits(self, polls: Operations, chosen: Ints, after_ns: int) -> Operations:
        batch = np.repeat(np.arange(len(polls.counts)), polls.counts)
        keys = polls.of_row["key"]
        is_last = np.r_[(keys[1:] != keys[:-1]) | (batch[1:] != batch[:-1]), True]
        of_chosen = np.zeros(len(polls.counts), dtype=bool)
        of_chosen[chosen] = True
        rows = np.flatnonzero(is_last & of_chosen[batch])
        return Operations.of(
            np.bincount(batch[rows], minlength=len(polls.counts))[chosen],
            VALUELESS,
            process=polls.of_operation["process"][chosen],
            f=F.index("commit_offset"),
            outcome=OK,
            invoked_ns=polls.of_operation["completed_ns"][chosen] + after_ns,
            completed_ns=polls.of_operation["completed_ns"][chosen] + after_ns + 25 * US,
            group=0,
            kind=COMMIT,
            key=keys[rows],
            offset=polls.of_row["offset"][rows] + 1,
        )


def _values(processes: Ints, numbers: Ints) -> pa.Array:
    texts = (pc.cast(pa.array(column), pa.string()) for column in (processes, numbers))
    return pc.binary_join_element_wise(*texts, ".")


def _first_alike(operations: Ints, keys: Ints) -> Ints:
    first = np.arange(len(keys))
    for back in range(1, min(SENDS_AT_ONCE, len(keys))):
        alike = (keys[back:] == keys[:-back]) & (operations[back:] == operations[:-back])
        first[back:][alike] = np.flatnonzero(alike)  # the earliest one is written last, and stays
    return first


def _order(major: Ints, minor: Ints) -> Ints:
    bits = int(major.max(initial=0)).bit_length() + int(minor.max(initial=0)).bit_length()
    assert bits + INDEX_BITS < 64
    assert len(major) < 1 << INDEX_BITS
    width = int(minor.max(initial=0)).bit_length()
    packed = (major.astype(np.uint64) << np.uint64(width) | minor.astype(np.uint64)) << np.uint64(
        INDEX_BITS
    )
    packed |= np.arange(len(major), dtype=np.uint64)
    packed.sort()
    return (packed & np.uint64((1 << INDEX_BITS) - 1)).astype(np.int64)


def _completions(reader: Ints, ready: Ints, wait: Ints) -> Ints:
    completed = np.empty_like(ready)
    for one in np.unique(reader):
        of = np.flatnonzero(reader == one)
        waited = np.cumsum(wait[of])
        completed[of] = waited + np.maximum.accumulate(ready[of] - waited + wait[of])
    return completed
