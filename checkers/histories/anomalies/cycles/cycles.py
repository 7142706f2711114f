"""Defines the query plan that finds cycles of dependencies between operations.

    p1 txn k=a ...
    p2 txn j=b ...
    p1 ...      -> ok @0 j=b@0      op 0
    p2 ...      -> ok @0 k=a@0      op 1
    c1 poll     -> ok k=a@0         op 2

    stage 1   wr op 1 -> op 0: range 0..2         logical times: op 1 ends at 2, op 0 at 0
    stage 2   wr op 0 -> op 1, wr op 1 -> op 0    not wr op 0 -> op 2: op 2 ends at 4
    stage 3   G1c op 0, op 1
    stage 4   wr k=a, wr j=b

Most dependencies lead forward in time, from an operation to an operation that ended later. Some
dependencies lead back in time. For example, a send ended at 8, and a poll of its record ended at 3.
This dependency leads back over the time range 3 to 8. A cycle that leads forward over some time
must also lead back over this time. So each operation of a cycle ends in the time range of a
dependency that leads back. The plan looks for cycles only inside these time ranges, in four stages:

1. The plan collects the dependencies that lead back.
2. The plan collects all dependencies inside the union of the time ranges of stage 1.
3. The plan collects the process and the times of each operation in the dependencies of stage 2, and
   the driver searches for cycles.
4. The plan collects the records of the cycles that the driver found.

Source: `properties.anomalies.cycles`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.block_ends import ENDS, block_ends, ww_between_blocks
from checkers.histories.anomalies.cycles.cycle_search import (
    KIND_OF,
    Graph,
    Operations,
    Shown,
    cycles,
)
from checkers.histories.anomalies.cycles.dependency_context import (
    DependencyContext,
    UnconfirmedSenders,
    locations_stage,
)
from checkers.histories.anomalies.cycles.possible_steps import find_possible_steps
from checkers.histories.anomalies.cycles.record_dependencies import (
    COUNT,
    EDGES,
    LABELS,
    count_dependencies,
    dependencies_back_in_time,
    inside_time_ranges,
    unconfirmed_wr,
    with_records,
)
from checkers.histories.anomalies.cycles.time_ranges import InfoSenders, TimeRanges
from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.real_time.future_reads import column_of, times
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import NumberSet, distinct, member, run_starts
from checkers.histories.facts.record_locations import SEND_OK
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import NEVER_NS, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    collect_all,
    in_parallel,
    resolve_fingerprints,
)
from properties.anomalies.cycles.cycle import FORMS, Cycle
from properties.anomalies.cycles.dependencies import KINDS

_COUNTED: Final = {
    **{form: "ww" if form.startswith("G0") else "wr" for form in FORMS},
    "G1c": "in_g1c",
    "G1c-process": "in_g1c_process",
}
WHOLE: Final = -1  # index of the row for all times after the batch
_ENDED: Final = int64_schema("place", "op", "completed_ns")
_OF_ENDED: Final = ("op", "outcome", "completed_ns")
_OPERATIONS: Final = int64_schema("op", "process", "invoked_ns", "completed_ns", "ok")
_OF_OPERATION: Final = ("op", "process", "invoked_ns", "completed_ns", "outcome")
_NO_OPS: Final = np.zeros(0, dtype=np.int64)


# ---------------------------------------------------------------- when operations count


def find_info_senders(
    unconfirmed: UnconfirmedValues, senders: UnconfirmedSenders
) -> Plan[InfoSenders]:
    """Returns the operations that did not end ok although a poll returned a value that they sent,
    with their logical times.

    The end of such an operation is unknown, so its logical time depends on its start. The logical
    time is directly after the latest operation that ended ok before this start.

    Only the senders of unconfirmed values are considered. A value is unconfirmed if it was polled
    at an offset, and no send of the value was acknowledged at this offset.
    """
    sends = unconfirmed.sends
    ops = distinct(sends.ints("op")[sends.ints("role") != SEND_OK])
    ops = ops[member(ops, np.sort(senders.ops))]
    if not len(ops):
        return InfoSenders(NumberSet(ops), ops)
    when = Batch((yield from collect(times(ops))))
    invoked_ns = column_of(when, ops, "invoked_ns")
    run = partial(_last_ended_by, invoked_ns)
    ended = yield from collect(
        Stage(Source.OPERATIONS, Kernel("operations before", _OF_ENDED, _ENDED, run), Batch)
    )
    whole = ended.where(ended.ints("place") == WHOLE)
    order = np.argsort(whole.ints("completed_ns"), kind="stable")
    last = np.maximum.accumulate(np.r_[-1, whole.ints("op")[order]])
    at = np.searchsorted(whole.ints("completed_ns")[order], invoked_ns, side="right")
    before = last[at]
    some = ended.where(ended.ints("place") != WHOLE)
    np.maximum.at(before, some.ints("place"), some.ints("op"))
    return InfoSenders(NumberSet(ops), 2 * before + 1)


def _last_ended_by(invoked_ns: Ints, batch: Batch) -> pa.Table:
    """Returns, for each time in `invoked_ns`, the latest operation of this batch that ended ok by
    this time.

    A row has the index of a time, and the operation. A time outside the time span of the batch has
    no row. One more row has the index WHOLE, and the latest operation of the batch that ended ok.
    """
    firsts = batch.where(run_starts(batch.ints("op")), _OF_ENDED)
    ok = np.flatnonzero(firsts.is_in("outcome", "ok") & firsts.is_valid("completed_ns"))
    op, completed_ns = firsts.ints("op").take(ok), firsts.ints("completed_ns").take(ok)
    if not len(ok):
        return _ENDED.empty_table()
    within = np.flatnonzero((invoked_ns >= completed_ns[0]) & (invoked_ns < completed_ns[-1]))
    at = np.searchsorted(completed_ns, invoked_ns[within], side="right") - 1
    return table_from(
        _ENDED,
        np.r_[within, WHOLE],
        np.r_[op[at], op[-1]],
        np.r_[completed_ns[at], completed_ns[-1]],
    )


# ---------------------------------------------------------------- the graph and its cycles


def _operations(ops: Ints) -> Stage[pa.Table]:
    run, title = partial(_of_ops, ops), "operations of dependencies"
    return Stage(Source.OPERATIONS, Kernel(title, _OF_OPERATION, _OPERATIONS, run, ops=ops))


def _of_ops(ops: Ints, batch: Batch) -> pa.Table:
    rows = batch.rows_of(ops)
    firsts = batch.where(rows[run_starts(batch.ints("op").take(rows))], _OF_OPERATION)
    return table_from(
        _OPERATIONS,
        *(firsts.ints(name, null=NEVER_NS) for name in _OPERATIONS.names[:-1]),
        (firsts.is_in("outcome", "ok") & firsts.is_valid("completed_ns")).astype(np.int64),
    )


def _graph(edges: Batch, observed: Batch) -> Graph:
    order = np.argsort(observed.ints("op"))
    of = Operations(
        numbers=observed.ints("op")[order],
        process=observed.ints("process")[order],
        invoked_ns=observed.ints("invoked_ns")[order],
        completed_ns=observed.ints("completed_ns")[order],
        ok=observed.ints("ok")[order] == 1,
    )
    first, second = (np.searchsorted(of.numbers, edges.ints(name)) for name in ("first", "second"))
    return Graph(of, first, second, edges.ints("kind"))


Step = tuple[str, str, str, str]  # kind, key, value, next value


def labelled_dependencies(labels: Batch) -> Plan[Mapping[tuple[int, int], list[Step]]]:
    """Returns a dict from each pair of operations to the dependencies between them.

    The dependencies of a pair are ordered by their kind: `ww`, then `wr`, then `rw`.
    """
    key_of = yield from resolve_fingerprints(labels.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(labels.ints("value"), labels.ints("next_value"))
    columns = (
        labels.ints("first").tolist(),
        labels.ints("second").tolist(),
        [KIND_OF[kind] for kind in labels.ints("kind").tolist()],
        key_of(labels.ints("key")).to_pylist(),
        value_of(labels.ints("value")).to_pylist(),
        value_of(labels.ints("next_value")).to_pylist(),
    )
    named: dict[tuple[int, int], list[Step]] = {}
    for first, second, kind, key, value, following in zip(*columns, strict=True):
        named.setdefault((first, second), []).append((kind, key, value, following or ""))
    for steps in named.values():
        steps.sort(key=lambda step: (KINDS.index(step[0]), step[1:]))
    return named


def _row(
    form: str, shown: Shown, of: Operations, named: Mapping[tuple[int, int], list[Step]]
) -> Cycle:
    ops = shown.cycle.tolist()
    process = dict(zip(ops, of.process[np.searchsorted(of.numbers, shown.cycle)], strict=True))
    observed: list[Step] = []
    for first, second in pairwise([*ops, ops[0]]):
        records = [one for one in named.get((first, second), []) if one[0] in FORMS[form]]
        in_process = process[first] == process[second] and first < second
        time = "process" if in_process else "realtime"
        observed.append(records[0] if records else (time, "", "", ""))
    return cycle_of(tuple(ops), shown.component, observed)


def cycle_of(ops: tuple[int, ...], component: int, observed: list[Step]) -> Cycle:
    """Returns the cycle of the operations `ops`, with the dependencies `observed` between them.

    `component` is the number of operations in the cycle's strongly connected component.
    """
    kinds, keys, values, following = zip(*observed, strict=True)
    return Cycle(
        first_op=ops[0],
        component=component,
        ops=ops,
        kinds=kinds,
        keys=keys,
        values=values,
        next_values=following,
    )


# ---------------------------------------------------------------- the query plan


def dependency_cycles(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns one finding for each form of cycle, such as `G1c`. The rows of a finding are the
    cycles.
    """
    unconfirmed, ww_deps = context.unconfirmed, context.declared.ww_deps
    senders = UnconfirmedSenders.of(unconfirmed)
    info_senders, possible = yield from in_parallel(
        find_info_senders(unconfirmed, senders), find_possible_steps(ww_deps=ww_deps)
    )
    dependencies = DependencyContext("cycles", unconfirmed, senders, info_senders, ww_deps)
    title = "dependencies"
    counts, back, ends = yield from in_parallel(
        collect(locations_stage(title, COUNT, partial(count_dependencies, dependencies, possible))),
        collect(locations_stage(title, EDGES, partial(dependencies_back_in_time, dependencies))),
        collect_all(
            [locations_stage(title, ENDS, partial(block_ends, dependencies))] if ww_deps else []
        ),
    )
    of_unconfirmed, leads = unconfirmed_wr(dependencies, unconfirmed)
    across = pa.concat_tables(
        [LABELS.empty_table(), *(ww_between_blocks(Batch(it)) for it in ends)]
    )
    loose = Batch(pa.concat_tables([of_unconfirmed.filter(pa.array(leads)), across]))
    first_time, second_time = (info_senders.time(loose.ints(name)) for name in ("first", "second"))
    loose_back = loose.where(first_time >= second_time).table.select(EDGES.names)
    time_ranges = TimeRanges.of(Batch(pa.concat_tables([back, loose_back])), info_senders)
    rows = dict.fromkeys(FORMS, schema_of(Cycle).empty_table())
    if len(time_ranges.begin):
        run = partial(inside_time_ranges, dependencies, time_ranges)
        near = yield from collect(locations_stage("dependencies in time ranges", EDGES, run))
        here = loose.where(time_ranges.contain(first_time, second_time))
        rows = yield from _cycles_among(dependencies, near, here)
    unconfirmed_ends = (Batch(of_unconfirmed).ints(name) for name in ("first", "second"))
    further = (len(across), len(of_unconfirmed), *possible.of(*unconfirmed_ends))
    observed = {
        name: int(Batch(counts).ints(name).sum()) + more
        for name, more in zip(COUNT.names, further, strict=True)
    }
    return tuple(
        Finding(id=form, rows=rows[form], observations=observed[_COUNTED[form]]) for form in FORMS
    )


