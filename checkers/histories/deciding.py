"""Finds the anomalies of a history with one query plan, in this process or on Spark.

The plan first checks the rows of the history, and its assumptions. If a row is invalid, or if an
assumption does not hold, the result has no anomalies. Some checkers of anomalies need a shuffle of
the history. If no checker needs a shuffle, the checkers run in the same passes over the history as
the first checks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies import assumptions, emptiness
from checkers.histories.anomalies.cycles import anti_dependencies, cycles
from checkers.histories.anomalies.delivery import deliveries
from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.groups import pipelines
from checkers.histories.anomalies.log import (
    duplicates,
    inconsistent_offsets,
    lost_writes,
    precommitted_reads,
    value_outcomes,
)
from checkers.histories.anomalies.order import process_order
from checkers.histories.anomalies.real_time import linearizable_offsets
from checkers.histories.anomalies.transactions import transactions
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import member
from checkers.histories.facts.record_locations import shuffle_kernels
from checkers.histories.facts.retention import find_log_starts
from checkers.histories.facts.unconfirmed_values import NO_UNCONFIRMED_VALUES, find_unconfirmed
from checkers.histories.io import row_rules
from checkers.histories.io.operation_rows import SCHEMA
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.dataset import Dataset, HistoryDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.scheduler import HashCollision, Pass, run, unobserved
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    on_behalf_of,
)
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.catalogue import named
from properties.anomalies.declarations import Declarations
from properties.delivery import Delivery

CHECKERS: Final[tuple[AnomalyChecker, ...]] = (
    *emptiness.CHECKERS,
    *linearizable_offsets.CHECKERS,
    *inconsistent_offsets.CHECKERS,
    *duplicates.CHECKERS,
    *lost_writes.CHECKERS,
    *value_outcomes.CHECKERS,
    *precommitted_reads.CHECKERS,
    *process_order.CHECKERS,
    *transactions.CHECKERS,
    *pipelines.CHECKERS,
    *cycles.CHECKERS,
    *anti_dependencies.CHECKERS,
)
DECIDED: Final = frozenset(name for checker in CHECKERS for name in checker.ids)
_ASSUMPTIONS: Final[dict[str, Callable[[], Plan[Finding]]]] = {
    "whole-operations": assumptions.whole_operations,
    "time-goes-forward": assumptions.time_goes_forward,
    "one-open-operation": assumptions.one_open_operation,
    "values-are-unique": assumptions.values_are_unique,
}
DELIVERY: Final = "delivery semantics"  # decided beside the anomalies
ROWS_PER_SHUFFLE_PARTITION: Final = 1_000_000
_TOTALS: Final = pa.schema(
    [("operations", pa.int64()), ("micro_operations", pa.int64()), ("started_ns", pa.int64())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    operations: int
    micro_operations: int
    started_ns: int  # 0 for an empty history

    @classmethod
    def of(cls, counts: pa.Table) -> Totals:
        columns = counts.to_pydict()
        return cls(
            operations=sum(columns["operations"]),
            micro_operations=sum(columns["micro_operations"]),
            started_ns=min(columns["started_ns"], default=0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The result of the query plan: the broken assumptions of a history, or else its anomalies.

    If an assumption is broken, or if a row is invalid, no anomaly was searched for, and `anomalies`
    is empty.
    """

    totals: Totals
    invalid: pa.Table  # the broken rules of the columns, with the schema `row_rules.ODD`
    broken: tuple[Finding, ...]
    anomalies: dict[str, Finding]
    delivered: tuple[Delivery, ...] = ()  # of each application, if delivery was requested


def wanted_by(chosen: Collection[Anomaly], declared: Declarations) -> tuple[frozenset[str], bool]:
    """Returns the ids of the anomalies to check, and True if delivery semantics must be decided.

    An anomaly that is a combination of other anomalies is replaced by these anomalies. Delivery
    semantics are decided only if all anomalies are chosen.
    """
    every = {one.id for one in chosen} >= {one.id for one in named((), declared)}
    return frozenset(name for one in chosen for name in one.made_of or (one.id,)), every


def cached(
    history: HistoryDataset, wanted: Collection[str], *, delivery: bool = False
) -> AbstractContextManager[HistoryDataset]:
    """Returns the history with a cache for its columns.

    Columns are stored on disk only if the query plan needs a shuffle of the history.
    """
    return history.cached(on_disk=_needs_shuffle(_checkers_for({*wanted}), delivery=delivery))


def decide(
    history: HistoryDataset,
    wanted: Collection[str],
    declared: Declarations,
    shuffle_partitions: int | None = None,
    *,
    delivery: bool = False,
    observe: Callable[[Pass], None] = unobserved,
) -> Decided:
    """Returns the findings for the anomalies in `wanted`, or the broken assumptions with their
    violations.

    If `shuffle_partitions` is None, the number of shuffle partitions depends on the number of rows.
    `observe` is called with each pass over the data.
    """
    checkers = _checkers_for({*wanted})
    partitions = shuffle_partitions or 1 + history.rows // ROWS_PER_SHUFFLE_PARTITION
    for hash_seed in count():
        with ExitStack() as stack:
            plan = _decide(checkers, wanted, declared, delivery=delivery)
            seeded = history.with_hash_seed(hash_seed)
            decided = run(plan, _sources(seeded, declared, partitions, stack, observe), observe)
        # If two texts have the same fingerprint, the plan runs again with another hash seed.
        if not isinstance(decided, HashCollision):
            return decided
    raise AssertionError


