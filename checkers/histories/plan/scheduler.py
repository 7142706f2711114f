"""Executes a query plan in as few passes over its sources as possible.

A plan consists of stages, and may contain other plans that run in parallel. A single pass over a
source executes the waiting stages of all plans. So the number of passes is the length of the
longest chain of stages, not the number of plans. If stages wait for several sources, the next pass
reads the source that comes first in the enum `Source`. The texts of fingerprints (hashes) are
looked up when no stage waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar, cast

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.sorting import distinct, member
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.kernel import Kernel, columns_of
from checkers.histories.plan.stage import (
    TEXTS,
    Branch,
    Collect,
    Parallel,
    Plan,
    Request,
    Resolve,
    Source,
    Texts,
)

ResultT = TypeVar("ResultT")
RESOLVED_AT_ONCE: Final = ("key", "group", "transactional_id")  # columns with few distinct texts


@dataclass(frozen=True, slots=True)
class HashCollision:
    """The result of a plan if two different texts have the same hash.

    The caller must run the plan with another hash seed.
    """

    column: str


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over the dataset `source`, and the kernels (functions on rows) that it executes.

    `used_by` maps each kernel to the anomalies that need the kernel's table. An empty set means
    that all anomalies need the table. `into` has the datasets that the pass writes by a shuffle.
    """

    source: Source
    used_by: Mapping[Kernel, frozenset[str]]
    into: tuple[Source, ...] = ()


def unobserved(one: Pass) -> None:
    del one


