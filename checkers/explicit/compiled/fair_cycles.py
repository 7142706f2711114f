"""Finds fair cycles in C, for state graphs of many million states.

The results are equal to the results of `checkers.explicit.fairness`, which is the oracle of this
module.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.compiler import library
from checkers.explicit import compiled
from checkers.explicit.lassos import Mask
from model.language.temporal import Fairness

Numbers = NDArray[np.uint32]
Labels = NDArray[Any]  # unsigned integers of 1, 2 or 4 bytes

SOURCE = "fair_cycles.c"
NONE = 0xFFFF_FFFF  # no node, no transition
QUOTA = 1_000_000
WEAK, STRONG = 1, 2  # the fairness of a label, as in the C code
KINDS: Mapping[Fairness | None, int] = {None: 0, "weak": WEAK, "strong": STRONG}
ARRAYS = 4 + 4 + 4 + 1  # bytes for each state: `low`, `stack`, `next`, `joined`
MASKS = 7  # bytes for each state: the masks of a verdict that exist at the same time

ADDRESS, WHOLE, NODE = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32
SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "fair_begin": (None, (ADDRESS,) * 5),
    "fair_search": (ctypes.c_int, (ADDRESS, WHOLE)),
    "fair_home": (None, (ADDRESS, NODE, ADDRESS, ADDRESS)),
    "fair_resting": (None, (ADDRESS,) * 2),
    "fair_path": (NODE, (ADDRESS,) * 4),
    "fair_enabled": (None, (ADDRESS,) * 3),
    "fair_walk": (NODE, (ADDRESS, NODE, ADDRESS, ADDRESS, WHOLE, ADDRESS, NODE)),
}


class _Graph(ctypes.Structure):
    # the struct of `fair_cycles.c`
    _fields_ = (
        ("nodes", WHOLE),
        ("levels", WHOLE),
        *((name, ADDRESS) for name in ("offsets", "targets", "labels", "fair", "level")),
        *((name, ADDRESS) for name in ("low", "stack", "next", "joined")),
        *((name, ADDRESS) for name in ("enabled", "taken", "touched")),
        *((name, ADDRESS) for name in ("within", "through", "good", "left", "home")),
        *((name, WHOLE) for name in ("root", "path", "open", "last", "more")),
    )


@cache
def _compiled(label_bytes: int) -> ctypes.CDLL:
    text = files(compiled).joinpath(SOURCE).read_text(encoding="utf-8")
    c = library({SOURCE: text}, SOURCE, [f"-DLABEL=uint{8 * label_bytes}_t"])
    for name, (returns, takes) in SIGNATURES.items():
        function = getattr(c, name)
        function.restype, function.argtypes = returns, takes
    return c


@dataclass(frozen=True, kw_only=True)
class FairCycles:
    """A state graph as arrays, with searches for the states in which a fair behaviour can stay
    forever.

    The transitions that leave state v have the numbers from `offsets[v]` up to
    `offsets[v + 1] - 1`. The label of a transition is the number of an action with values of its
    parameters.

    - `kinds` has the fairness of each label: weak, strong or none.
    - `levels` has the first state of each breadth-first level, and at its end the number of states.
    - `parent` returns the state from which the search first reached a state, or -1 for an initial
      state.
    - `empty` allocates an array of a length and a type. It is called for the arrays of the search
      that have a number for each state.
    - `pulse` is called after every `quota` visited states of a search. It may raise an exception to
      end the search.
    """

    offsets: Numbers
    targets: Numbers
    labels: Labels
    kinds: NDArray[np.uint8]
    levels: Numbers
    parent: Callable[[int], int]
    empty: Callable[[int, type[Any]], NDArray[Any]] = np.empty
    pulse: Callable[[], object] = int
    quota: int = QUOTA

    # ---- sets

    def resting(self) -> Mask:
        """Returns a mask of the states in which no fair action leads to another state. A
        behaviour can stutter forever in such a state.
        """
        resting = self._mask()
        self._c.fair_resting(self._at, _of(resting))
        return resting

    def fair(self, within: Mask, through: Mask) -> Mask:
        """Returns a mask of the states that some fair behaviour visits infinitely often.

        From some state on, the behaviour must stay in the states of `within`. It must visit states
        of `through` infinitely often.
        """
        good = self._mask()
        left = within
        while True:
            again = self._mask()
            self._c.fair_begin(self._at, _of(left), _of(through), _of(good), _of(again))
            while self._c.fair_search(self._at, self.quota):
                self.pulse()
            if not self._graph.more:
                return good
            left = again

    # ---- paths, as lists of transitions

    def ends_of(self, edge: int) -> tuple[int, int]:
        source = int(np.searchsorted(self.offsets, np.uint32(edge), side="right")) - 1
        return source, int(self.targets[edge])

    def path(self, begun: Mask, within: Mask, ends: Mask) -> list[int] | None:
        """Returns the transitions of a shortest path through the graph, or None if there is no
        path.

        The path leads from an initial state to a state of `begun`, and from there through states of
        `within` to a state of `ends`. The path is empty if an initial state is in `begun`, `within`
        and `ends`.
        """
        node: int = self._c.fair_path(self._at, _of(begun), _of(within), _of(ends))
        if node == NONE:
            return None
        way = self._back(node)
        start = self.ends_of(way[0])[0] if way else node
        return [*self._path_to(start), *way]

    def cycle(self, start: int, fair: Mask, through: Mask) -> list[int]:
        """Returns the transitions of a fair cycle that contains `start` and a state of `through`.

        `fair` is the result of the method `fair`: a union of sets of states in which a fair
        behaviour can stay forever. The cycle stays in one of these sets.
        """
        inside = self._mask()
        self._c.fair_home(self._at, start, _of(fair), _of(inside))
        enabled = np.zeros(len(self.kinds), np.uint8)
        self._c.fair_enabled(self._at, _of(inside), _of(enabled))
        wanted = np.where((self.kinds == STRONG) & (enabled == 0), 0, self.kinds).astype(np.uint8)
        missing = not through[start]
        self._close_idle(wanted, start)
        walk: list[int] = []
        at = start
        while wanted.any() or missing:
            walk += self._walk(at, inside, wanted, through if missing else None)
            at = int(self.targets[walk[-1]])
            wanted[self.labels[walk[-1]]] = 0
            self._close_idle(wanted, at)
            missing = missing and not through[at]
        return walk if at == start else [*walk, *self._walk(at, inside, wanted, None, start)]

    def _close_idle(self, wanted: NDArray[np.uint8], node: int) -> None:
        """Notes that a fair cycle through the state `node` needs no transition of the weakly fair
        labels that are disabled there. A label is an action with values of its parameters.

        `wanted` has an element for each label. It is not 0 as long as the cycle under construction
        still needs a transition with the label.
        """
        leaving = self.labels[int(self.offsets[node]) : int(self.offsets[node + 1])]
        kept = wanted == STRONG
        kept[leaving] = True
        wanted[~kept] = 0

    def _walk(
        self,
        start: int,
        inside: Mask,
        wanted: NDArray[np.uint8],
        ends: Mask | None,
        end: int = NONE,
    ) -> list[int]:
        weak = int((wanted == WEAK).sum())
        through = None if ends is None else _of(ends)
        edge: int = self._c.fair_walk(self._at, start, _of(inside), _of(wanted), weak, through, end)
        if edge == NONE:
            raise LookupError(f"no path from node {start}")
        return [*self._back(self.ends_of(edge)[0]), edge]

    def _back(self, node: int) -> list[int]:
        came: Numbers = self._arrays["low"]
        way: list[int] = []
        while (edge := int(came[node])) != NONE:
            way.append(edge)
            node = self.ends_of(edge)[0]
        return way[::-1]

    def _path_to(self, node: int) -> list[int]:
        way: list[int] = []
        while (parent := self.parent(node)) >= 0:
            first = int(self.offsets[parent])
            targets = self.targets[first : int(self.offsets[parent + 1])]
            way.append(first + int(np.flatnonzero(targets == node)[0]))
            node = parent
        return way[::-1]

    # ---- the C code

    def _mask(self) -> Mask:
        return np.zeros(len(self.offsets) - 1, dtype=bool)

    @cached_property
    def _arrays(self) -> Mapping[str, NDArray[Any]]:
        nodes, labels = len(self.offsets) - 1, len(self.kinds)
        whole, byte = np.uint32, np.uint8
        space = {"low": whole, "stack": whole, "next": whole, "joined": byte}
        counts = {"enabled": whole, "taken": byte, "touched": whole}
        return {
            "offsets": self.offsets,
            "targets": self.targets,
            "labels": self.labels,
            "fair": self.kinds,
            "level": self.levels,
            **{name: self.empty(nodes, kind) for name, kind in space.items()},
            **{name: np.zeros(labels, kind) for name, kind in counts.items()},
        }

    @cached_property
    def _graph(self) -> _Graph:
        addresses = {name: _of(array) for name, array in self._arrays.items()}
        return _Graph(nodes=len(self.offsets) - 1, levels=len(self.levels) - 1, **addresses)

    @property
    def _at(self) -> int:
        return ctypes.addressof(self._graph)

    @cached_property
    def _c(self) -> ctypes.CDLL:
        return _compiled(self.labels.itemsize)


def _of(array: NDArray[Any]) -> int:
    return array.ctypes.data


__all__ = ["FairCycles"]
