"""Defines the query plan of `precommitted-read`: an operation polled a record that it sent itself.

    p1 txn k=a -> ok @0 k=a@0      op 0 polled a before its own commit

Source: `properties.anomalies.log.precommitted_read`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import any_in_run, member, run_lengths, run_starts
from checkers.histories.facts.record_locations import UNCOMMITTED, roles
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, resolve_fingerprints
from model.histories import Isolation
from properties.anomalies.log.precommitted_read import ANOMALY, PrecommittedRead

_READS: Final = ("op", "outcome", "kind", "key", "value", "isolation")
_OWN: Final = pa.schema([(name, pa.int64()) for name in ("op", "key", "value", "operations")])


def precommitted_reads(context: Context) -> Plan[tuple[Finding, ...]]:
    run = partial(_sent_and_polled, context.declared.isolation)
    observed = yield from collect(
        Stage(Source.OPERATIONS, Kernel("precommitted reads", _READS, _OWN, run))
    )
    found = Batch(observed.filter(pa.array(Batch(observed).ints("operations") == 0)))
    key_of = yield from resolve_fingerprints(found.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(found.ints("value"))
    columns = {
        "key": key_of(found.ints("key")),
        "value": value_of(found.ints("value")),
        "op": found.ints("op"),
    }
    rows = pa.table(columns).cast(schema_of(PrecommittedRead))
    return (
        Finding(id=ANOMALY.id, rows=rows, observations=sum(observed["operations"].to_pylist())),
    )


def _sent_and_polled(isolation: Isolation, batch: Batch) -> pa.Table:
    sends = batch.is_in("kind", "send")
    polls = batch.is_in("kind", "poll") & (roles(batch, isolation) < UNCOMMITTED)
    op = batch.ints("op")
    starts = run_starts(op)
    both = any_in_run(sends, starts) & any_in_run(polls, starts)
    inside = np.repeat(both, run_lengths(starts, len(op)))
    sent, polled = np.flatnonzero(inside & sends), np.flatnonzero(inside & polls)
    key, value = batch.fingerprints("key"), batch.fingerprints("value")
    sent_keys, polled_keys = (hash_of_pair(op[it], key[it]) for it in (sent, polled))
    same_key = polled[member(polled_keys, np.unique(sent_keys))]
    count = len(np.unique(op[same_key]))
    if not count:
        return _OWN.empty_table()
    records = [hash_of_pair(op[it], hash_of_pair(key[it], value[it])) for it in (sent, polled)]
    some = member(records[1], np.unique(records[0]))
    own = polled[some][np.unique(records[1][some], return_index=True)[1]]
    columns = {
        "op": np.r_[op[own], 0],
        "key": np.r_[key[own], 0],
        "value": np.r_[value[own], 0],
        "operations": np.r_[np.zeros(len(own), dtype=np.int64), count],
    }
    return pa.table(columns, schema=_OWN)


CHECKERS: Final = (AnomalyChecker(ids=(ANOMALY.id,), plan=precommitted_reads, needs_shuffle=False),)
