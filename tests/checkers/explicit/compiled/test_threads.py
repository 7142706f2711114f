"""Several threads number the states as one thread does, and find the same parents."""

from __future__ import annotations

import ctypes

import pytest

from checkers.explicit.compiled.library import Library
from checkers.explicit.exploration import Budget
from checkers.explicit.instance import Instance
from checkers.explicit.search import explore
from model.language.interpreter import Interpreter
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101

STATES = 60_106  # as NumPy counts them
SWEPT_SOON = 18  # bits of hash that order buckets: a set grows in place from 8,700 states on


def keys_and_parents(library: Library, threads: int) -> tuple[bytes, bytes]:
    """Returns what the store has of all states, in the order of their numbers."""
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
    assert alone.discoveries["strong_isr"].steps
    for found in others:
        assert found.discoveries == alone.discoveries
        assert found.witnesses == alone.witnesses
        assert (found.deadlock, found.taken) == (alone.deadlock, alone.taken)
