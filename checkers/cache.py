"""The folder for what is made once and used again: compiled specs, jars, programs of peers."""

from __future__ import annotations

import os
from pathlib import Path


def cache(name: str) -> Path:
    """Returns the path of one cache of Urteil, such as `compiled`; the folder may not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "urteil" / name
