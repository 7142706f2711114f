"""Breadth-first search in NumPy, without C: each action is evaluated on a whole batch of states.

This engine is an oracle for the compiled engine, and runs on machines without a C compiler. It is
the only engine with symmetry reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from checkers.explicit.ancestry import Ancestry
from checkers.explicit.columns import Array, Code, Columns, Value
from checkers.explicit.diagnose import diagnose_action, diagnose_claim, diagnose_init
from checkers.explicit.exploration import (
    Declined,
    Exploration,
    Step,
    Stop,
    Task,
    Trace,
    WhyStopped,
    WitnessResult,
    discoveries,
    until_stopped,
)
from checkers.explicit.keys import Numbering
from checkers.explicit.running import RunningSearch
from checkers.explicit.seen import Keys, Seen
from checkers.explicit.symmetry import permutations_of
from checkers.explicit.tables import Part, Rows, Table, Transition
from model.language.interpreter import Interpreter, State, Undefined
from model.language.spec import Claim
from model.language.symmetry import symmetric

BATCH = 1 << 17  # states at most; fewer if there are many operations
CACHED = 1 << 28  # bytes at most of cached results for one batch


def search(task: Task) -> Exploration:
    """Explores the states of a spec in NumPy.

    Raises Declined if the task has a memory limit or wants coverage.
    """
    if task.memory is not None:
        raise Declined("it cannot move states to disk")
    if task.coverage:
        raise Declined("it cannot count the conjuncts that disable actions")
    return Search(task).run()


@dataclass
class Found:
    label: int
    rows: Rows
    written: dict[int, Any]
    keys: Keys


@dataclass
class Search(RunningSearch):
    generated: int = 0
    open: dict[str, Value] = field(default_factory=dict)  # claim -> violated, undefined
    open_steps: dict[str, list[Value]] = field(default_factory=dict)
    violations: dict[str, tuple[int, int | None]] = field(default_factory=dict)  # node, transition
    deadlocks: int = 0
    deadlock: int = 0  # the first of them

    def __post_init__(self) -> None:
        super().__post_init__()
        self.columns = Columns(self.at)
        self.transitions = list(self._transitions())
        for claim in self.task.claims:
            if claim.about == "states":
                value, bad = self.columns.value(claim.formula, {})
                self.open[claim.name] = self.columns.negated(value), bad
            else:
                self.open_steps[claim.name] = [
                    self.columns.value(claim.formula, {}, x.after) for x in self.transitions
                ]
        self.watched = {w.name: self.columns.value(w.formula, {}) for w in self.task.spec.witnesses}
        cached = CACHED // max(1, len(self.columns.ops))
        self.batch = min(BATCH, 1 << max(12, cached.bit_length() - 1))
        self.witnessed: dict[str, tuple[int, int]] = {}  # the number of states, and the first
        self.taken = [0] * len(self.transitions)
        self.seen = Seen()
        self.symmetric = symmetric(self.task.spec) if self.task.symmetry else ()
        self.numbering = Numbering(self.at, permutations_of(self.at, self.symmetric))
        self.ancestry = Ancestry()
        self.starts: list[State] = []

    def _transitions(self) -> Iterator[Transition]:
        for action in self.task.spec.actions:
            for raw in product(*(range(self.at.size(p.sort)) for p in action.params)):
                made = Transition.of(self.columns, action, raw)
                if made is not None:
                    yield made

    # ---- the search

    def run(self) -> Exploration:
        return self._found(until_stopped(self._search))

    def _search(self) -> None:
        rows, keys = self._initial()
        first = 0  # the number of the frontier's first state
        while len(rows):
            self.depth += 1
            self._judge(rows, first)
            self._stop_if_decided()
            found = []
            for start in range(0, len(rows), self.batch):
                queue = len(rows) - start
                self.report(distinct=self.seen.count, generated=self.generated, queue=queue)
                end = start + self.batch
                found.append(self._expand(rows[start:end], keys[start:end], first + start))
            self._stop_if_decided()
            first += len(rows)
            rows = np.concatenate([rows for rows, _ in found])
            keys = np.concatenate([keys for _, keys in found])

    def _initial(self) -> tuple[Array, Keys]:
        try:
            self.starts = Interpreter(self.at.ranges).initial(self.task.spec)
        except Undefined as fault:
            raise self.undefined(diagnose_init(self.at), ()) from fault
        rows = np.array([list(self.at.pack(s)) for s in self.starts], dtype=np.uint8)
        rows = rows.reshape(len(self.starts), len(self.at.cells))
        keys = self.numbering.keys(rows)
        self.generated = len(rows)
        new = self.seen.add(self.numbering.canonical(keys))
        self.starts = [self.starts[k] for k in new]
        rows, keys = rows[new], keys[new]
        self.ancestry.begin(len(rows))
        return rows, keys

    def _judge(self, rows: Array, first: int) -> None:
        for start in range(0, len(rows), self.batch):
            table = Table(rows[start : start + self.batch], self.columns.ops)
            for name, (value, bad) in [*self.open.items(), *self.watched.items()]:
                if table.some(bad):
                    row = start + int(table.where(bad)[0])
                    claims = (*self.task.claims, *self.task.spec.witnesses)
                    fault = diagnose_claim(self.at, claims, rows[row].tobytes())
                    raise self.undefined(fault, self._trace(first + row))
                if name in self.watched:
                    seen = table.where(value)
                    if len(seen):
                        times, state = self.witnessed.get(name, (0, first + start + int(seen[0])))
                        self.witnessed[name] = times + len(seen), state
                elif table.some(value):
                    row = int(table.where(value)[0])
                    self.violations[name] = first + start + row, None
                    del self.open[name]

    def _expand(self, rows: Array, keys: Keys, first: int) -> tuple[Array, Keys]:
        table = Table(rows, self.columns.ops)
        found = [
            x
            for k in range(len(self.transitions))
            if (x := self._taken(k, table, rows, keys, first))
        ]
        alive = np.zeros(len(rows), dtype=np.bool_)
        for x in found:
            alive[x.rows] = True
        dead = np.flatnonzero(~alive)
        if len(dead):
            self.deadlock = first + int(dead[0]) if not self.deadlocks else self.deadlock
            self.deadlocks += len(dead)
        if not found:
            return rows[:0], keys[:0]
        ends = np.cumsum([len(x.rows) for x in found])
        reached = np.concatenate([x.keys for x in found])
        self.generated += len(reached)
        new = self.seen.add(self.numbering.canonical(reached))
        parents = np.concatenate([x.rows for x in found])[new]
        made = rows.take(parents, axis=0)
        cuts = np.searchsorted(new, ends)
        labels = np.empty(len(new), dtype=np.int32)
        begin = start = 0
        for x, cut, end in zip(found, cuts, ends, strict=True):
            labels[start:cut] = x.label
            those = new[start:cut] - begin
            for cell, value in x.written.items():
                made[start:cut, cell] = value.take(those) if value.ndim else value
            begin, start = end, cut
        self.ancestry.add((parents + first).astype(np.int32), labels)
        return made, reached[new]

    def _taken(self, label: int, table: Table, rows: Array, keys: Keys, first: int) -> Found | None:
        transition = self.transitions[label]
        enabled: Code = 1
        for enabled, bad in transition.guard:
            if table.some(bad):
                raise self._undefined_action(rows, int(table.where(bad)[0]), first)
            if not table.some(enabled):
                return None
        part = Part(table, table.where(enabled))
        if part.some(transition.undefined):
            wrong = np.broadcast_to(part.of(transition.undefined), part.rows.shape)
            raise self._undefined_action(rows, int(part.rows[np.flatnonzero(wrong)[0]]), first)
        self.taken[label] += len(part.rows)
        written = {cell: part.of(code) for cell, code in transition.after.items()}
        reached = keys.take(part.rows, axis=0)
        for cell, value in written.items():
            old = part.value(self.columns.column(cell))
            reached += self.numbering.change(cell, old, value)
        if self.open_steps:
            changed = reached[:, 0] != keys[:, 0].take(part.rows)
            self._judge_steps(label, part, changed, first, rows, written)
        return Found(label, part.rows, written, reached)

    def _judge_steps(
        self,
        label: int,
        part: Part,
        changed: Array,
        first: int,
        rows: Array,
        written: dict[int, Any],
    ) -> None:
        for name, values in list(self.open_steps.items()):
            value, bad = values[label]
            wrong = np.flatnonzero(changed & np.asarray(part.of(bad), dtype=np.bool_))
            if len(wrong):
                after = rows[part.rows[wrong[0]]].copy()
                for cell, new in written.items():
                    after[cell] = new[wrong[0]] if new.ndim else new
                before = rows[part.rows[wrong[0]]].tobytes()
                fault = diagnose_claim(self.at, self.task.claims, before, after.tobytes())
                raise self.undefined(fault, self._trace(first + int(part.rows[wrong[0]])))
            broken = np.flatnonzero(changed & ~np.asarray(part.of(value), dtype=np.bool_))
            if len(broken):
                self.violations[name] = first + int(part.rows[broken[0]]), label
                del self.open_steps[name]

    def _stop_if_decided(self) -> None:
        if self.task.claims and not self.open and not self.open_steps:
            raise Stop("all decided")

    # ---- undefined terms

    def _undefined_action(self, rows: Array, row: int, first: int) -> Stop:
        fault = diagnose_action(self.at, rows[row].tobytes())
        return self.undefined(fault, self._trace(first + row))

    # ---- what was found

    def _found(self, why: WhyStopped) -> Exploration:
        taken = {action.name: 0 for action in self.task.spec.actions}
        for x, times in zip(self.transitions, self.taken, strict=True):
            taken[x.action.name] += times
        traces = {name: self._trace(*found) for name, found in self.violations.items()}
        return Exploration(
            distinct=self.seen.count,
            generated=self.generated,
            depth=self.depth,
            seconds=self.seconds,
            why_stopped=why,
            discoveries=discoveries(self.task.claims, why, traces),
            witnesses={w.name: self._witness_result(w) for w in self.task.spec.witnesses},
            taken=taken,
            ranges=self.at.ranges,
            ill_defined=self.ill_defined,
            deadlocks=self.deadlocks,
            deadlock=self._trace(self.deadlock) if self.deadlocks else (),
            symmetric=self.symmetric,
            collision=self.numbering.collision(self.seen.count),
        )

    def _witness_result(self, witness: Claim) -> WitnessResult:
        times, first = self.witnessed.get(witness.name, (0, None))
        return WitnessResult(
            claim=witness, states=times, trace=() if first is None else self._trace(first)
        )

    def _trace(self, node: int, label: int | None = None) -> Trace:
        start, labels = self.ancestry.path_to(node)
        interpreter, state = Interpreter(self.at.ranges), self.starts[start]
        steps = [Step(action="init", values=(), state=state)]
        for taken in [*labels, *([] if label is None else [label])]:
            x = self.transitions[taken]
            after = interpreter.step(x.action, state, x.values)
            assert after is not None
            state = after
            steps.append(Step(action=x.action.name, values=x.values, state=state))
        return tuple(steps)
