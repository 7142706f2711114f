"""The names of the files in a run folder, and of the store of verdicts next to the run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DESCRIPTION: Final = "run.json"  # the command, its seed, versions and machine
EVENTS: Final = "events.ndjson"  # every event of the run
REPORT: Final = "report.html"
STORE: Final = "runs.sqlite"  # next to the run folders: their verdicts over time
HISTORY: Final = "history"  # the folder of a recorded history
CHECKPOINT: Final = "checkpoint"  # the folder of a search that can be resumed
CHECKPOINT_LIST: Final = "checkpoint.json"  # in this folder: the files of the checkpoint
RUNNING: Final = "running"  # empty, locked by the process, and removed when the run ends


def has_checkpoint(folder: Path) -> bool:
    """Returns True if the run in this folder has a checkpoint, from which `urteil check --resume`
    can continue the search.
    """
    return (folder / CHECKPOINT / CHECKPOINT_LIST).is_file()
