"""Python bindings of `runtime.c`, compiled for a spec at a fixed scope such as 3 replicas.

The C code numbers the states that it finds. For each state, it stores a key: either the stored form
of the state (`layout`) or a hash of this form. The number of threads does not change the result.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from checkers.compiler import CannotCompile, library_file, loaded
from checkers.explicit import compiled
from checkers.explicit.compiled.mapped import Files, cannot_grow
from checkers.explicit.compiled.source import Source
from checkers.explicit.exploration import MANY, Declined
from checkers.explicit.instance import Instance, Packed
from model.faults import InputFault
from model.language.spec import Claim

RUNTIME = "runtime.c"
HEADERS = (
    "states.h",
    "search.h",
    "arrays.h",
    "halves.h",
    "keys.h",
    "hash_set.h",
    "parents.h",
    "edges.h",
    "store.h",
    "letters.h",
    "block.h",
    "claims.h",
    "successors.h",
    "threads.h",
    "on_disk.h",
    "checkpoint.h",
    "partition.h",
    "transitions.h",
)
WRITTEN = (RUNTIME, *HEADERS)  # C sources that do not depend on the spec
WHOLE = ctypes.c_uint64
NO_MEMORY, TOO_MANY, REFUSED = 1, 2, 1 << 16  # why a search failed, as in `search.h`
SLOT_BYTES, SLOTS_A_STATE = 6.4, 2  # of the hash set, at most, as in `hash_set.h`
PREFIX_BITS = 22  # bits of a hash that order the buckets at first, as in `hash_set.h`
# Less optimization takes less time to compile, and more time to search: `benchmarks.compilation`
SMALL_SEARCH = 300_000  # states
FOR_A_SMALL_SEARCH, FOR_A_LARGE_SEARCH = ("-Og", "-DDRAFT"), ("-O3",)
OUT_OF_MEMORY = "the search is out of memory: set --memory, or use --fingerprints"

SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "search_open": (ctypes.c_void_p, (WHOLE,)),
    "search_close": (None, (ctypes.c_void_p,)),
    "search_start": (None, (ctypes.c_void_p, ctypes.c_char_p)),
    "search_next_level": (WHOLE, (ctypes.c_void_p,)),
    "search_judge": (WHOLE, (ctypes.c_void_p, WHOLE)),
    "search_expand": (WHOLE, (ctypes.c_void_p, WHOLE)),
    "search_count": (WHOLE, (ctypes.c_void_p,)),
    "search_queue": (WHOLE, (ctypes.c_void_p,)),
    "search_found": (ctypes.c_void_p, (ctypes.c_void_p, WHOLE)),
    "search_parent": (WHOLE, (ctypes.c_void_p, WHOLE)),
    "search_key": (None, (ctypes.c_void_p, WHOLE, ctypes.c_char_p)),
    "search_key_bytes": (WHOLE, (ctypes.c_void_p,)),
    "search_half_bytes": (WHOLE, (ctypes.c_void_p,)),
    "search_set_bytes": (WHOLE, (ctypes.c_void_p,)),
    "search_parent_bytes": (WHOLE, (ctypes.c_void_p,)),
    "search_move": (None, (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)),
    "search_fingerprint": (WHOLE, (ctypes.c_char_p,)),
    "search_keys": (None, (ctypes.c_void_p, WHOLE, WHOLE, ctypes.c_void_p)),
    "search_parents": (None, (ctypes.c_void_p, WHOLE, WHOLE, ctypes.c_void_p)),
    "search_level": (None, (ctypes.c_void_p, WHOLE, WHOLE, ctypes.c_void_p)),
    "search_forget": (None, (ctypes.c_void_p,)),
    "search_give": (None, (ctypes.c_void_p, ctypes.c_void_p, WHOLE, WHOLE)),
    "search_post": (WHOLE, (ctypes.c_void_p,)),
    "search_letters": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "search_hash": (None, (ctypes.c_void_p, WHOLE, ctypes.c_void_p)),
    "checkpoint_image": (None, (ctypes.c_void_p, ctypes.c_void_p)),
    "restore_room": (None, (ctypes.c_void_p, WHOLE)),
    "restore_halves": (None, (ctypes.c_void_p, *[ctypes.c_void_p, WHOLE] * 2)),
    "restore_runs": (None, (ctypes.c_void_p, ctypes.c_void_p, WHOLE)),
    "restore_states": (None, (*[ctypes.c_void_p] * 3, WHOLE, ctypes.c_void_p)),
    "restore_edges": (
        None,
        (*[ctypes.c_void_p, ctypes.c_void_p, WHOLE], *[ctypes.c_void_p] * 2, WHOLE),
    ),
    "restore_level": (None, (*[ctypes.c_void_p] * 3,)),
    "partition_add": (None, (ctypes.c_void_p, ctypes.c_void_p, WHOLE)),
    "partition_mark": (None, (ctypes.c_void_p, ctypes.c_void_p, WHOLE, ctypes.c_void_p)),
    "transitions_begin": (None, (ctypes.c_void_p,)),
    "transitions_keep": (None, (ctypes.c_void_p,)),
    "transitions_drop": (None, (ctypes.c_void_p,)),
    "transitions_count": (WHOLE, (ctypes.c_void_p,)),
    "transitions_move": (None, (ctypes.c_void_p, *[ctypes.c_int] * 3)),
    "transitions_array": (ctypes.c_void_p, (ctypes.c_void_p, WHOLE)),
    "transitions_where": (WHOLE, (ctypes.c_void_p, WHOLE, WHOLE, *[ctypes.c_void_p] * 2)),
    "transitions_forget": (None, (ctypes.c_void_p,)),
}


class Library:
    def __init__(
        self,
        at: Instance,
        *,
        fingerprints: bool = False,
        coverage: bool = False,
        most_states: int | None = MANY,
        hash_bits: int = 64,
        prefix_bits: int = PREFIX_BITS,
    ) -> None:
        spec = at.spec
        self.claims: Sequence[Claim] = (*spec.claims, *spec.action_properties)
        self.source = Source(at, self.claims, spec.witnesses, spec.liveness_properties)
        texts = {
            **{
                name: files(compiled).joinpath(name).read_text(encoding="utf-8") for name in WRITTEN
            },
            "sizes.h": self.source.sizes,
            "spec.h": self.source.spec,
        }
        self.fingerprints, self.coverage = fingerprints, coverage
        self.code = sha256(repr((sorted(texts.items()), hash_bits)).encode()).hexdigest()
        flags = ["-DFINGERPRINTS"] * fingerprints + ["-DCOVERAGE"] * coverage
        flags += optimization(most_states)
        flags += [f"-DHASH_BITS={hash_bits}"] * (hash_bits < 64)
        flags += [f"-DPREFIX={prefix_bits}"] * (prefix_bits < PREFIX_BITS)
        try:
            self.file = library_file(texts, RUNTIME, flags)
            self.c = typed(loaded(self.file))
        except CannotCompile as reason:
            raise Declined(str(reason)) from reason
        self.found_type = found_type(Sizes.of(self.source))

    @contextmanager
    def opened(self, threads: int, claims: Iterable[str]) -> Generator[None]:
        """Starts a search for violations of the claims with these names. The end of the `with`
        block frees the memory of the search.
        """
        self.search = self.c.search_open(threads)
        if not self.search:
            raise InputFault(OUT_OF_MEMORY)
        addresses = [self.c.search_found(self.search, k) for k in range(threads)]
        self.found = [self.found_type.from_address(address) for address in addresses]
        names = set(claims)
        for found in self.found:
            for number, claim in enumerate(self.claims):
                found.open[number] = claim.name in names
        try:
            yield
        finally:
            self.c.search_close(self.search)
            self.found = []

    # ---- the search

    def start(self, state: Packed) -> None:
        self.c.search_start(self.search, self.stored(state))
        self.check_memory()

    def next_level(self) -> int:
        """Moves to the next level of the search, and returns the number of states of this level."""
        states: int = self.c.search_next_level(self.search)
        return states

    def judge(self, quota: int) -> int:
        """Checks the claims in the next states of the level, at most `quota` states per thread.
        Returns the number of states that remain to check.
        """
        left: int = self.c.search_judge(self.search, quota)
        return self._checked(left)

    def expand(self, quota: int) -> int:
        """Expands at most `quota` further states of this level per thread: computes their
        successors. Returns the number of the level's states that are not yet expanded.
        """
        left: int = self.c.search_expand(self.search, quota)
        return self._checked(left)

    def _checked(self, left: int) -> int:
        self.check_memory()
        return left

    def check_memory(self) -> None:
        check_memory(self.found)

    def close_broken(self) -> None:
        for number in range(len(self.claims)):
            if any(found.broken[number] for found in self.found):
                for found in self.found:
                    found.open[number] = 0

    # ---- states

    def count(self) -> int:
        states: int = self.c.search_count(self.search)
        return states

    def queue(self) -> int:
        states: int = self.c.search_queue(self.search)
        return states

    def stored(self, state: Packed) -> bytes:
        return self.source.layout.stored(state)

    def key_of(self, state: Packed) -> bytes:
        return self.key_of_stored(self.stored(state))

    def key_of_stored(self, stored: bytes) -> bytes:
        """Returns the key of the state with this stored form: the stored form itself, or its hash
        if the search stores fingerprints.

        Additional zero bytes at the end of `stored` are ignored.
        """
        if not self.fingerprints:
            return stored[: self.source.layout.state_bytes]
        fingerprint: int = self.c.search_fingerprint(stored)
        return fingerprint.to_bytes(8, "little")

    def key(self, number: int) -> bytes:
        key = ctypes.create_string_buffer(self.key_bytes)
        self.c.search_key(self.search, number, key)
        return key.raw

    @property
    def key_bytes(self) -> int:
        return 8 if self.fingerprints else self.source.layout.state_bytes

    def bytes_for(self, states: int) -> int:
        """Returns an estimate of the memory in bytes that a search with `states` states needs."""
        keys: int = self.c.search_key_bytes(self.search)
        return int(states * (keys / max(1, self.count()) + 1)) + self.set_bytes_for(states)

    def set_bytes_for(self, states: int) -> int:
        """Returns an estimate of the memory in bytes that the hash set of `states` states needs."""
        return int(states * SLOT_BYTES * SLOTS_A_STATE)

    def bytes_with_files(self, states: int) -> int:
        """Returns an estimate of the memory in bytes that `states` states need after
        `move_to_files`.
        """
        halves: int = self.c.search_half_bytes(self.search)
        return int(states * halves / max(1, self.count())) + self.set_bytes_for(states)

    def move_to_files(self, files: Files) -> None:
        """Moves the keys of the states, and the numbers of their predecessors, to files.

        The hash set stays in memory. A key may have two numbers, one for each half of the state. In
        this case, the table of the distinct halves also stays in memory.
        """
        self.c.search_move(self.search, files.opened("keys"), files.opened("parents"))
        self.check_memory()

    def parent(self, number: int) -> int:
        """Returns the number of the state from which the search first reached this state."""
        parent: int = self.c.search_parent(self.search, number)
        return parent


def check_memory(results: Iterable[Any]) -> None:
    """Raises InputFault if a thread has no more memory, or found too many states for 32-bit
    numbers.

    If the system refused to enlarge a file, raises the error that `cannot_grow` returns. `results`
    has the C structure `Found` of each thread.
    """
    failed = {found.failed for found in results}
    if TOO_MANY in failed:
        raise InputFault("too many states for numbers of 32 bits: use --engine spark")
    if max(failed, default=0) > REFUSED:
        raise cannot_grow(max(failed) - REFUSED)
    if any(failed):
        raise InputFault(OUT_OF_MEMORY)


def optimization(states: int | None) -> tuple[str, ...]:
    """Returns the flags of the C compiler for a search that finds at most `states` states."""
    if states is None or SMALL_SEARCH < states <= MANY:
        return ()
    return FOR_A_SMALL_SEARCH if states <= SMALL_SEARCH else FOR_A_LARGE_SEARCH


def typed(c: ctypes.CDLL) -> ctypes.CDLL:
    for name, (returns, takes) in SIGNATURES.items():
        function = getattr(c, name)
        function.restype, function.argtypes = returns, takes
    return c


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    actions: int
    conjuncts: int
    claims: int
    witnesses: int
    words: int
    state_bytes: int

    @classmethod
    def of(cls, source: Source) -> Sizes:
        return cls(
            actions=len(source.actions),
            conjuncts=source.conjuncts,
            claims=len(source.claims),
            witnesses=len(source.witnesses),
            words=source.layout.words,
            state_bytes=source.layout.state_bytes,
        )


def found_type(sizes: Sizes) -> Any:
    """Returns the ctypes type of the result of a search. Its layout is equal to the layout of
    the C structure `Found`.
    """
    actions, conjuncts = sizes.actions + 1, sizes.conjuncts + 1
    claims, witnesses = sizes.claims + 1, sizes.witnesses + 1

    class Found(ctypes.Structure):
        _fields_ = (
            ("generated", WHOLE),
            ("stuck", WHOLE),
            ("first_stuck", WHOLE),
            ("undefined", WHOLE),
            ("undefined_step", WHOLE),
            ("failed", WHOLE),
            ("taken", WHOLE * actions),
            ("missed", WHOLE * conjuncts),
            ("open", WHOLE * claims),
            ("broken", WHOLE * claims),
            ("broken_by", WHOLE * sizes.words * claims),
            ("seen", WHOLE * witnesses),
            ("first_seen", WHOLE * witnesses),
        )

    return Found


__all__ = ["Library"]
