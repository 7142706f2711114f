"""With several threads, each state has the same number and the same parent as with one thread."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from checkers.compiler import library_file
from checkers.explicit.compiled import library as bindings
from checkers.explicit.compiled.library import PREFIX_BITS, Library
from checkers.explicit.exploration import MANY, Budget
from checkers.explicit.instance import Instance
from checkers.explicit.search import explore
from model.faults import InputFault
from model.language.interpreter import Interpreter
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101

STATES = 60_106  # as NumPy counts them
SWEPT_SOON = 18  # bits of hash that order buckets: a set grows in place from 8,700 states on

REFUSED = {"pthread_create(": "started == 2 ? EAGAIN : pthread_create("}
SLOW = {
    "#include <sys/mman.h>": "#include <sys/mman.h>\n#include <unistd.h>",
    "SHARED = 16384": "SHARED = 4096",
    "if (has_room) put_in_hashed(": "usleep(1000 * w->number); if (has_room) put_in_hashed(",
}
NO_SSE2 = {'#include "sizes.h"': '#undef __SSE2__\n#include "sizes.h"'}
NO_ROOM = {
    "set->buckets = grown(": """
  if (set->number == 1 && set->size) *set->failed = NO_MEMORY;
  else set->buckets = grown(""",
}


def replace_in_c(changes: Mapping[str, str], patch: pytest.MonkeyPatch) -> None:
    """Replaces texts in the C code of searches. Each replaced text must occur exactly once."""

    def compiled(texts: Mapping[str, str], main: str, flags: Sequence[str]) -> Path:
        whole = dict(texts)
        for old, new in changes.items():
            (name,) = (name for name, text in whole.items() if old in text)
            assert whole[name].count(old) == 1
            whole[name] = whole[name].replace(old, new)
        return library_file(whole, main, flags)

    patch.setattr(bindings, "library_file", compiled)


def keys_and_parents(library: Library, threads: int) -> tuple[bytes, bytes]:
    """Returns the keys of all states, and the numbers of their parents, in the order of the
    states.
    """
    at, c = library.source.at, library.c
    with library.opened(threads, ()):
        for state in Interpreter(at.ranges).initial(at.spec):
            library.start(at.pack(state))
        while library.next_level():
            while library.expand(1 << 14):
                pass
        count = library.count()
        keys = ctypes.create_string_buffer(count * library.key_bytes)
        parents = ctypes.create_string_buffer(count * 4)
        c.search_keys(library.search, 0, count, keys)
        c.search_parents(library.search, 0, count, parents)
    return keys.raw, parents.raw


@pytest.mark.parametrize("fingerprints", [False, True])
def test_the_order_of_the_states_does_not_depend_on_the_threads(*, fingerprints: bool) -> None:
    library = Library(Instance.of(Kip101()), fingerprints=fingerprints, prefix_bits=SWEPT_SOON)
    alone = keys_and_parents(library, 1)
    assert len(alone[1]) == 4 * STATES
    for threads in (2, 3, 16):
        assert keys_and_parents(library, threads) == alone


def test_every_counterexample_is_the_same_with_any_number_of_threads() -> None:
    spec = TruncateToHighWatermark()
    alone, *others = (
        explore(spec, engine="compiled", budget=Budget(states=None), threads=threads)
        for threads in (1, 2, 16)
    )
    others += [
        explore(spec, engine="compiled", budget=Budget(states=MANY + 1), threads=threads)
        for threads in (1, 2)
    ]
    assert alone.discoveries["strong_isr"].steps
    for found in others:
        assert found.discoveries == alone.discoveries
        assert found.witnesses == alone.witnesses
        assert (found.deadlock, found.taken) == (alone.deadlock, alone.taken)


@pytest.mark.parametrize(
    ("change", "threads"),
    [(REFUSED, 4), (SLOW, 2), (NO_SSE2, 1)],
    ids=[
        "the system refuses a thread",
        "a thread still reads the hashes of its old part",
        "the processor has no SSE2 instructions",
    ],
)
def test_the_machine_does_not_change_the_result(
    change: dict[str, str], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Instance.of(Kip101())
    alone = keys_and_parents(Library(at), 1)
    replace_in_c(change, monkeypatch)
    assert keys_and_parents(Library(at), threads) == alone


@pytest.mark.parametrize("prefix_bits", [SWEPT_SOON, PREFIX_BITS])
def test_a_part_that_cannot_grow_ends_the_search(
    prefix_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread cannot enlarge its part of the table, while the other threads wait for it."""
    replace_in_c(NO_ROOM, monkeypatch)
    library = Library(Instance.of(Kip101()), prefix_bits=prefix_bits)
    with pytest.raises(InputFault, match="out of memory"):
        keys_and_parents(library, 3)
