"""What to record, and where: the options of a recording."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from checkers.record.client_config import Acks, ClientConfig
from model.histories import Isolation

Workload = Literal["append-and-read", "transactions"]
BROKER_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """What to record, and where.

    `beside` runs beside the workload, in a thread of its own, until the event that it is given is
    set; the logs are read to their ends when it has returned. It is where faults come from.
    """

    folder: Path  # of the history; must not exist
    bootstrap_servers: str
    client_config: ClientConfig = field(default_factory=ClientConfig)
    workload: Workload = "append-and-read"
    topic: str | None = None  # must not exist; None: a new name
    partitions: int = 4
    replication_factor: int = BROKER_DEFAULT
    producers: int = 3
    consumers: int = 2
    end_offset_readers: int = 1
    pipelines: int = 3  # of the workload of transactions: members of one group
    sends: int = 2_000  # of all producers together
    pause_s: float = 0.0  # of a process between two of its sends
    acks: Acks = "all"
    isolation: Isolation = "read_committed"
    seed: int = 0
    broker_log: Path | None = None  # of a reference broker, which says what it applied
    fault_injector: Callable[[threading.Event], None] | None = None
    progress: Callable[[str], None] = lambda _text: None
