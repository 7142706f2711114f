"""Injects anomalies into a synthetic history, and computes exactly which violations they cause.

There are two ways to inject anomalies:

- *Scenes* are small example histories, one for each anomaly of the catalogue. A scene has its own
  key and processes. It starts at a random time, and is stretched in time: thousands of other
  operations lie between its own operations. An analysis of the scenes alone gives the expected
  violations.
- *Changes* modify correct operations on the keys of the synthetic history (`changes`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from benchmarks.analyze.changes import Changes
from benchmarks.analyze.cluster import FIRST_SCENE
from benchmarks.analyze.recorded import NULL, OPERATION, Operations
from checkers.histories.analysis import Analysis, analyze
from checkers.histories.columnar.rows import as_rows
from checkers.histories.io.operation_rows import KIND_OF, as_table
from checkers.histories.io.parquet_layout import FEW_TEXTS
from model.histories import History, Operation
from properties.anomalies import scenes
from properties.anomalies.catalogue import BY_ID

STRETCH: Final = (1e2, 2e8)  # least and greatest factor; a line of notation takes 10 ns
OF_ALL: Final = frozenset({"later", "component"})  # cells that depend on the history around a scene
NEVER_NS: Final = 2**63 - 1
Shown = dict[str, frozenset[Any]]  # the rows by anomaly id


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    window: int  # in which it begins
    scale: float
    operations: History


@dataclass(slots=True, kw_only=True)
class Injection:
    """The anomalies to inject into a synthetic history.

    A scene is a small example history that has one anomaly. The number `each` counts three things:
    the scenes of each anomaly, the changed sends, and the changed end offsets.
    """

    each: int = 0
    seed: int = 0
    anomalies: Collection[str] = tuple(BY_ID)
    _rng: np.random.Generator = field(init=False)
    _scenes: list[_Scene] = field(init=False)
    _codes: dict[str, dict[str, int]] = field(init=False)
    _windows: int = field(init=False)
    _window: int = 0
    _pending: list[Operation] = field(default_factory=list)
    _emitted: list[Operation] = field(default_factory=list)  # in the current window
    _numbered: dict[int, Operation] = field(default_factory=dict)
    _changed: int = 0
    _changes: list[Any] = field(default_factory=list)  # rows

    def begin(self, texts: dict[str, list[str]], windows: int) -> None:
        """Chooses a time window for each scene. A scene is a few operations with an injected
        anomaly.

        `texts` has, for each text column, the texts that it may contain. The texts of the scenes
        are added to it.
        """
        self._rng = np.random.default_rng([self.seed, 1])
        self._windows = windows
        scale = np.log(STRETCH)
        wanted = [
            name for name in scenes.SCENES if name in self.anomalies for _ in range(self.each)
        ]
        self._scenes = [
            _Scene(
                window=int(self._rng.integers(windows)),
                scale=STRETCH[0]
                if name in scenes.TIGHT
                else float(np.exp(self._rng.uniform(*scale))),
                operations=scenes.scene(name, number, FIRST_SCENE),
            )
            for number, name in enumerate(wanted)
        ]
        for operation in (operation for scene in self._scenes for operation in scene.operations):
            for name, word in _words(operation):
                if word not in texts[name]:
                    texts[name].append(word)
        self._codes = {n: {word: code for code, word in enumerate(texts[n])} for n in FEW_TEXTS}

    def due(self, began_ns: int, until_ns: int) -> Operations:
        """Begins the injected anomalies (scenes) of the next time window. Returns those operations
        of begun scenes that complete before `until_ns` and were not returned yet.
        """
        for scene in self._scenes:
            if scene.window == self._window:
                start = int(self._rng.integers(began_ns, until_ns))
                self._pending += [_moved(one, start, scene.scale) for one in scene.operations]
        self._window += 1
        return self._emit(until_ns)

    def left(self) -> Operations:
        return self._emit(NEVER_NS + 1)

    def _emit(self, until_ns: int) -> Operations:
        by_time = sorted(self._pending, key=_completion)
        self._emitted = [operation for operation in by_time if _completion(operation) < until_ns]
        self._pending = by_time[len(self._emitted) :]
        return _columns(self._emitted, self._codes)

    def alter(self, window: Operations, first_op: int) -> None:
        """Changes a few operations of this window, so that each violates a real-time rule. Each
        window gets its share of all changes.
        """
        places = np.flatnonzero(window.of_operation["process"] >= FIRST_SCENE)
        for place, operation in zip(places.tolist(), self._emitted, strict=True):
            self._numbered[first_op + place] = operation
        self._emitted = []
        due = self.each * self._window // self._windows - self._changed
        if due > 0:
            keys = list(self._codes["key"])
            self._changes += Changes(window, first_op).make(due, keys, self._rng)
            self._changed += due

    def expected(self) -> Shown:
        """Returns exactly the violations that an analysis must find, by anomaly."""
        some = (as_table([one], first_op=number) for number, one in sorted(self._numbered.items()))
        scenes = shown(analyze(pa.concat_tables(some)))
        return {
            name: rows | {row for row in self._changes if isinstance(row, BY_ID[name].row)}
            for name, rows in scenes.items()
        }


def shown(found: Analysis) -> Shown:
    return {
        one.anomaly.id: frozenset(as_rows(one.rows, one.anomaly.row)) for one in found.decisions
    }


def own_cells(row: Any) -> tuple[Any, ...]:
    """Returns some fields of a violation: those that depend only on the operations of the
    violation, and not on the rest of the history.
    """
    return tuple(getattr(row, cell.name) for cell in fields(row) if cell.name not in OF_ALL)


def _moved(operation: Operation, start_ns: int, scale: float) -> Operation:
    def moved(at_ns: int | None) -> int | None:
        return None if at_ns is None else start_ns + int(at_ns * scale)

    return replace(
        operation,
        invoked_ns=start_ns + int(operation.invoked_ns * scale),
        completed_ns=moved(operation.completed_ns),
        end_asked_ns=moved(operation.end_asked_ns),
    )


def _completion(operation: Operation) -> int:
    return NEVER_NS if operation.completed_ns is None else operation.completed_ns


def _words(operation: Operation) -> Iterator[tuple[str, str]]:
    for name in FEW_TEXTS:
        word = getattr(operation, name, None)
        if isinstance(word, str):
            yield name, word
    for micro in operation.did:
        yield "key", micro.key
        yield "kind", KIND_OF[type(micro)]


def _columns(some: list[Operation], codes: dict[str, dict[str, int]]) -> Operations:
    def code(name: str, cell: Any) -> int:
        number = codes[name][cell] if isinstance(cell, str) else cell
        return NULL if number is None else int(number)

    rows = [micro for operation in some for micro in operation.did or (None,)]
    values = [getattr(micro, "value", None) for micro in rows]
    texts = [value for value in values if value is not None]
    columns = {name: [code(name, getattr(one, name)) for one in some] for name in OPERATION}
    columns["kind"] = [code("kind", KIND_OF[type(m)] if m else "none") for m in rows]
    columns["key"] = [code("key", m.key if m else None) for m in rows]
    columns["offset"] = [code("offset", getattr(m, "offset", None)) for m in rows]
    numbers = iter(range(len(texts)))
    columns["value"] = [NULL if value is None else next(numbers) for value in values]
    return Operations.of(
        np.array([len(one.did) or 1 for one in some], dtype=np.int64),
        pa.array(texts, pa.string()),
        **{name: np.array(cells, dtype=np.int64) for name, cells in columns.items()},
    )