def run(
    plan: Plan[ResultT],
    sources: Mapping[Source, Callable[[], Dataset]],
    observe: Callable[[Pass], None] = unobserved,
) -> ResultT | HashCollision:
    """Returns the plan's result, or a HashCollision if two different texts have the same hash.

    A function in `sources` is called when the plan first needs the function's source.
    """
    results: list[ResultT] = []
    requests = _Requests()
    datasets: dict[Source, Dataset] = {}
    _Execution(plan, results.append, requests).advance()
    while requests.waiting:
        source = next((one for one in sources if requests.wait_for(one)), None)
        ready = requests.take(source)
        waiting: dict[Kernel, list[_Waiting]] = {}
        for one, kernel in _resolving(ready) if source is None else _collecting(ready):
            waiting.setdefault(kernel, []).append(one)
        read = source or Source.OPERATIONS
        if read not in datasets:
            datasets[read] = sources[read]()
        extra = _texts_to_collect(waiting, requests.texts) if source is Source.OPERATIONS else {}
        used = {kernel: _union(one.used_by for one in some) for kernel, some in waiting.items()}
        observe(Pass(read, {**used, **dict.fromkeys(extra.values(), _union(used.values()))}))
        tables = datasets[read].collect([*waiting, *extra.values()])
        requests.keep_texts(extra, tables[len(waiting) :])
        for (kernel, some), table in zip(waiting.items(), tables, strict=False):
            if source is None:
                requests.keep_texts(kernel.columns, [table])
            for one in some:
                requests.answer(one, table)
        if requests.collision:
            return requests.collision
    return results[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    request: Collect | Resolve
    proceed: Callable[[], None]
    used_by: frozenset[str]

    @property
    def source(self) -> Source | None:
        return self.request.source if isinstance(self.request, Collect) else None


@dataclass(slots=True, eq=False)
class _Requests:
    waiting: list[_Waiting] = field(default_factory=list["_Waiting"])
    # of columns with few distinct texts, such as `key`; they are read only once
    texts: dict[str, Texts] = field(default_factory=dict[str, Texts])
    collision: HashCollision | None = None

    def add(
        self, request: Collect | Resolve, proceed: Callable[[], None], used_by: frozenset[str]
    ) -> None:
        if isinstance(request, Resolve) and request.column in self.texts:
            self._resolve(request, self.texts[request.column], proceed)
        else:
            self.waiting.append(_Waiting(request, proceed, used_by))

    def answer(self, one: _Waiting, table: pa.Table) -> None:
        if isinstance(one.request, Resolve):
            texts = self.texts.get(one.request.column) or Texts(table)
            self._resolve(one.request, texts, one.proceed)
        elif self.collision is None:
            one.request.table = table
            one.proceed()

    def _resolve(self, request: Resolve, texts: Texts, proceed: Callable[[], None]) -> None:
        if texts.collide:
            self.collision = HashCollision(request.column)
        if self.collision is None:
            request.texts = texts
            proceed()

    def wait_for(self, source: Source) -> bool:
        return any(one.source is source for one in self.waiting)

    def take(self, source: Source | None) -> list[_Waiting]:
        """Removes and returns the waiting requests for a pass over `source`.

        If `source` is None, these are the requests that read no dataset: they look up the text that
        a hash stands for.
        """
        ready = [one for one in self.waiting if one.source is source]
        self.waiting = [one for one in self.waiting if one.source is not source]
        return ready

    def keep_texts(self, columns: Iterable[str], tables: Iterable[pa.Table]) -> None:
        for column, table in zip(columns, tables, strict=True):
            if column in RESOLVED_AT_ONCE:
                self.texts[column] = Texts(table)


@dataclass(slots=True, eq=False)
class _Execution:
    plan: Plan[Any]
    finish: Callable[[Any], None]
    requests: _Requests
    used_by: frozenset[str] = frozenset()

    def advance(self) -> None:
        try:
            request = next(self.plan)
        except StopIteration as stop:
            self.finish(stop.value)
            return
        self._serve(request)

    def _serve(self, request: Request) -> None:
        if not isinstance(request, Parallel):
            self.requests.add(request, self.advance, self.used_by)
            return
        missing = len(request.branches)
        if not missing:
            self.advance()

        def finish(branch: Branch[Any], result: Any) -> None:
            nonlocal missing
            branch.result = result
            missing -= 1
            if not missing:
                self.advance()

        for branch in request.branches:
            used_by = branch.used_by or self.used_by
            _Execution(branch.plan, partial(finish, branch), self.requests, used_by).advance()


def _union(some: Iterable[frozenset[str]]) -> frozenset[str]:
    each = [*some]
    return frozenset().union(*each) if all(each) else frozenset()  # empty: every anomaly


# ---------------------------------------------------------------- kernels of requests


def _collecting(ready: Iterable[_Waiting]) -> Iterator[tuple[_Waiting, Kernel]]:
    return ((one, cast("Collect", one.request).kernel) for one in ready)


def _resolving(ready: Iterable[_Waiting]) -> Iterator[tuple[_Waiting, Kernel]]:
    columns: dict[str, list[tuple[_Waiting, Ints]]] = {}
    for one in ready:
        request = cast("Resolve", one.request)
        columns.setdefault(request.column, []).append((one, request.fingerprints))
    for column, some in columns.items():
        wanted = None
        if column not in RESOLVED_AT_ONCE:
            wanted = distinct(np.concatenate([numbers for _, numbers in some]))
        kernel = _texts_kernel(column, wanted)
        yield from ((one, kernel) for one, _ in some)


def _texts_to_collect(kernels: Iterable[Kernel], present: Collection[str]) -> dict[str, Kernel]:
    read = (
        name for name in columns_of(kernels) if name in RESOLVED_AT_ONCE and name not in present
    )
    return {name: _texts_kernel(name, None) for name in read}


def _texts_kernel(column: str, wanted: Ints | None) -> Kernel:
    kernel = partial(_texts, wanted=wanted, column=column)
    return Kernel(f"resolving fingerprints of {column}s", (column,), TEXTS, kernel)


def _texts(batch: Batch, wanted: Ints | None, column: str) -> pa.Table:
    if wanted is None:
        _, texts = batch.codes(column)
        numbers = fingerprints(texts, batch.hash_seed)
        return pa.table({"fingerprint": numbers, "text": texts}, TEXTS)
    of_row = batch.fingerprints(column)
    rows = np.flatnonzero(member(of_row, wanted))
    if not len(rows):
        return TEXTS.empty_table()
    numbers, texts = of_row[rows], batch.table[column].take(pa.array(rows)).cast(pa.string())
    found = pa.table({"fingerprint": numbers, "text": texts}, schema=TEXTS)
    return found.group_by(["fingerprint", "text"], use_threads=False).aggregate([])
