"""Defines query plans and their stages, and the requests that a plan sends to the scheduler.

A query plan is a generator that the scheduler executes. A stage is a step of the plan that needs
one pass over a source. A source is a dataset of the analysis (`Source`). A stage of a plan is not a
stage of Spark. The stage runs a kernel: a function from a batch of rows to a table. Kernels compare
fingerprints, which are 64-bit hashes, instead of texts.

Inside a plan, `yield from` with one of these functions returns a typed result:

    collect(stage)                  the results of the stage's kernel for the whole source, decoded
    in_parallel(plan, plan, ...)    the results of all these plans, which proceed independently
    on_behalf_of(names, plan)       the result of a plan that only the anomalies `names` need
    resolve_fingerprints(numbers)   a function from fingerprints to their texts

For example:

    def empty_keys() -> Plan[list[str]]:
        found = yield from collect(Stage(Source.RECORD_LOCATIONS, kernel, Batch))
        text_of = yield from resolve_fingerprints(found.ints("key"), column="key")
        return text_of(found.ints("key")).to_pylist()
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final, Generic, TypeVar, overload

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import NULL, Ints
from checkers.histories.columnar.sorting import distinct
from checkers.histories.plan.kernel import Kernel

AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")
FirstT = TypeVar("FirstT")
SecondT = TypeVar("SecondT")
ThirdT = TypeVar("ThirdT")
FourthT = TypeVar("FourthT")
FifthT = TypeVar("FifthT")
SixthT = TypeVar("SixthT")


class Source(Enum):
    """The datasets of the analysis. If stages of several datasets wait, the scheduler first reads
    the dataset that comes first in this enum.
    """

    OPERATIONS = "operations"
    """The history: whole operations in completion order, with the columns `COLUMNS`."""
    RECORD_LOCATIONS = "record locations"
    """Which records were sent or polled at which offset, shuffled by key and block of offsets."""
    SENDS = "sends"
    """Every send, shuffled by the fingerprint of its value."""


@dataclass(frozen=True, slots=True, init=False)
class Stage(Generic[AnswerT]):
    """A step of a query plan: a kernel (a function on rows), the dataset `source` on which it runs,
    and `decode`.

    The function `decode` converts the table of the results into the type that the plan needs. By
    default, the plan gets the table.
    """

    source: Source
    kernel: Kernel
    decode: Callable[[pa.Table], AnswerT]

    @overload
    def __init__(self: Stage[pa.Table], source: Source, kernel: Kernel) -> None: ...
    @overload
    def __init__(
        self, source: Source, kernel: Kernel, decode: Callable[[pa.Table], AnswerT]
    ) -> None: ...
    def __init__(
        self, source: Source, kernel: Kernel, decode: Callable[[pa.Table], Any] | None = None
    ) -> None:
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "decode", decode or _as_it_is)


def _as_it_is(table: pa.Table) -> pa.Table:
    return table


# ---------------------------------------------------------------- requests to the scheduler


@dataclass(slots=True, eq=False)
class Collect:
    """A query plan's request to run one of its stages. The scheduler stores the result in
    `table`.
    """

    source: Source
    kernel: Kernel
    table: pa.Table = field(init=False)


@dataclass(slots=True, eq=False)
class Resolve:
    """A query plan's request for the texts of 64-bit hashes. The scheduler stores the result in
    `texts`.
    """

    column: str
    fingerprints: Ints
    texts: Texts = field(init=False)


@dataclass(slots=True, eq=False)
class Branch(Generic[ResultT]):
    """A query plan that runs in parallel with other plans. The scheduler stores the plan's result
    in `result`.

    `used_by` has the anomalies that need this result. If `used_by` is empty, the result is needed
    by the same anomalies as the plan that started this one.
    """

    plan: Plan[ResultT]
    used_by: frozenset[str] = frozenset()
    result: ResultT = field(init=False)


@dataclass(frozen=True, slots=True, eq=False)
class Parallel:
    branches: tuple[Branch[Any], ...]


Request = Collect | Resolve | Parallel
Plan = Generator[Request, None, ResultT]


def collect(stage: Stage[AnswerT]) -> Plan[AnswerT]:
    """Runs the kernel of the stage on all partitions of its source; returns the decoded result."""
    request = Collect(stage.source, stage.kernel)
    yield request
    return stage.decode(request.table)


def collect_all(stages: Iterable[Stage[AnswerT]]) -> Plan[tuple[AnswerT, ...]]:
    return in_parallel(*map(collect, stages))


@overload
def in_parallel(a: Plan[FirstT], b: Plan[SecondT], /) -> Plan[tuple[FirstT, SecondT]]: ...
@overload
def in_parallel(
    a: Plan[FirstT], b: Plan[SecondT], c: Plan[ThirdT], /
) -> Plan[tuple[FirstT, SecondT, ThirdT]]: ...
@overload
def in_parallel(
    a: Plan[FirstT], b: Plan[SecondT], c: Plan[ThirdT], d: Plan[FourthT], /
) -> Plan[tuple[FirstT, SecondT, ThirdT, FourthT]]: ...
@overload
def in_parallel(
    a: Plan[FirstT], b: Plan[SecondT], c: Plan[ThirdT], d: Plan[FourthT], e: Plan[FifthT], /
) -> Plan[tuple[FirstT, SecondT, ThirdT, FourthT, FifthT]]: ...
@overload
def in_parallel(
    a: Plan[FirstT],
    b: Plan[SecondT],
    c: Plan[ThirdT],
    d: Plan[FourthT],
    e: Plan[FifthT],
    f: Plan[SixthT],
    /,
) -> Plan[tuple[FirstT, SecondT, ThirdT, FourthT, FifthT, SixthT]]: ...
@overload
def in_parallel(*plans: Plan[ResultT]) -> Plan[tuple[ResultT, ...]]: ...
def in_parallel(*plans: Plan[Any]) -> Plan[tuple[Any, ...]]:
    """Executes plans that do not wait for each other. Returns their results in the same order."""
    branches = tuple(Branch(plan) for plan in plans)
    yield Parallel(branches)
    return tuple(branch.result for branch in branches)


def on_behalf_of(names: Iterable[str], plan: Plan[ResultT]) -> Plan[ResultT]:
    """Executes a plan that only the anomalies `names` need, and returns its result.

    In the reports of the scheduler, `Pass.used_by` has these names for each kernel of the plan.
    """
    branch = Branch(plan, frozenset(names))
    yield Parallel((branch,))
    return branch.result


# ---------------------------------------------------------------- texts of fingerprints

TEXTS: Final = pa.schema([("fingerprint", pa.int64()), ("text", pa.string())])


class Texts:
    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @cached_property
    def _pairs(self) -> list[tuple[int, str]]:
        return sorted({*zip(*self._table.to_pydict().values(), strict=True)})

    @cached_property
    def _fingerprints(self) -> Ints:
        return np.array([number for number, _ in self._pairs], dtype=np.int64)

    @cached_property
    def _texts(self) -> pa.Array:
        return pa.array([*(text for _, text in self._pairs), None], pa.string())

    @property
    def collide(self) -> bool:
        return bool(np.any(self._fingerprints[1:] == self._fingerprints[:-1]))

    def of(self, fingerprints: Ints) -> pa.Array:
        """Returns the text of each fingerprint, or null if the text is unknown."""
        ascending = self._fingerprints
        at = np.searchsorted(ascending, fingerprints)
        found = at < len(ascending)
        found[found] = ascending[at[found]] == fingerprints[found]
        return self._texts.take(pa.array(np.where(found, at, len(ascending))))


def resolve_fingerprints(
    *fingerprints: Ints, column: str = "value"
) -> Plan[Callable[[Ints], pa.Array]]:
    """Returns a function that maps the fingerprints (64-bit hashes) of the column `column` to
    their texts.
    """
    some = distinct(np.concatenate(fingerprints)) if fingerprints else np.zeros(0, dtype=np.int64)
    some = some[some != NULL]
    if not len(some):
        return Texts(TEXTS.empty_table()).of
    request = Resolve(column, some)
    yield request
    return request.texts.of
