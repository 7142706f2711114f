"""Writes a compiled search to a checkpoint, and restores it.

Between two calls, the C arrays of a search are complete, and they only grow. So a checkpoint adds
only the new bytes of each array, in the form in which they are in memory. The hash sets are not
saved: they are rebuilt when a search is restored.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.explicit.checkpoint import Bytes, Checkpoint, Segment
from checkers.explicit.checkpoints import Checkpoints
from checkers.explicit.compiled.library import WHOLE, Library
from checkers.explicit.compiled.spill import view

ROWS = 1 << 18  # states or transitions that are restored together
SLACK = 8  # C reads words, and so up to eight bytes after an array
RUN = 8  # bytes of `Run` in `search.h`
NO_PARENT = 0xFFFFFFFF
NUMBER = 4  # bytes of the number of a state or of a transition
WIDTHS = ("bytes", "head_bits", "tail_bits")
PLACE = ("level", "end", "judged", "expanded")
SUMS = ("generated", "stuck", "taken", "missed", "seen")  # of the results of all threads
FIRSTS = ("first_stuck", "first_seen")  # the least number of all threads, counted from 1


class Widths(ctypes.Structure):
    """The C structure `Widths` of `checkpoint.h`."""

    _fields_ = tuple((name, WHOLE) for name in WIDTHS)


class Image(ctypes.Structure):
    """The C structure `Image` of `checkpoint.h`."""

    _fields_ = (
        ("states", WHOLE),
        *((name, WHOLE) for name in PLACE),
        *((name, WHOLE) for name in ("heads", "tails", "runs", "offsets", "edges")),
        ("widths", Widths),
        *((name, ctypes.c_void_p) for name in ("key", "parent", "head", "tail", "run")),
        *((name, ctypes.c_void_p) for name in ("offset", "target", "label", "now", "next")),
    )


@dataclass(frozen=True)
class SavedSearch:
    library: Library

    # ---- writing

    def write(self, checkpoints: Checkpoints, facts: Mapping[str, Any]) -> None:
        """Writes the bytes that are new since the latest checkpoint. Does nothing if the search
        cannot continue.

        `facts` are additional facts about the search, which the C code does not store.
        """
        image = self._image()
        if not self._can_go_on(image):
            return
        new: dict[str, Bytes] = {}
        for name, array, row, count in self._arrays(image):
            new[name] = _view(array, checkpoints.stored(name), row * count)
        # The width of keys may have changed, so their number counts, and not their bytes.
        width, before = image.widths.bytes, checkpoints.stored("parents")
        new["keys"] = _view(image.key, width * before, width * image.states)
        place = {name: getattr(image, name) for name in PLACE}
        place["depth"] = self._depth_of(image.level)
        checkpoints.write(
            {**facts, **place, "states": image.states, "found": self._results()},
            new,
            {"widths": [getattr(image.widths, name) for name in WIDTHS]},
            self._waiting(image),
        )

    def _can_go_on(self, image: Image) -> bool:
        """Returns True if some state is not yet expanded, and the C code has reported no failure.

        The failure is checked here, because Ctrl-C may have stopped the search before its caller
        saw a failure.
        """
        failed = any(found.undefined or found.failed for found in self.library.found)
        return bool(image.key) and image.level < image.states and not failed

    def _depth_of(self, number: int) -> int:
        """Returns the level of a state, computed along its predecessors.

        The stored level of the search is no substitute: if Ctrl-C interrupts the search at the
        start of a level, the stored level can be one too low.
        """
        depth = 0
        while number != NO_PARENT:
            number, depth = self.library.parent(number), depth + 1
        return depth

    def _image(self) -> Image:
        image = Image()
        self.library.c.checkpoint_image(self.library.search, ctypes.byref(image))
        return image

    def _arrays(self, image: Image) -> Iterator[tuple[str, int | None, int, int]]:
        """Yields each array of the search, except the array of keys. Each has its name, its
        address, the size of an element in bytes, and its length.
        """
        yield "parents", image.parent, 1, image.states
        yield "heads", image.head, self.head_bytes, image.heads
        yield "tails", image.tail, self.tail_bytes, image.tails
        yield "runs", image.run, RUN, image.runs
        yield "offsets", image.offset, NUMBER, image.offsets
        yield "targets", image.target, NUMBER, image.edges
        yield "labels", image.label, self.library.source.label_bytes, image.edges

    def _waiting(self, image: Image) -> list[Bytes]:
        """Returns the states that are not yet expanded, if the search stores fingerprints.
        Otherwise returns an empty list, because these states can be computed from the exact keys
        that the search stores.
        """
        if not self.library.fingerprints:
            return []
        row = self.library.source.layout.state_bytes
        expanded, level = image.expanded - image.level, image.end - image.level
        now = _view(image.now, row * expanded, row * level)
        return [now, _view(image.next, 0, row * (image.states - image.end))]

    @property
    def head_bytes(self) -> int:
        return (self.library.source.layout.state_bytes + 1) // 2

    @property
    def tail_bytes(self) -> int:
        return self.library.source.layout.state_bytes // 2

    # ---- restoring

    def restore(
        self, kept: Checkpoint, *, edges: Callable[[], bool], pulse: Callable[[], None]
    ) -> None:
        """Restores the states, the level and the results from a checkpoint. The search must not
        have any state before.

        Calls `pulse` after each group of states or transitions. Calls `edges` for each file of the
        checkpoint, and restores the transitions of the file only if `edges` returns True.
        """
        c, search = self.library.c, self.library.search
        c.restore_room(search, kept.facts["states"])
        for segment in kept.segments:
            heads, tails = (padded(segment.part(name)) for name in ("heads", "tails"))
            head_count = len(heads) // self.head_bytes
            tail_count = len(tails) // self.tail_bytes if self.tail_bytes else 1
            c.restore_halves(search, heads.ctypes.data, head_count, tails.ctypes.data, tail_count)
        for segment in kept.segments:
            runs = segment.part("runs")
            c.restore_runs(search, runs.ctypes.data, len(runs) // RUN)
            self._restore_states(segment, pulse)
            if edges():
                self._restore_edges(segment, pulse)
        waiting = np.concatenate([segment.part("waiting") for segment in kept.segments])
        image = Image(**{name: kept.facts[name] for name in PLACE})
        c.restore_level(search, ctypes.byref(image), waiting.ctypes.data)
        self.library.check_memory()
        self._restore_results(kept.facts["found"])

    def _restore_states(self, segment: Segment, pulse: Callable[[], None]) -> None:
        c, search = self.library.c, self.library.search
        keys, parents = segment.part("keys"), segment.part("parents")
        widths = Widths(*segment.facts.get("widths", ()))
        for first in range(0, len(parents), ROWS):
            some = parents[first : first + ROWS]
            start, size = first * widths.bytes, len(some) * widths.bytes
            rows = padded(keys[start : start + size])
            c.restore_states(
                search, rows.ctypes.data, some.ctypes.data, len(some), ctypes.byref(widths)
            )
            self.library.check_memory()
            pulse()

    def _restore_edges(self, segment: Segment, pulse: Callable[[], None]) -> None:
        c, search = self.library.c, self.library.search
        offsets, targets, labels = (segment.part(n) for n in ("offsets", "targets", "labels"))
        c.restore_edges(search, offsets.ctypes.data, len(offsets) // NUMBER, None, None, 0)
        row = self.library.source.label_bytes
        for first in range(0, len(labels) // row, ROWS):
            label = labels[first * row : (first + ROWS) * row]
            target = targets[first * NUMBER : (first + ROWS) * NUMBER]
            c.restore_edges(
                search, None, 0, target.ctypes.data, label.ctypes.data, len(label) // row
            )
            self.library.check_memory()
            pulse()

    # ---- results

    def _results(self) -> dict[str, Any]:
        """Returns the combined results of all threads, in the form of the results of one thread."""
        found = self.library.found
        out: dict[str, Any] = {name: _sum([getattr(one, name) for one in found]) for name in SUMS}
        out |= {name: _first([getattr(one, name) for one in found]) for name in FIRSTS}
        out["broken"] = [
            min(
                ((f.broken[k], bytes(f.broken_by[k]).hex()) for f in found if f.broken[k]),
                default=(0, ""),
            )
            for k in range(len(self.library.claims))
        ]
        return out

    def _restore_results(self, results: Mapping[str, Any]) -> None:
        found = self.library.found[0]
        for name in (*SUMS, *FIRSTS):
            _set(found, name, results[name])
        for number, (state, words) in enumerate(results["broken"]):
            found.broken[number] = state
            ctypes.memmove(found.broken_by[number], bytes.fromhex(words), len(words) // 2)
        self.library.close_broken()


def padded(array: Bytes) -> Bytes:
    """Returns a copy of the array in memory. The C code reads whole words, so some bytes after
    the end of the copy are readable, too.
    """
    return np.concatenate([array, np.zeros(SLACK, np.uint8)])[: len(array)]


def _view(address: int | None, start: int, end: int) -> Bytes:
    return view((address or 0) + start, max(0, end - start))  # dropped transitions have an end of 0


def _sum(values: Sequence[Any]) -> Any:
    if isinstance(values[0], int):
        return sum(values)
    return [sum(column) for column in zip(*values, strict=True)]


def _first(values: Sequence[Any]) -> Any:
    if isinstance(values[0], int):
        return min(filter(None, values), default=0)
    return [min(filter(None, column), default=0) for column in zip(*values, strict=True)]


def _set(found: Any, name: str, value: Any) -> None:
    if isinstance(value, int):
        setattr(found, name, value)
    else:
        getattr(found, name)[:] = value