def _cycles_among(
    dependencies: DependencyContext, near: pa.Table, loose: Batch
) -> Plan[dict[str, pa.Table]]:
    together_all = pa.concat_tables([near, loose.table.select(EDGES.names)])
    edges = Batch(together_all.group_by(EDGES.names, use_threads=False).aggregate([]))
    ops = distinct(np.r_[edges.ints("first"), edges.ints("second")])
    graph = _graph(edges, Batch((yield from collect(_operations(ops)))))
    found = cycles(graph)
    shown_cycles = [shown for of_form in found.values() for shown in of_form]
    pairs = neighbours([one.cycle for one in shown_cycles])
    labels = LABELS.empty_table()
    if shown_cycles:
        run = partial(with_records, dependencies, pairs)
        labels = yield from collect(locations_stage("records of cycles", LABELS, run))
    of_pairs = pairs.have(loose.ints("first"), loose.ints("second"))
    named = yield from labelled_dependencies(
        Batch(pa.concat_tables([labels, loose.where(of_pairs).table]))
    )
    return {
        form: rows_of([_row(form, shown, graph.of, named) for shown in of_form])
        for form, of_form in found.items()
    }


def neighbours(cycles: Sequence[Ints]) -> Pairs:
    """Returns all pairs of consecutive operations in the cycles. The last and the first operation
    of a cycle are such a pair, too.
    """
    after = (np.roll(cycle, -1) for cycle in cycles)
    return Pairs.of(np.concatenate([_NO_OPS, *cycles]), np.concatenate([_NO_OPS, *after]))


def rows_of(rows: list[Cycle]) -> pa.Table:
    schema = schema_of(Cycle)
    columns = {name: [getattr(row, name) for row in rows] for name in schema.names}
    return pa.table({**columns}, schema=schema)


CHECKERS: Final = (AnomalyChecker(ids=tuple(FORMS), plan=dependency_cycles),)
