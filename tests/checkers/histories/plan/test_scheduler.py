"""The scheduler executes several plans together, with few passes over each source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_type

import numpy as np
import pyarrow as pa
import pytest

from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.partition import InMemory
from checkers.histories.plan.scheduler import HashCollision, run
from checkers.histories.plan.shuffle import SHUFFLE_KEY
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from tests.checkers.histories.plans import result_of

NUMBER = pa.schema([("n", pa.int64())])
SHUFFLED = pa.schema([(SHUFFLE_KEY, pa.int64()), ("n", pa.int64())])


def plus(batch: Batch, added: int) -> pa.Table:
    return pa.table({"n": batch.ints("n") + added}, schema=NUMBER)


def listed(table: pa.Table) -> list[int]:
    return [int(n) for n in table["n"].to_pylist()]


def adding(added: int, source: Source = Source.OPERATIONS) -> Stage[list[int]]:
    kernel = Kernel(f"plus {added}", ("n",), NUMBER, partial(plus, added=added))
    return Stage(source, kernel, listed)


def numbers(*of_partitions: list[int]) -> LocalDataset:
    tables = (pa.table({"n": of}, schema=NUMBER) for of in of_partitions)
    return LocalDataset(tuple(map(InMemory, tables)))


@dataclass
class Recorded:
    dataset: Dataset
    passes: list[list[str]] = field(default_factory=list[list[str]])

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        self.passes.append([kernel.title for kernel in kernels])
        return self.dataset.collect(kernels)


def test_the_answer_of_a_stage_has_the_type_of_its_decoder() -> None:
    def plan() -> Plan[tuple[list[int], Batch]]:
        decoded = yield from collect(adding(1))
        assert_type(decoded, list[int])
        batch = yield from collect(Stage(Source.OPERATIONS, adding(1).kernel, Batch))
        assert_type(batch, Batch)
        both = yield from in_parallel(collect(adding(1)), resolve_fingerprints())
        assert_type(both, tuple[list[int], Callable[[Ints], pa.Array]])
        return decoded, batch

    decoded, batch = result_of(plan(), {Source.OPERATIONS: lambda: numbers([1], [2])})
    assert decoded == listed(batch.table) == [2, 3]


def test_stages_that_are_ready_on_one_source_share_a_pass() -> None:
    def short() -> Plan[list[int]]:
        return (yield from collect(adding(1)))

    def long() -> Plan[list[int]]:
        first = yield from collect(adding(10))
        second, locations = yield from in_parallel(
            collect(adding(first[0])), collect(adding(7, Source.RECORD_LOCATIONS))
        )
        return [*second, *locations]

    history, locations = Recorded(numbers([1, 2], [3])), Recorded(numbers([5]))
    sources: dict[Source, Callable[[], Dataset]] = {
        Source.OPERATIONS: lambda: history,
        Source.RECORD_LOCATIONS: lambda: locations,
    }
    results = result_of(in_parallel(short(), long()), sources)
    assert results == ([2, 3, 4], [12, 13, 14, 12])
    assert history.passes == [["plus 1", "plus 10"], ["plus 11"]]
    assert locations.passes == [["plus 7"]]


def test_parallel_plans_do_not_wait_for_each_other() -> None:
    def steps(*stages: Stage[list[int]]) -> Plan[list[int]]:
        answers: list[int] = []
        for stage in stages:
            answers += yield from collect(stage)
        return answers

    def both() -> Plan[list[int]]:
        none = yield from in_parallel(*list[Plan[int]]())
        assert none == ()
        one, other = yield from in_parallel(
            steps(adding(1), adding(2), adding(3)),
            steps(adding(7, Source.RECORD_LOCATIONS), adding(9)),
        )
        return [*one, *other]

    history, locations = Recorded(numbers([10])), Recorded(numbers([20]))
    sources: dict[Source, Callable[[], Dataset]] = {
        Source.OPERATIONS: lambda: history,
        Source.RECORD_LOCATIONS: lambda: locations,
    }
    assert result_of(both(), sources) == [11, 12, 13, 27, 19]
    assert history.passes == [["plus 1"], ["plus 2"], ["plus 3"], ["plus 9"]]
    assert locations.passes == [["plus 7"]]


def test_texts_are_resolved_last_and_for_all_plans_together() -> None:
    def resolved(wanted: Ints, *before: Stage[list[int]]) -> Plan[list[str]]:
        for stage in before:
            _ = yield from collect(stage)
        text_of = yield from resolve_fingerprints(wanted)
        texts: list[str] = text_of(wanted).to_pylist()
        return texts

    table = pa.table({"n": pa.array([1, 2]), "value": ["a", "b"]})
    history = Recorded(LocalDataset((InMemory(table),)))
    a, b = fingerprints(pa.array(["a", "b"]))[:, None]
    plan = in_parallel(resolved(a), resolved(b, adding(1), adding(2)))
    assert result_of(plan, {Source.OPERATIONS: lambda: history}) == (["a"], ["b"])
    assert history.passes == [["plus 1"], ["plus 2"], ["resolving fingerprints of values"]]


def test_all_texts_of_a_column_with_few_are_collected_once() -> None:
    def resolved(*wanted: str) -> Plan[list[str]]:
        texts: list[str] = []
        for text in wanted:
            number = fingerprints(pa.array([text]))
            text_of = yield from resolve_fingerprints(number, column="key")
            texts += text_of(number).to_pylist()
        return texts

    history = Recorded(LocalDataset((InMemory(pa.table({"key": ["k", "j", "k"]})),)))
    texts = result_of(resolved("k", "j", "k"), {Source.OPERATIONS: lambda: history})
    assert texts == ["k", "j", "k"]
    assert history.passes == [["resolving fingerprints of keys"]]


def test_a_source_that_no_stage_reads_is_never_created() -> None:
    def never() -> Dataset:
        raise AssertionError

    def nothing() -> Plan[int]:
        yield from ()
        return 7

    assert run(nothing(), {Source.OPERATIONS: never}) == 7


def test_kernels_after_a_guard_skip_the_partitions_that_it_rejects() -> None:
    def negative(batch: Batch) -> pa.Table:
        return batch.table.filter(pa.array(batch.ints("n") < 0))

    guard = Kernel("no number is negative", ("n",), NUMBER, negative, is_guard=True)
    tables = numbers([1, -2], [3]).collect([guard, adding(1).kernel])
    assert [listed(table) for table in tables] == [[-2], [4]]


def keyed(batch: Batch) -> pa.Table:
    columns = {SHUFFLE_KEY: batch.ints("n") % 5, "n": batch.ints("n")}
    return pa.table(columns, schema=SHUFFLED)


@pytest.mark.parametrize("memory_bytes", [0, 1 << 20])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_shuffle_brings_rows_of_one_key_together_in_memory_and_on_disk(
    memory_bytes: int, count: int
) -> None:
    partitions = numbers([9, 3, 4, 8], [], [14, 0, 13]).partitions
    dataset = LocalDataset(partitions, memory_bytes=memory_bytes)
    kernel = Kernel("key by remainder", ("n",), SHUFFLED, keyed, ("n",))
    with dataset.shuffle({Source.SENDS: kernel}, count) as shuffled:
        seen: list[list[int]] = []

        def see(batch: Batch) -> pa.Table:
            seen.append(batch.ints("n").tolist())
            return batch.table

        shuffled[Source.SENDS].collect([Kernel("see", ("n",), NUMBER, see)])
    assert len(seen) == count
    assert sorted(n for batch in seen for n in batch) == [0, 3, 4, 8, 9, 13, 14]
    for of_key in ([9, 4, 14], [3, 8, 13]):
        assert any(set(of_key) <= set(batch) for batch in seen)


def texts_of(wanted: Ints) -> Plan[list[str | None]]:
    text_of = yield from resolve_fingerprints(wanted)
    texts: list[str | None] = text_of(wanted).to_pylist()
    return texts


def test_fingerprints_are_resolved_to_their_texts() -> None:
    values = pa.table({"value": pa.array(["a", None, "b", "a"])})
    dataset = LocalDataset((InMemory(values), InMemory(pa.table({"value": ["c"]}))))
    wanted = np.r_[fingerprints(pa.array(["c", "a"])), 0]
    assert result_of(texts_of(wanted), {Source.OPERATIONS: lambda: dataset}) == ["c", "a", None]


@pytest.mark.parametrize("column", ["value", "key"])
def test_two_texts_with_one_fingerprint_are_a_collision(
    monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    def equal(self: Batch, name: str) -> Ints:
        return np.ones(self.table[name].length(), dtype=np.int64)

    def resolved() -> Plan[str]:
        yield from resolve_fingerprints(np.ones(1, dtype=np.int64), column=column)
        raise AssertionError

    monkeypatch.setattr(Batch, "fingerprints", equal)
    monkeypatch.setattr(
        "checkers.histories.plan.scheduler.fingerprints",
        lambda texts, _hash_seed: np.ones(len(texts), dtype=np.int64),
    )
    dataset = LocalDataset((InMemory(pa.table({column: ["a", "b"]})),))
    assert run(resolved(), {Source.OPERATIONS: lambda: dataset}) == HashCollision(column)


def test_few_texts_are_collected_with_the_first_pass_that_reads_the_column() -> None:
    def resolved(text: str) -> Plan[list[str]]:
        for title in ("first", "second"):
            counting = Kernel(title, ("key",), NUMBER, lambda it: pa.table({"n": [len(it)]}))
            yield from collect(Stage(Source.OPERATIONS, counting))
        number = fingerprints(pa.array([text]))
        text_of = yield from resolve_fingerprints(number, column="key")
        texts: list[str] = text_of(number).to_pylist()
        return texts

    history = Recorded(LocalDataset((InMemory(pa.table({"key": ["k", "j", "k"]})),)))
    assert result_of(resolved("j"), {Source.OPERATIONS: lambda: history}) == ["j"]
    assert history.passes == [["first", "resolving fingerprints of keys"], ["second"]]
