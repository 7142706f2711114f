"""Finds transactions whose records became visible without their committed offsets, or whose offsets
became visible without their records.

    p1 txn{id=x,group=g} o=a +i@5 -> ok @0      op 0
    c1 poll                       -> ok o=a@0   op 1
    c2 fetch_offset{group=g} i    -> ok @3      op 2

    output-without-offset   op 2 fetched 3 of i, op 0 committed 5, op 1 read a

    p1 txn{id=y,group=g} o=b +i@6 -> ok @1      op 3
    c2 fetch_offset{group=g} i    -> ok @6      op 4
    p2 send o=c                   -> ok @2      op 5
    c1 poll                       -> ok o=c@2   op 6

    offset-without-output   op 4 fetched 6 of i, which op 3 committed; op 6 read above b

Source: `properties.anomalies.groups.output_without_offset`, `offset_without_output`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Context, Finding
from checkers.histories.anomalies.groups.committed_offsets import FAIL, LONG_AGO, KnownOffsets
from checkers.histories.anomalies.groups.fetched_offsets import (
    FetchedOffsets,
    distinct_rows,
    highest_explaining,
    shared_columns,
)
from checkers.histories.anomalies.transactions.first_reads import first_reads
from checkers.histories.anomalies.transactions.missing_records import (
    MissingRecord,
    candidates,
    missing,
    missing_columns,
)
from checkers.histories.anomalies.transactions.operation_details import operation_details
from checkers.histories.anomalies.transactions.transaction_reads import TransactionReads
from checkers.histories.anomalies.transactions.unconfirmed_records import Record
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import member, run_starts
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.stage import Plan, collect, resolve_fingerprints
from properties.anomalies.groups import offset_without_output, output_without_offset

OUTPUT_ALONE: Final = output_without_offset.ANOMALY.id
OFFSET_ALONE: Final = offset_without_output.ANOMALY.id


# ---------------------------------------------------------------- output without offset


def outputs_without_offset(of: FetchedOffsets) -> Plan[Finding]:
    """Returns the fetches that returned a lower offset than a transaction committed, although a
    reader had already received a record of the transaction.

    Example: a transaction sends a record and commits offset 5. A reader receives the record. Then a
    fetch returns offset 3.
    """
    schema = schema_of(output_without_offset.OutputWithoutOffset)
    stable = of.fetches.where(of.fetches.ints("stable") == 1)
    observations = _count_after_first_output(of, stable)
    ops = np.unique(of.ahead.ints("op"))
    if not len(ops):
        return Finding(id=OUTPUT_ALONE, rows=schema.empty_table(), observations=observations)
    first = yield from first_reads(ops)
    readers = {op: reader for op, (reader, _) in first.items()}
    when = yield from collect(operation_details(np.array(sorted(readers.values()), dtype=np.int64)))
    read_ns = dict(zip(when["op"].to_pylist(), when["completed_ns"].to_pylist(), strict=True))
    shown = of.ahead.where(np.isin(of.ahead.ints("op"), list(readers)))
    since = [read_ns[readers[op]] for op in shown.ints("op").tolist()]
    # known from its first read on, but not before its invocation
    known = np.maximum(np.array(since, dtype=np.int64), shown.ints("invoked_ns"))
    facts = KnownOffsets.of(
        Batch(shown.table.append_column("known_ns", pa.array(known))), "known_ns"
    )
    explained = of.explained_ns[of.fetches.ints("stable") == 1]
    fact = facts.highest(stable, explained)
    wrong = np.flatnonzero(fact >= 0)
    fact = fact[wrong]
    parts = [first[op] for op in facts.op[fact].tolist()]
    columns = yield from shared_columns(stable.where(wrong))
    texts = yield from _texts([record for _, record in parts])
    rows = pa.table(
        {
            **columns,
            "committed_offset": facts.offset[fact],
            "transaction_op": facts.op[fact],
            "shown_key": texts[0],
            "shown_value": texts[1],
            "shown_op": pa.array([reader for reader, _ in parts], pa.int64()),
        }
    ).cast(schema)
    return Finding(id=OUTPUT_ALONE, rows=distinct_rows(rows), observations=observations)


def _count_after_first_output(of: FetchedOffsets, stable: Batch) -> int:
    registers, began = of.began.ints("register"), of.began.ints("invoked_ns")
    order = np.lexsort([began, registers])
    first = order[run_starts(registers[order])]
    registers, began = registers[first], began[first]
    some = np.flatnonzero(member(stable.ints("register"), registers))
    since = began[np.searchsorted(registers, stable.ints("register")[some])]
    return int(np.count_nonzero(since < stable.ints("invoked_ns")[some]))


def _texts(records: list[Record]) -> Plan[tuple[pa.Array, pa.Array]]:
    keys, values = (np.array([it[n] for it in records], dtype=np.int64) for n in (0, 1))
    key_of = yield from resolve_fingerprints(keys, column="key")
    value_of = yield from resolve_fingerprints(values)
    return key_of(keys), value_of(values)


# ---------------------------------------------------------------- offset without output


@dataclass(frozen=True, slots=True)
class _CommitProof:
    fetch: int  # row of the fetch
    op: int  # number of the transaction
    in_log_ns: int  # latest time at which all its records were in the log


def _commit_proofs(of: FetchedOffsets) -> list[_CommitProof]:
    maybe = of.tried.where(of.tried.ints("outcome") != FAIL)
    first = -highest_explaining(of.fetches, maybe, -maybe.ints("op"), LONG_AGO)
    last = highest_explaining(of.fetches, maybe, maybe.ints("op"), LONG_AGO)
    only = np.flatnonzero((first == last) & (of.refuted >= 0))
    commits = maybe.where((maybe.ints("staged") == 1) & (maybe.ints("sends") > 0))
    ops, at = np.unique(commits.ints("op"), return_index=True)
    only = only[member(last[only], ops)]
    ended_ns = commits.ints("ended_ns")[at[np.searchsorted(ops, last[only])]]
    in_log_ns = np.minimum(of.fetches.ints("completed_ns")[only], ended_ns)
    return [_CommitProof(*it) for it in np.stack([only, last[only], in_log_ns], axis=1).tolist()]


def _first_proofs(of: FetchedOffsets) -> Plan[dict[int, _CommitProof]]:
    first: dict[int, list[_CommitProof]] = {}
    op_of = of.fetches.ints("op")
    for observed in _commit_proofs(of):
        known = first.setdefault(observed.op, [observed])
        if op_of[observed.fetch] < op_of[known[0].fetch]:
            first[observed.op] = [observed]
        elif observed is not known[0] and op_of[observed.fetch] == op_of[known[0].fetch]:
            known.append(observed)
    tied = np.array([it.fetch for some in first.values() if len(some) > 1 for it in some], np.int64)
    names = yield from shared_columns(of.fetches.where(tied))
    register = dict(
        zip(
            tied.tolist(),
            zip(names["group"].to_pylist(), names["key"].to_pylist(), strict=True),
            strict=True,
        )
    )
    return {
        op: min(some, key=lambda it: register.get(it.fetch, ("", ""))) for op, some in first.items()
    }


def offsets_without_output(
    of: TransactionReads, fetched_offsets: FetchedOffsets, context: Context
) -> Plan[Finding]:
    """Returns the missing records of transactions whose committed offsets took effect.

    Example: a transaction sends a record and commits offset 5. A fetch returns offset 5. But no
    reader polls the record, although a reader polls a later record of the same topic partition.
    """
    observed = yield from _first_proofs(fetched_offsets)
    in_log_ns = {op: it.in_log_ns for op, it in observed.items()}
    gone: list[MissingRecord] = yield from missing(of, candidates(of, observed), in_log_ns, context)
    fetch = np.array([observed[it.op].fetch for it in gone], dtype=np.int64)
    names = yield from shared_columns(fetched_offsets.fetches.where(fetch))
    columns = yield from missing_columns(gone)
    rows = pa.table(
        {
            **columns,
            "group": names["group"],
            "input_key": names["key"],
            "committed_offset": names["offset"],
            "fetch_op": names["op"],
        }
    ).cast(schema_of(offset_without_output.OffsetWithoutOutput))
    ops = np.array(sorted(observed), dtype=np.int64)
    some = {it.op for it in gone}
    if observed:
        read = (it.sent_by for it in of.records.values() if it.readers)
        some.update(op for sent_by in read for op, _ in sent_by if op in observed)
    passed = of.read_once.has(ops) | np.isin(ops, list(some))
    return Finding(id=OFFSET_ALONE, rows=rows, observations=int(np.count_nonzero(passed)))
