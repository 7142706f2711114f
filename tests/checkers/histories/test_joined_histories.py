"""In a joined history, the definition of each anomaly finds what it finds in the separate
histories.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from model.histories import History
from model.history_notation import history
from properties.anomalies.anomaly import worst_first
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import Declarations
from properties.delivery import deliveries
from tests.checkers.histories.joined_histories import joined, own
from tests.checkers.histories.mutated_histories import changed
from tests.checkers.histories.random_histories import PIPELINES, random_history

ALL = Declarations(ww_deps=True, rw_deps=True)


def assert_same_when_joined(histories: Sequence[History]) -> None:
    as_one = joined([ALL.applied(h) for h in histories])
    for one in catalogue(ALL):
        assert worst_first(one.find(as_one.whole)) == worst_first(
            as_one.rows_of_each_history(one.find)
        ), one.id
        if one.id == "duplicate-across-keys":
            continue  # keys that name no topic share one: joined, they are more of its partitions
        assert one.observed(as_one.whole) == sum(map(one.observed, as_one.each)), one.id
    delivered = as_one.rows_of_each_history(partial(deliveries, declared=ALL))
    assert {*deliveries(as_one.whole, ALL)} == {*delivered}


def sound(made: Sequence[History]) -> list[History]:
    return [h for h in made if not any(one.find(h) for one in ASSUMPTIONS)]


@pytest.mark.parametrize("seed", range(6))
def test_anomalies_of_joined_histories_are_those_of_each(seed: int) -> None:
    first = 7 * seed
    made = [random_history(n) for n in range(first, first + 4)]
    made += [random_history(n, fs=PIPELINES) for n in range(first, first + 4)]
    assert_same_when_joined(sound([*made, changed(seed, steps=(200,))]))


@pytest.mark.parametrize("seed", range(6))
def test_broken_assumptions_of_joined_histories_are_those_of_each(seed: int) -> None:
    as_one = joined([random_history(n) for n in range(20 * seed, 20 * seed + 20)])
    found = {one.id: one.find(as_one.whole) for one in ASSUMPTIONS}
    assert found == {
        one.id: tuple(sorted(as_one.rows_of_each_history(one.find))) for one in ASSUMPTIONS
    }
    assert found["one-open-operation"]


def test_joined_histories_stay_separate_although_keys_without_a_topic_share_one() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        c1  poll      -> ok j=a@0
    """)
    assert_same_when_joined([h, h])


def test_open_operations_come_last_and_names_stay_separate() -> None:
    h = history("""
        p1  txn{id=x} k-0=a  -> ok @0
        p2  send k-0=b       -> never
    """)
    as_one = joined([h, h])
    assert [it.outcome for it in as_one.whole] == ["ok", "ok", "info", "info"]
    assert as_one.numbers == ((0, 2), (1, 3))
    assert len({it.process for it in as_one.whole}) == 4
    assert {it.did[0].key for it in as_one.whole} == {own("k-0", 0), own("k-0", 1)}
