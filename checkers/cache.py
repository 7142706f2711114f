"""The cache: compiled specs, downloaded jars and built programs, each made once."""

from __future__ import annotations

import os
from pathlib import Path


def cache(name: str) -> Path:
    """Returns the folder of one kind of cached files, such as `compiled`; it may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "urteil" / name
