"""The positions of groups that the analysis finds are those that a loop over all operations
finds.
"""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.groups.committed_offsets import LONG_AGO
from checkers.histories.anomalies.groups.pipeline_consumption import group_positions, steps_of
from checkers.histories.columnar.fingerprints import fingerprints
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import NEVER_NS, Batch
from model.histories import CommitOffset, FetchOffset, History, Poll
from model.history_notation import history
from tests.checkers.histories.random_histories import random_history

GROUPS = ("txn", "txn", "poll", "poll", "commit_offset", "fetch_offset")
Positions = dict[tuple[str, str], tuple[int, int, bool]]


def positions(h: History) -> Positions:
    """Returns three facts about each group and key (topic partition).

    They are the lowest offset, the highest offset that was committed outside of a transaction, and
    whether a transaction that ended ok committed an offset.
    """
    found: Positions = {}
    for it in h:
        ended_ok = it.outcome == "ok" and it.completed_ns is not None
        for micro in it.did if it.group else ():
            match micro:
                case Poll(key, int(offset), _) | CommitOffset(key, offset):
                    pass
                case FetchOffset(key, int(offset)) if ended_ok:
                    pass
                case _:
                    continue
            commits = isinstance(micro, CommitOffset)
            low, jumped, steps = found.get((it.group or "", key), (NEVER_NS, LONG_AGO, False))
            if commits and it.f != "txn" and it.outcome != "fail":
                jumped = max(jumped, offset)
            steps |= commits and it.f == "txn" and it.outcome == "ok"
            found[it.group or "", key] = min(low, offset), jumped, steps
    return found


@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 40))
def test_positions_of_groups_are_those_of_a_loop(seed: int) -> None:
    h = random_history(seed, GROUPS)
    batch = Batch(as_table(h))
    rows = group_positions(batch).to_pylist()
    named = {
        (row["group"], row["key"]): (row["low"], row["jumped"], row["steps"] > 0) for row in rows
    }
    assert len(named) == len(rows)
    assert named == {
        tuple(fingerprints(pa.array([group, key])).tolist()): facts
        for (group, key), facts in positions(h).items()
    }


def test_a_step_has_the_highest_offset_that_its_transaction_committed() -> None:
    h = history("""
        c1  commit_offset{group=g} +i@9      -> ok
        t1  txn{id=x,group=g} o=a +i@8       -> fail
        t1  txn{id=x,group=g} o=b +i@2 +i@1  -> ok @3 i=m@0
    """)
    steps = steps_of(Batch(as_table(h)))
    assert steps.table.select(["op", "committed"]).to_pylist() == [{"op": 2, "committed": 2}]
