"""A shard stores a state as the numbers of its two halves, and returns the state unchanged."""

from __future__ import annotations

from checkers.explicit.compiled.library import Library
from checkers.explicit.instance import Instance
from model.language.interpreter import Interpreter
from model.replication.versions import Kip101

STATES = 60_106  # as NumPy counts them, with 13 bytes
MOST = 7  # bytes of a key, with its part of the halves


def keys(library: Library, at: Instance) -> list[bytes]:
    for state in Interpreter(at.ranges).initial(at.spec):
        library.start(at.pack(state))
    while library.next_level():
        while library.expand(1 << 20):
            pass
    return [library.key(number) for number in range(library.count())]


def test_all_states_are_read_from_their_halves() -> None:
    at = Instance.of(Kip101())
    exact, hashed = Library(at), Library(at, fingerprints=True)
    with exact.opened(1, ()):
        stored = keys(exact, at)
        assert len(set(stored)) == len(stored) == STATES
        assert exact.c.search_key_bytes(exact.search) < MOST * STATES
    with hashed.opened(1, ()):  # hashes of the successors, before they were stored
        assert keys(hashed, at) == list(map(hashed.key_of_stored, stored))
