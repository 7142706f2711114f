"""The analysis finds the same real-time anomalies as the literal definitions.

The result does not depend on how the history is partitioned.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.real_time import batch_summary
from checkers.histories.anomalies.real_time.linearizable_offsets import linearizable_offsets
from checkers.histories.columnar.prefix_max import prefix_max_index
from checkers.histories.columnar.rows import as_rows
from checkers.histories.deciding import decide
from checkers.histories.facts.record_locations import RECORD
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source
from model.histories import (
    EndOffset,
    History,
    Isolation,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Send,
)
from model.history_notation import history
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.real_time import anomalies
from tests.checkers.histories.plans import result_of

DECLARED = {
    isolation: Declarations(isolation=isolation)
    for isolation in ("read_committed", "read_uncommitted")
}


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws a history of two logs; most observed offsets and times are correct, some are wrong."""
    rng = random.Random(draw(st.integers(0, 1 << 32)))
    steady = draw(st.sampled_from([0.8, 0.95, 1.0]))
    ends = {"k": 0, "j": 0}
    log: dict[str, list[tuple[int, str]]] = {"k": [], "j": []}
    now, made = 0, list[Operation]()
    for number in range(draw(st.integers(0, 14))):
        now += rng.choice([0, 1, 1, 3])
        long = rng.choice([0, 1, 2, 6])
        began, ended = now - rng.choice([0, 0, 1, 5]), now + long
        if rng.random() > steady:
            began, ended = began + rng.randrange(-9, 9), ended + rng.randrange(10)
        f = rng.choice(["send", "send", "txn", "poll", "end_offset"])
        outcome: Outcome = rng.choice(["ok", "ok", "ok", "ok", "info", "fail"])
        isolation: Isolation | None = rng.choice([None, "read_committed", "read_uncommitted"])
        did: list[MicroOperation] = []
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            key = rng.choice("kkj")
            wrong = rng.randrange(-3, 4) if rng.random() > steady else 0
            if f in {"send", "txn"} and rng.random() < 0.8:
                value = f"{number}.{len(did)}"
                offset = ends[key] + rng.choice([0, 0, 1])
                ends[key] = offset + 1
                log[key].append((offset, value))
                known = outcome == "ok" and rng.random() < 0.9
                did.append(Send(key, value, max(0, offset + wrong) if known else None))
            elif f in {"poll", "txn"} and log[key]:
                offset, value = rng.choice(log[key])
                did.append(Poll(key, rng.choice([offset + wrong, offset, offset, None]), value))
            elif f == "end_offset":
                did.append(EndOffset(key, max(0, ends[key] + wrong)))
        if rng.random() < 0.05 and log["k"]:
            offset, value = log["k"][-1]
            did.append(Poll("k", offset, value))  # what it sent itself, or what is to be sent
        made.append(
            Operation(
                process=number,
                f=f,
                outcome=outcome,
                invoked_ns=max(0, min(began, ended)) + 10,
                completed_ns=None if outcome == "info" and rng.random() < 0.3 else ended + 10,
                did=tuple(did),
                isolation=isolation,
            )
        )
    never = 1 << 60
    return tuple(sorted(made, key=lambda o: never if o.completed_ns is None else o.completed_ns))


def chunks(h: History, rows_per_partition: int) -> LocalDataset:
    rows = [TableRows(as_table([one], first_op=number)) for number, one in enumerate(h)]
    return LocalDataset(partitions_of(rows, rows_per_partition))


def assert_agrees(h: History, declared: Declarations, rows_per_partition: int, groups: int) -> None:
    family = anomalies(declared)
    decided = decide(chunks(h, rows_per_partition), [one.id for one in family], declared, groups)
    assert not decided.broken
    for anomaly in family:
        found = decided.anomalies[anomaly.id]
        applied = declared.applied(h)
        assert as_rows(found.rows.sort_by(_by(anomaly)), anomaly.row) == anomaly.find(applied)
        assert found.observations == anomaly.observed(applied)


def _by(anomaly: Anomaly) -> list[tuple[str, str]]:
    return [(name, "ascending") for name in anomaly.row.__dataclass_fields__]


@settings(max_examples=60, deadline=None)
@given(
    h=histories(),
    isolation=st.sampled_from(sorted(DECLARED)),
    rows_per_partition=st.sampled_from([1, 2, 5, 100]),
    last=st.sampled_from([1, 2, 1000]),
    groups=st.integers(1, 3),
)
def test_kernels_agree_with_the_literal_definitions(
    h: History, isolation: str, rows_per_partition: int, last: int, groups: int
) -> None:
    with patch.object(batch_summary, "LAST_OBSERVATIONS", last):
        assert_agrees(h, DECLARED[isolation], rows_per_partition, groups)


SOUND = "\n".join(
    line
    for n in range(40)
    for line in (
        f"p{n % 3} send k=v{n} -> ok @{n}",
        f"c{n % 2} poll -> ok k=v{n}@{n}",
        f"c9 end_offset k -> ok @{n + 1}",
    )
)


