"""If a file cannot grow, the search ends with an error. Its data stays as it was, and no memory or
file leaks.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EFBIG, EIO, ENOSPC
from importlib.resources import files
from pathlib import Path

import pytest

from checkers.compiler import library_file
from checkers.disk_full import disk_full
from checkers.explicit.compiled.library import NO_MEMORY, REFUSED, Library, check_memory
from checkers.explicit.compiled.mapped import Files
from checkers.explicit.instance import Instance
from model.faults import InputFault
from model.language.interpreter import Interpreter
from model.replication.versions import Kip101

INTERRUPTED = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NO_MEMORY = 1, TOO_MANY, REFUSED = 1 << 16 };

static int signals = 3;
static int interrupted(int file, off_t start, off_t size) {
  return signals-- ? EINTR : posix_fallocate(file, start, size);
}
#define posix_fallocate interrupted
#include "arrays.h"

uint64_t failure(int file) {
  uint64_t failed = 0;
  int *array = moved(&failed, file, NULL, 0, 4096);
  if (!failed) array[1000] = 1; /* the file has a page for it */
  return failed;
}
"""


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def opened(levels: int) -> Iterator[Library]:
    """Opens a search, and expands its first `levels` levels."""
    at = Instance.of(Kip101())
    library = Library(at)
    with library.opened(1, ()):
        for state in Interpreter(at.ranges).initial(at.spec):
            library.start(at.pack(state))
        expand(library, levels)
        yield library


def expand(library: Library, levels: int) -> None:
    for _ in range(levels):
        assert library.next_level()
        while library.expand(1 << 20):
            pass


def test_a_key_that_cannot_be_wider_leaves_the_stored_keys_unchanged(tmp_path: Path) -> None:
    with Files(tmp_path) as on_disk, opened(8) as roomy, opened(0) as tight:
        tight.move_to_files(on_disk)
        size = (tmp_path / "1-keys").stat().st_size
        with largest_file(size), pytest.raises(OSError, match=os.strerror(EFBIG)):
            expand(tight, 8)
        stored = tight.count()  # without the states of the round whose keys did not fit
        assert stored > 5
        assert [*map(tight.key, range(stored))] == [*map(roomy.key, range(stored))]


def test_parents_stay_in_memory_if_the_keys_cannot_move(tmp_path: Path) -> None:
    with Files(tmp_path) as on_disk, opened(6) as library:
        assert library.c.search_key_bytes(library.search) > 2 * library.count()
        with largest_file(6000), pytest.raises(OSError, match=os.strerror(EFBIG)):
            library.move_to_files(on_disk)
        assert (tmp_path / "2-parents").stat().st_size == 0
        assert "2-parents" not in Path("/proc/self/maps").read_text()


def test_a_signal_does_not_end_the_growth_of_a_file(tmp_path: Path) -> None:
    header = files("checkers.explicit.compiled").joinpath("arrays.h").read_text()
    texts = {"arrays.h": header, "interrupted.c": INTERRUPTED}
    library = ctypes.CDLL(str(library_file(texts, "interrupted.c", [])))
    with Files(tmp_path) as on_disk:
        assert library.failure(on_disk.opened("array")) == 0


def test_a_file_that_the_system_refuses_is_an_error_with_the_next_move(tmp_path: Path) -> None:
    with opened(0) as library:
        library.found[0].failed = REFUSED + EIO
        with pytest.raises(InputFault, match=r"Input/output error; set TMPDIR to a folder") as why:
            check_memory(library.found)
    assert disk_full(why.value, [tmp_path]) is None


def test_an_initial_state_without_memory_ends_the_search() -> None:
    """A search without any state would say that every claim holds."""
    at = Instance.of(Kip101())
    library = Library(at)
    with library.opened(1, ()):
        library.found[0].failed = NO_MEMORY
        with pytest.raises(InputFault, match="out of memory"):
            library.start(at.pack(Interpreter(at.ranges).initial(at.spec)[0]))


@pytest.mark.parametrize("refused", [EIO, ENOSPC])
def test_an_array_in_a_file_has_the_same_errors(
    refused: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(refused, os.strerror(refused))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    kind = InputFault if refused == EIO else OSError
    with Files(tmp_path) as on_disk, pytest.raises(kind, match=os.strerror(refused)):
        on_disk.empty(10, "u1")


def test_deleted_files_leave_nothing_in_the_folder(tmp_path: Path) -> None:
    with Files(tmp_path) as on_disk:
        on_disk.opened("keys")
        on_disk.delete()
        assert list(tmp_path.iterdir()) == []
        on_disk.opened("keys")
        assert [path.name for path in tmp_path.iterdir()] == ["2-keys"]
    assert list(tmp_path.iterdir()) == []
