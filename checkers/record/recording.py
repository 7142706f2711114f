"""A recording: several producers and consumers of confluent-kafka, unmodified, and their history.

    record(RecordOptions(folder=Path("history"), bootstrap_servers="127.0.0.1:9092"))

The workload: every producer is shared by two processes that send, so that requests carry several
records and several requests are in flight; consumers read all partitions from the beginning, by
assignment and not in a group; others ask for end offsets. When all is sent, a last process asks
for every end and reads every partition up to it from the beginning: without that, what nobody has
read yet could not be told from what is lost.

The topic is new, so every value is sent by one operation only.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from checkers.histories.recorded import tables
from checkers.record.client_config import ClientConfig
from checkers.record.clients import LIBRARIES, Clients
from checkers.record.processes import (
    Shared,
    SharedProducer,
    ask_end_offsets,
    end_offset,
    poll_until,
    send_all,
)
from checkers.record.store import Described, HistoryWriter
from model.faults import InputFault
from model.histories import MicroOperation, Poll
from reference_impl.wire.applied import applied_but_unanswered

WORKLOAD: Final = "append-and-read"
PROCESSES_PER_PRODUCER: Final = 2
READ_WITHIN_S: Final = 20.0  # the final phase gives up when nothing has come for so long
END_OFFSET_PAUSE_S: Final = 0.005
BROKER_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """What to record, and where."""

    folder: Path  # of the history; must not exist
    bootstrap_servers: str
    client_config: ClientConfig = field(default_factory=ClientConfig)
    topic: str | None = None  # must not exist; None: a new name
    partitions: int = 4
    replication_factor: int = BROKER_DEFAULT
    producers: int = 3
    consumers: int = 2
    end_offset_readers: int = 1
    sends: int = 2_000  # of all producers together
    seed: int = 0
    broker_log: Path | None = None  # of a reference broker, which says what it applied
    progress: Callable[[str], None] = lambda _text: None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordResult:
    """What was recorded."""

    folder: Path
    topic: str
    operations: int
    outcomes: Mapping[tuple[str, str], int]  # (f, outcome) -> operations
    applied_but_unanswered: int | None  # sends; None: the broker's log is not known
    unread: tuple[str, ...]  # topic partitions that could not be read to their end
    seconds: float


def record(options: RecordOptions) -> RecordResult:
    """Runs the workload and leaves its history in the folder.

    UnreachableCluster, BadClientConfig or InputFault before anything is written. An interrupt stops
    the workload, keeps what is recorded, and is raised again.
    """
    started = time.monotonic()
    if options.folder.exists():
        raise InputFault(f"{options.folder}: it exists; a history gets a folder of its own")
    topic = options.topic or f"urteil-{secrets.token_hex(4)}"
    clients = Clients.connect(options.bootstrap_servers, options.client_config)
    clients.create_topic(topic, options.partitions, options.replication_factor)
    with HistoryWriter(options.folder, _described(options, topic)) as history:
        shared = Shared(history, topic, options.partitions)
        unread = _run(options, shared, clients)
    counts: Counter[tuple[str, str]] = Counter()
    for table in tables(options.folder):
        columns = (table[name].to_pylist() for name in ("f", "outcome", "position"))
        counts.update((f, outcome) for f, outcome, at in zip(*columns, strict=True) if at == 0)
    return RecordResult(
        folder=options.folder,
        topic=topic,
        operations=sum(counts.values()),
        outcomes=dict(sorted(counts.items())),
        applied_but_unanswered=(
            applied_but_unanswered(options.broker_log) if options.broker_log else None
        ),
        unread=unread,
        seconds=time.monotonic() - started,
    )


# ---------------------------------------------------------------- the run


def _run(options: RecordOptions, shared: Shared, clients: Clients) -> tuple[str, ...]:
    """All threads, then the final phase; which topic partitions were not read to their end."""
    senders = options.producers * PROCESSES_PER_PRODUCER
    shares = [options.sends // senders + (n < options.sends % senders) for n in range(senders)]
    producers = [SharedProducer(clients.producer) for _ in range(options.producers)]
    sending = _Threads(shared)
    watching = _Threads(shared)
    for number, share in enumerate(shares):
        rng = random.Random(f"send {options.seed} {number}")
        producer = producers[number % options.producers]
        sending.start(send_all, shared, producer, count=share, rng=rng)
    for _ in range(options.consumers):
        watching.start(
            poll_until, shared, clients.consumer(), lambda _process, _seen: shared.sent.is_set()
        )
    for number in range(options.end_offset_readers):
        rng = random.Random(f"end offsets {options.seed} {number}")
        watching.start(
            ask_end_offsets, shared, clients.consumer(), pause_s=END_OFFSET_PAUSE_S, rng=rng
        )
    try:
        sending.join(options.progress)
        shared.sent.set()
        watching.join(options.progress)
        return _read_to_the_end(shared, clients, options.progress)
    except BaseException:
        shared.stopped.set()
        shared.sent.set()
        for threads in (sending, watching):
            threads.wait()
        raise


def _read_to_the_end(
    shared: Shared, clients: Clients, progress: Callable[[str], None]
) -> tuple[str, ...]:
    """A last process asks for every end and reads up to it; the topic partitions it could not."""
    progress("reading every partition to its end")
    consumer = clients.consumer()
    ends: dict[str, int] = {}
    quiet_until = time.monotonic() + READ_WITHIN_S
    reached: dict[str, int] = {}

    def done(process: int, seen: tuple[MicroOperation, ...]) -> bool:
        nonlocal quiet_until
        if not ends:
            for index in range(shared.partitions):
                end = None
                while end is None and time.monotonic() < quiet_until:
                    end = end_offset(shared, consumer, process, index)
                ends[shared.key(index)] = -1 if end is None else end
        if seen:
            quiet_until = time.monotonic() + READ_WITHIN_S
        for poll in seen:
            if isinstance(poll, Poll) and poll.offset is not None:
                reached[poll.key] = poll.offset + 1
        for place in consumer.position(consumer.assignment()):
            if place.offset >= 0:  # a position may be ahead of the last record: offsets have gaps
                key = shared.key(place.partition)
                reached[key] = max(reached.get(key, 0), place.offset)
        return not _unread(ends, reached) or time.monotonic() > quiet_until

    poll_until(shared, consumer, done)
    consumer.close()
    return _unread(ends, reached)


def _unread(ends: Mapping[str, int], reached: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(key for key, end in ends.items() if end < 0 or reached.get(key, 0) < end)


@dataclass(slots=True)
class _Threads:
    """Threads whose first failure stops the recording."""

    shared: Shared
    _threads: list[threading.Thread] = field(default_factory=list)
    _failed: list[BaseException] = field(default_factory=list)

    def start(self, run: Callable[..., None], *args: Any, **named: Any) -> None:
        def guarded() -> None:
            try:
                run(*args, **named)
            except BaseException as error:
                self._failed.append(error)
                self.shared.stopped.set()

        thread = threading.Thread(target=guarded, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, progress: Callable[[str], None]) -> None:
        """Waits for all, open to interrupts; raises what one of them raised."""
        while any(thread.is_alive() for thread in self._threads):
            time.sleep(0.02)
            progress(f"{self.shared.history.operations} operations")
        if self._failed:
            raise self._failed[0]

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()


def _described(options: RecordOptions, topic: str) -> Described:
    kept = asdict(replace(options, progress=print, client_config=ClientConfig()))
    for name in ("folder", "broker_log", "progress", "client_config", "seed"):
        kept.pop(name)
    properties = options.client_config.properties  # values may be secrets: only the keys are kept
    return Described(
        workload=WORKLOAD,
        clients=LIBRARIES,
        settings={**kept, "topic": topic, "client_config_keys": sorted(properties)},
        seed=options.seed,
    )
