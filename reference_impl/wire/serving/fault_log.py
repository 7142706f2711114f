"""The fault log: one line of NDJSON with the time of each kill, power loss and restart of a broker.

A line looks like this:

    {"at_ns": 81234567890, "do": "kill", "node": 2}
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FaultLog:
    """The log of the kills, power losses and restarts of brokers, in `file`. If `file` is None,
    nothing is written.
    """

    file: Path | None

    def write(self, do: str, node: int) -> None:
        if self.file is not None:
            entry = {"at_ns": time.monotonic_ns(), "do": do, "node": node}
            with self.file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(entry) + "\n")
