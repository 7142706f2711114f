"""Finds out whether an error was caused by a full disk. Such an error is not a bug of Urteil."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from model.faults import InputFault

FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LITTLE_BYTES: Final = 1 << 20


class DiskFull(InputFault):
    """Raised if a file cannot grow: the disk is full, the user's quota is used up, or the file has
    the largest size that the system permits.
    """


def disk_full(error: BaseException, folders: Iterable[Path]) -> DiskFull | None:
    """Returns a DiskFull if a full disk caused `error`, directly or through its chain of causes.
    Returns None otherwise.

    The message names the file of the error. If the error has no file, the message names each folder
    in `folders` whose disk has no space.
    """
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.errno in FULL:
            place = found.filename or " and ".join(map(str, filter(_is_full, folders)))
            return DiskFull(
                f"{place or 'a file'}: {os.strerror(found.errno)}; free space, or name other "
                "folders: --out for results, the variable TMPDIR for temporary files"
            )
        found = found.__cause__ or found.__context__
    return None


def _is_full(folder: Path) -> bool:
    return folder.exists() and shutil.disk_usage(folder).free < LITTLE_BYTES
