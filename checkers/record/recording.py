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

import secrets
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from checkers.histories.recorded import tables
from checkers.record import append_and_read
from checkers.record.client_config import ClientConfig
from checkers.record.clients import LIBRARIES, Clients
from checkers.record.options import RecordOptions
from checkers.record.processes import Shared, Topic
from checkers.record.store import Described, HistoryWriter
from model.faults import InputFault
from reference_impl.wire.applied import applied_but_unanswered


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
        made = Topic(topic, options.partitions)
        unread = append_and_read.run(options, Shared(history), clients, made)
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


def _described(options: RecordOptions, topic: str) -> Described:
    kept = asdict(replace(options, beside=None, progress=print, client_config=ClientConfig()))
    for name in ("folder", "workload", "broker_log", "beside", "progress", "client_config", "seed"):
        kept.pop(name)
    properties = options.client_config.properties  # values may be secrets: only the keys are kept
    return Described(
        workload=options.workload,
        clients=LIBRARIES,
        settings={**kept, "topic": topic, "client_config_keys": sorted(properties)},
        seed=options.seed,
    )
