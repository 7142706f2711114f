"""The options of a recording, such as the workload, its size, and the folder of its history."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from checkers.client_config import Acks, ClientConfig
from model.histories import Isolation

Workload = Literal["append-and-read", "transactions"]
BROKER_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    folder: Path  # for the history; must not exist
    bootstrap_servers: str
    client_config: ClientConfig = field(default_factory=ClientConfig)
    workload: Workload = "append-and-read"
    topic: str | None = None  # must not exist; None: a random name
    partitions: int = 4
    replication_factor: int = BROKER_DEFAULT
    producers: int = 3
    consumers: int = 2
    end_offset_readers: int = 1
    pipelines: int = 3  # members of the group of the workload `transactions`
    sends: int = 2_000  # total over all producers
    pause_s: float = 0.0  # mean pause of a process between two sends
    acks: Acks = "all"
    isolation: Isolation = "read_committed"
    seed: int = 0
    system: str = ""  # the name of the system under test, for the history's description
    broker_config: Mapping[str, str] = field(default_factory=dict[str, str])  # of its nodes
    broker_log: Path | None = None  # the applied log of a reference broker
    # runs in its own thread, which ends before the logs are read; the event: every record is sent
    fault_injector: Callable[[threading.Event], None] | None = None
    progress: Callable[[str], None] = lambda _text: None