def _sources(
    history: HistoryDataset,
    declared: Declarations,
    partitions: int,
    stack: ExitStack,
    observe: Callable[[Pass], None],
) -> Mapping[Source, Callable[[], Dataset]]:
    @cache
    def shuffled() -> Mapping[Source, Dataset]:
        kernels = shuffle_kernels(declared)
        every = dict.fromkeys(kernels.values(), frozenset[str]())
        observe(Pass(Source.OPERATIONS, every, into=tuple(kernels)))
        return stack.enter_context(history.shuffle(kernels, partitions))

    return {
        Source.OPERATIONS: lambda: history,
        Source.RECORD_LOCATIONS: lambda: shuffled()[Source.RECORD_LOCATIONS],
        Source.SENDS: lambda: shuffled()[Source.SENDS],
    }


def _decide(
    checkers: Collection[AnomalyChecker],
    wanted: Collection[str],
    declared: Declarations,
    *,
    delivery: bool,
) -> Plan[Decided]:
    columns = {name for checker in checkers for name in checker.columns}
    assumed = {name for checker in checkers for name in checker.assumes}
    shuffles = _needs_shuffle(checkers, delivery=delivery)
    without = Context(declared=declared, unconfirmed=NO_UNCONFIRMED_VALUES)
    # the kernel that finds invalid rows is a guard, so it comes first
    invalid, assumption_findings, totals, context, early = yield from in_parallel(
        collect(invalid_rows(tuple(name for name in SCHEMA.names if name in columns))),
        in_parallel(*(make() for name, make in _ASSUMPTIONS.items() if name in assumed)),
        collect(count_totals()),
        _shared_context(without, shuffles=shuffles),
        in_parallel(*(_of(checker, without, wanted) for checker in checkers if not shuffles)),
    )
    broken = tuple(one for one in assumption_findings if one.rows.num_rows)
    nothing = Decided(totals=totals, invalid=invalid, broken=broken, anomalies={})
    if broken or invalid.num_rows:
        return nothing
    late, delivered = yield from in_parallel(
        in_parallel(*(_of(checker, context, wanted) for checker in checkers if shuffles)),
        _deliveries(context, wanted=delivery),
    )
    found = [one for findings in (*early, *late) for one in findings if one.id in wanted]
    return Decided(
        totals=totals,
        invalid=invalid,
        broken=(),
        anomalies={one.id: one for one in found},
        delivered=delivered,
    )


def _of(
    checker: AnomalyChecker, context: Context, wanted: Collection[str]
) -> Plan[tuple[Finding, ...]]:
    return on_behalf_of({*checker.ids} & {*wanted}, checker.plan(context))


def _shared_context(without: Context, *, shuffles: bool) -> Plan[Context]:
    if not shuffles:
        return without
    unconfirmed, log_starts = yield from in_parallel(
        find_unconfirmed(), find_log_starts(without.declared)
    )
    return Context(declared=without.declared, unconfirmed=unconfirmed, log_starts=log_starts)


def _deliveries(context: Context, *, wanted: bool) -> Plan[tuple[Delivery, ...]]:
    if not wanted:
        return ()
    return (yield from on_behalf_of((DELIVERY,), deliveries.deliveries(context)))


def _needs_shuffle(checkers: Iterable[AnomalyChecker], *, delivery: bool) -> bool:
    return delivery or any(checker.needs_shuffle for checker in checkers)


def _checkers_for(wanted: set[str]) -> list[AnomalyChecker]:
    chosen: list[AnomalyChecker] = []
    for checker in CHECKERS:
        while checker.cheaper is not None and wanted.intersection(checker.ids) <= {
            *checker.cheaper.ids
        }:
            checker = checker.cheaper
        if wanted.intersection(checker.ids):
            chosen.append(checker)
    return chosen


# ---------------------------------------------------------------- the history itself


def invalid_rows(columns: tuple[str, ...]) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that checks all rows against the rules
    of `COLUMNS`.

    Only the columns in `columns` are checked. The result has one row for each broken rule, with an
    operation that breaks the rule.
    """
    title = "checking that rows are valid"
    kernel = Kernel(title, columns, row_rules.ODD, row_rules.odd_rows, is_guard=True)
    return Stage(Source.OPERATIONS, kernel)


def count_totals() -> Stage[Totals]:
    kernel = Kernel("counting operations", ("op", "kind", "invoked_ns"), _TOTALS, _count)
    return Stage(Source.OPERATIONS, kernel, Totals.of)


def _count(batch: Batch) -> pa.Table:
    if not len(batch):
        return _TOTALS.empty_table()
    columns = {
        "operations": [1 + int(np.count_nonzero(np.diff(batch.ints("op"))))],
        "micro_operations": [int(np.count_nonzero(~batch.is_in("kind", "none")))],
        "started_ns": [int(batch.ints("invoked_ns").min())],
    }
    return pa.table(columns, schema=_TOTALS)


def rows_of(history: HistoryDataset, ops: Collection[int]) -> pa.Table:
    (rows,) = history.collect([rows_kernel(ops)])
    return rows


def rows_kernel(ops: Collection[int]) -> Kernel:
    wanted = np.array(sorted(ops), dtype=np.int64)
    title = "reading the operations of violations"
    return Kernel(title, tuple(SCHEMA.names), SCHEMA, partial(_rows_of, wanted), ops=wanted)


def _rows_of(ops: Ints, batch: Batch) -> pa.Table:
    return batch.where(member(batch.ints("op"), ops)).table.cast(SCHEMA)
