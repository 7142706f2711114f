"""The git commit of the user's repository, which is written to the run folder."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SECONDS: Final = 5  # a larger repository, or a slow disk, has no commit in the run folder
_STATUS: Final = ("git", "status", "--porcelain=v2", "--branch", "--untracked-files=no")
_COMMIT: Final = "# branch.oid "


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    hash: str
    uncommitted: bool


def commit_of(folder: Path) -> Commit | None:
    """Returns the current commit of the git repository that contains the folder.

    Returns None if git is missing, fails or needs more than 5 seconds, or if the repository has no
    commit.
    """
    try:
        ran = subprocess.run(
            _STATUS, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = ran.stdout.splitlines()
    found = next((one.removeprefix(_COMMIT) for one in lines if one.startswith(_COMMIT)), "")
    if ran.returncode or not found or found == "(initial)":
        return None
    return Commit(hash=found, uncommitted=any(not one.startswith("#") for one in lines))
