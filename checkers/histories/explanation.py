"""Returns the passes and stages of an analysis's query plan as data, without a history or Spark.

A plan makes its later stages from the results of earlier stages. So this module executes the plan
on two small built-in histories. The first history has no operation, and the second history has
every anomaly. Some stages only look closer at suspicious rows, and only the second history needs
these stages.

The analysis of another history may need fewer stages than the second history. Its passes may then
be numbered differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from checkers.histories import deciding
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel, columns_of
from checkers.histories.plan.scheduler import Pass
from checkers.histories.plan.shuffle import SHUFFLE_KEY
from checkers.histories.plan.stage import Source
from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.scenes import SCENES, scene


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    """A stage of a query plan.

    `used_by` has the anomalies that need the stage. If all anomalies need the stage, `used_by` is
    empty. `is_always` is True if every history needs the stage.
    """

    name: str
    reads: tuple[str, ...]
    keeps: tuple[str, ...]
    shuffled_by: tuple[str, ...]
    used_by: tuple[str, ...]
    is_always: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPass:
    """A pass over the dataset `source`. `into` has the names of the datasets that the pass
    writes by a shuffle.
    """

    source: str
    into: tuple[str, ...]
    stages: tuple[PlannedStage, ...]


_LAST: Final = Pass(Source.OPERATIONS, {deciding.rows_kernel(()): frozenset()})


def planned(chosen: Iterable[Anomaly], declared: Declarations) -> tuple[PlannedPass, ...]:
    chosen = tuple(chosen)
    everything = as_table(every_anomaly())
    always = Counter(
        name
        for one in _passes(everything.slice(0, 0), chosen, declared)
        for name in _by_name(one.used_by)
    )
    return tuple(
        PlannedPass(
            source=one.source.value,
            into=tuple(source.value for source in one.into),
            stages=tuple(_stages(one, chosen, always)),
        )
        for one in (*_passes(everything, chosen, declared), _LAST)
    )


def every_anomaly() -> History:
    operations: list[Operation] = []
    end_ns = 0
    for number, anomaly in enumerate(SCENES):
        later = [_moved(one, end_ns) for one in scene(anomaly, number)]
        end_ns = 1 + max(one.completed_ns or one.invoked_ns for one in later)
        operations += later
    # operations that never complete come last
    return tuple(sorted(operations, key=lambda one: one.completed_ns is None))


def _moved(operation: Operation, by_ns: int) -> Operation:
    def moved(at_ns: int | None) -> int | None:
        return None if at_ns is None else at_ns + by_ns

    return replace(
        operation,
        invoked_ns=operation.invoked_ns + by_ns,
        completed_ns=moved(operation.completed_ns),
        end_asked_ns=moved(operation.end_asked_ns),
    )


def _passes(table: pa.Table, chosen: Sequence[Anomaly], declared: Declarations) -> list[Pass]:
    passes: list[Pass] = []
    history = LocalDataset(partitions_of([TableRows(table)]))
    wanted, delivery = deciding.wanted_by(chosen, declared)
    deciding.decide(history, wanted, declared, delivery=delivery, observe=passes.append)
    return passes


def _stages(one: Pass, chosen: Sequence[Anomaly], always: Counter[str]) -> Iterator[PlannedStage]:
    for name, parts in _by_name(one.used_by).items():
        always[name] -= 1  # a plan may execute a stage again, for other rows
        keeps = dict.fromkeys(column for part in parts for column in part.schema.names)
        yield PlannedStage(
            name=name,
            reads=tuple(columns_of(parts)),
            keeps=tuple(column for column in keeps if column != SHUFFLE_KEY),
            shuffled_by=parts[0].shuffled_by,
            used_by=_users([one.used_by[part] for part in parts], chosen),
            is_always=always[name] >= 0,
        )


def _by_name(kernels: Iterable[Kernel]) -> dict[str, list[Kernel]]:
    # kernels with one name are parts of one stage
    named: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        named.setdefault(kernel.title, []).append(kernel)
    return named


def _users(of_parts: Sequence[Collection[str]], chosen: Sequence[Anomaly]) -> tuple[str, ...]:
    if not all(of_parts):
        return ()
    used = {name for names in of_parts for name in names}
    names = [one.id for one in chosen if not used.isdisjoint(one.made_of or (one.id,))]
    return tuple(names) + tuple(used & {deciding.DELIVERY})
