"""The user's cache: a folder for compiled specs, downloaded jars and built programs, so that later
runs can use them again.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache(name: str) -> Path:
    """Returns the path of the cache folder `name`, such as `compiled`. The folder may not exist
    yet.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "urteil" / name
