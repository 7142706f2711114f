"""The names of the files in a run folder, and of the store of verdicts next to the run folders."""

from __future__ import annotations

from typing import Final

DESCRIPTION: Final = "run.json"  # the command, its seed, versions and machine
EVENTS: Final = "events.ndjson"  # every event of the run
REPORT: Final = "report.html"
STORE: Final = "runs.sqlite"  # next to the run folders: their verdicts over time
HISTORY: Final = "history"  # the folder of a recorded history
RUNNING: Final = "running"  # empty, locked by the process, and removed when the run ends