@pytest.mark.parametrize(("text", "expected"), [(SOUND, 1), (SOUND + "\np1 send k=z -> ok @20", 2)])
def test_a_sound_history_needs_one_pass(text: str, expected: int) -> None:
    h = chunks(history(text), 7)
    none, nothing = Batch(RECORD.empty_table()), np.zeros(0, dtype=np.int64)
    unconfirmed = UnconfirmedValues(none, none, nothing, nothing, nothing, none)
    plan = linearizable_offsets(Context(declared=NOTHING_DECLARED, unconfirmed=unconfirmed))
    passes = 0

    class Counted(LocalDataset):
        def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
            nonlocal passes
            passes += 1
            return super().collect(kernels)

    inversions, stale, future = result_of(plan, {Source.OPERATIONS: lambda: Counted(h.partitions)})
    assert passes == expected
    assert [len(found.rows) for found in (inversions, stale, future)] == [expected - 1, 0, 0]


def test_an_operation_open_across_batches_is_decided_by_the_last_observations() -> None:
    text = """
        p1  send k=a  -> ok @0
        p2  send k=b  ...
        p1  send k=c  -> ok @2
        p2  ...       -> ok @1
    """
    for rows_per_partition in (1, 2, 3):
        assert_agrees(history(text), NOTHING_DECLARED, rows_per_partition, 1)


@given(
    facts=st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5), st.integers(0, 9))),
    group=st.integers(0, 4),
    time_ns=st.integers(-1, 10),
    huge=st.booleans(),
)
def test_the_prefix_max_index_finds_the_highest_before_any_time(
    facts: list[tuple[int, int, int]], group: int, time_ns: int, huge: bool
) -> None:
    scale = 1 << 59 if huge else 1
    groups, reaches, times = np.array(facts, dtype=np.int64).reshape(-1, 3).T
    made = prefix_max_index(groups, reaches * scale, times)
    at = made.before(np.array([group]), np.array([time_ns]))
    before = [n for n, (g, _, t) in enumerate(facts) if g == group and t < time_ns]
    if not before:
        assert at.tolist() == [-1]
        return
    furthest = min(before, key=lambda n: (-facts[n][1], facts[n][2], n))
    assert made.reaches[at].tolist() == [facts[furthest][1] * scale]
    assert made.furthest(at).tolist() == [furthest]


@given(
    facts=st.lists(
        st.tuples(st.integers(0, 3), st.integers(-5, 5), st.integers(0, 9), st.booleans())
    ),
    checks=st.lists(st.tuples(st.integers(0, 3), st.integers(-7, 7), st.integers(-1, 10))),
    scale=st.sampled_from([1, 1 << 58, 1 << 60]),
)
def test_a_group_exceeds_an_offset_if_one_of_its_rows_did_in_time(
    facts: list[tuple[int, int, int, bool]], checks: list[tuple[int, int, int]], scale: int
) -> None:
    groups, reaches, times, counts = np.array(facts, dtype=np.int64).reshape(-1, 4).T
    of, offsets, at = np.array(checks, dtype=np.int64).reshape(-1, 3).T
    every = prefix_max_index(groups, reaches * scale, times)
    for made, some in (
        (every, facts),
        (every.restricted_to(counts.astype(bool)), [fact for fact in facts if fact[3]]),
    ):
        assert made.exceeded(of, offsets * scale, at).tolist() == [
            any(g == group and far > offset and t < time_ns for g, far, t, _ in some)
            for group, offset, time_ns in checks
        ]
        earliest = [
            min((t for g, _, t, _ in some if g == group), default=None) for group in range(5)
        ]
        first = made.first(5).tolist()
        assert [None if at < 0 else times[made.rows[at]] for at in first] == earliest


HIGHEST_IN_ANOTHER_BATCH = """
    p1  send k=a  -> ok @4
    p2  poll      -> ok k=b@5 k=c@6
    p1  send k=d  -> ok @2
    p3  poll      -> ok k=c@6
    p1  send k=e  -> ok @0
"""
ONLY_ONE_BEFORE_THE_BATCH = """
    p1  send k=a  -> ok @5
    c1  poll      -> ok
    p1  send k=b  -> ok @4
    p1  send k=c  -> ok @2
"""

IN_THE_BATCH_BEFORE = """
    c1  end_offset k -> ok @5
    c1  end_offset j -> ok @1
    c1  end_offset j -> ok @1
    p1  send k=a     -> ok @3
"""
BEFORE_A_SEND_WITHOUT_OFFSET = """
    c1  end_offset k -> ok @5
    p1  send k=a     -> ok
    c1  poll         -> ok k=a@3
"""
BEFORE_A_SEND_AND_A_STABLE_END = """
    t1  txn k=a                                 -> ok @4
    c1  poll                                    -> ok k=a@4
    c1  end_offset{isolation=read_committed} k  -> ok @2
    p1  send k=b                                -> ok @3
"""


@pytest.mark.parametrize(
    "text",
    [
        HIGHEST_IN_ANOTHER_BATCH,
        ONLY_ONE_BEFORE_THE_BATCH,
        IN_THE_BATCH_BEFORE,
        BEFORE_A_SEND_WITHOUT_OFFSET,
        BEFORE_A_SEND_AND_A_STABLE_END,
    ],
)
def test_the_highest_witness_is_found_in_any_batch(text: str) -> None:
    for rows_per_partition in range(1, 7):
        assert_agrees(history(text), NOTHING_DECLARED, rows_per_partition, 1)


def test_a_witness_older_than_the_last_observations_of_its_batch_is_found() -> None:
    with patch.object(batch_summary, "LAST_OBSERVATIONS", 1):
        assert_agrees(history(IN_THE_BATCH_BEFORE), NOTHING_DECLARED, 3, 1)
