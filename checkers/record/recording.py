"""A recording: producers and consumers of unmodified confluent-kafka, and their history. This call
makes a recording:

    record(RecordOptions(folder=Path("history"), bootstrap_servers="127.0.0.1:9092"))

The recording creates its topics. It refuses topics that exist already, because an earlier client
may have sent the same values to them.

A killed or interrupted recording can be resumed. The clients of the resumed recording are new
processes, so the values that they send are new, too. The transactional ids are not new, so the
coordinator fences the old producers and aborts the transactions that they left open.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Final

from checkers.client_config import ClientConfig
from checkers.histories.io.recorded import METADATA, tables
from checkers.record import append_and_read, transactions
from checkers.record.clients import LIBRARIES, Clients
from checkers.record.kept import Kept
from checkers.record.options import RecordOptions, Workload
from checkers.record.processes import Shared, Topic
from checkers.record.store import Described, HistoryWriter
from model.faults import InputFault
from reference_impl.wire.server.applied_log import applied_but_unanswered

SUFFIXES: Final[Mapping[Workload, tuple[str, ...]]] = {  # of the topics of a workload
    "append-and-read": ("",),
    "transactions": ("-in", "-out"),
}
SUB_VIA: Final[Mapping[Workload, tuple[str, ...]]] = {  # how its consumers get their partitions
    "append-and-read": ("assign",),
    "transactions": ("assign", "subscribe"),
}
NOT_KEPT: Final = ("folder", "broker_log", "fault_injector", "progress", "client_config")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordResult:
    folder: Path
    topic: str
    operations: int
    outcomes: Mapping[tuple[str, str], int]  # (f, outcome) -> operations
    applied_but_unanswered: int | None  # sends; None without a log of the broker
    unsent: int  # sends skipped after too many got no response
    unread: tuple[str, ...]  # topic partitions that could not be read to their end
    seconds: float


def record(options: RecordOptions, kept: Kept | None = None) -> RecordResult:
    """Runs the workload, and writes its history. If `kept` is not None, resumes this earlier
    recording, and sends only the remaining records.

    Raises UnreachableCluster, BadClientConfig or InputFault before the history is written. Raises
    KeyboardInterrupt after the recorded operations are saved.
    """
    started = time.monotonic()
    if kept is None and options.folder.exists():
        raise InputFault(f"{options.folder} exists already: a history needs a new folder")
    topic = options.topic or f"urteil-{secrets.token_hex(4)}"
    clients = Clients.connect(options.bootstrap_servers, options.client_config)
    topics = [Topic(topic + suffix, options.partitions) for suffix in SUFFIXES[options.workload]]
    if kept is not None:
        for each in topics:
            clients.require_topic(each.name, each.partitions)
    if options.workload == "transactions":
        clients.require_transactions(topic)
    if kept is None:
        for each in topics:
            clients.create_topic(each.name, each.partitions, options.replication_factor)
    run = append_and_read.run if options.workload == "append-and-read" else transactions.run
    with HistoryWriter(options.folder, _described(options, topic, kept), kept=kept) as history:
        history.unread = run(_left(options, kept), Shared(history), clients, *topics)
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
        unsent=options.sends - sum(count for (f, _), count in counts.items() if f == "send"),
        unread=history.unread,
        seconds=time.monotonic() - started,
    )


def _left(options: RecordOptions, kept: Kept | None) -> RecordOptions:
    if kept is None:
        return options
    # a seed of its own, or the resumed threads would draw what the killed ones drew
    seed = options.seed + kept.operations
    return replace(options, sends=max(0, options.sends - kept.sends), seed=seed)


def options_of(kept: Kept, folder: Path) -> RecordOptions:
    """Returns the options of an earlier recording, except the configuration of its clients.

    Raises InputFault if `history.json` does not have all options.
    """
    settings = {**kept.described, **kept.described["settings"]}
    names = [one.name for one in fields(RecordOptions) if one.name not in NOT_KEPT]
    defaults = RecordOptions(folder=folder, bootstrap_servers="", topic="")
    for name in names:
        if not isinstance(settings.get(name), type(getattr(defaults, name))):
            raise InputFault(
                f"{folder / METADATA}: {name} is {settings.get(name)!r}; "
                "this recording cannot be resumed: record again"
            )
    return replace(defaults, **{name: settings[name] for name in names})


def _described(options: RecordOptions, topic: str, kept: Kept | None) -> Described:
    if kept is not None:
        return Described(
            workload=options.workload,
            clients=kept.described.get("clients", {}),
            settings=kept.described["settings"],
            seed=options.seed,
            resumed=kept.described.get("resumed", 0) + 1,
        )
    settings = asdict(
        replace(options, fault_injector=None, progress=print, client_config=ClientConfig())
    )
    for name in (*NOT_KEPT, "workload", "seed"):
        settings.pop(name)
    properties = options.client_config.properties  # values may be secrets
    return Described(
        workload=options.workload,
        clients=LIBRARIES,
        settings={
            **settings,
            "topic": topic,
            "sub_via": SUB_VIA[options.workload],
            "client_config_keys": sorted(properties),
        },
        seed=options.seed,
    )
