"""The agreement campaign compares the fast analysis with the literal definitions of the anomalies,
on random histories.

Tests replace a part of the fast analysis by a wrong one, and the campaign must find the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final, get_args

import numpy as np
import pytest

from benchmarks.analyze import agreement
from benchmarks.analyze.agreement import (
    BLOCK,
    DELIVERY,
    KINDS,
    Block,
    Difference,
    campaign,
    continued,
)
from checkers.histories.analysis import KEPT
from checkers.histories.anomalies.delivery import delivery_kernels, repetitions
from checkers.histories.anomalies.order.log_positions import LogPositions
from checkers.histories.anomalies.order.value_offsets import ValueOffsets
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.prefix_max import PrefixMaxIndex
from checkers.histories.columnar.sorting import Mask
from checkers.histories.facts.owner_offsets import OWNER_WORDS, OwnerOffsets
from checkers.histories.facts.retention import LogStarts
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import Batch
from model.histories import COLUMNS, History
from model.history_notation import history
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.assumptions import ASSUMPTIONS, Assumption
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import Declarations
from properties.anomalies.retention import BEGINNING
from properties.delivery import Delivery, Semantics, deliveries
from tests.checkers.histories.joined_histories import joined
from tests.checkers.histories.random_histories import random_history

READ: Final = history("""
    p1  send k=a  -> ok @0
    c1  poll      -> ok k=a@0
""")
UNREAD: Final = history("""
    p1  send k=z      -> ok @0
    c1  end_offset k  -> ok @1
""")
TWICE: Final = history("""
    p1  send k=a  -> ok @5
    p2  send k=a  -> ok @3
""")
NOTHING_TOLD: Final = history("c1 poll -> ok")
NO_WORDS: Final = OwnerOffsets.of(OWNER_WORDS.empty_table())


def without(rows: Callable[[Any], bool], name: str, declared: Declarations) -> tuple[Anomaly, ...]:
    def altered(one: Anomaly) -> Anomaly:
        return replace(one, find=lambda h: tuple(row for row in one.find(h) if not rows(row)))

    return tuple(altered(one) if one.id == name else one for one in catalogue(declared))


def differences(made: dict[int, History], rows: Callable[[Any], bool]) -> list[Difference]:
    _, differing = Block(made=made, anomalies=partial(without, rows, "unseen")).differences()
    return differing


def every(row: Any) -> bool:
    return row is not None


@pytest.mark.parametrize("number", [0, 3])
def test_a_disagreement_names_its_history(number: int) -> None:
    made = dict.fromkeys(range(4), READ) | {number: UNREAD}

    assert differences(made, rows=lambda row: False) == []
    assert differences(made, rows=lambda row: row.value.endswith("z")) == [
        Difference(numbers=(number,), of="unseen")
    ]


def test_every_disagreeing_history_is_named() -> None:
    differing = differences(dict.fromkeys((3, 4, 9), UNREAD) | {5: READ}, rows=every)

    assert sorted(map(str, differing)) == [f"history {n}: unseen differs" for n in (3, 4, 9)]


def test_a_difference_names_the_fewest_joined_histories_that_show_it() -> None:
    differing = differences(
        dict.fromkeys((5, 6), UNREAD), rows=lambda row: row.value.startswith("1.")
    )

    assert list(map(str, differing)) == ["history 5 with 6: unseen differs"]


def test_all_rows_of_broken_assumptions_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = dict.fromkeys(range(1, KEPT + 9), TWICE)
    found, differing = Block(made=made, anomalies=catalogue).differences()
    assert (found["values-are-unique"], differing) == (KEPT + 8, [])

    made[KEPT + 8] = history("p1 send k=z -> ok @5\np2 send k=z -> ok @3")
    monkeypatch.setattr(agreement, "ASSUMPTIONS", [_altered(one) for one in ASSUMPTIONS])
    _, differing = Block(made=made, anomalies=catalogue).differences()
    assert list(map(str, differing)) == [f"history {KEPT + 8}: assumptions differs"]


def _altered(assumption: Assumption) -> Assumption:
    def find(h: History) -> tuple[Any, ...]:
        return tuple(map(_otherwise, assumption.find(h)))

    return replace(assumption, find=find)


def _otherwise(row: Any) -> Any:
    return replace(row, key="another") if row.value.endswith("z") else row


@pytest.mark.parametrize("made", [{0: NOTHING_TOLD}, {0: ()}, {1: (), 2: ()}, {1: (), 2: READ}])
def test_a_history_without_observations_is_compared(made: dict[int, History]) -> None:
    assert Block(made=made, anomalies=catalogue).differences()[1] == []


@pytest.mark.parametrize("others", [{}, {1: ()}, {1: READ}])
def test_with_jepsen_rules_an_empty_joined_history_is_an_anomaly(
    others: dict[int, History],
) -> None:
    blocks = range(0, 99 * BLOCK, BLOCK)
    first = next(n for n in blocks if agreement._declared([n]).jepsen)
    made = {first + 40: (), **{first + 40 + n: h for n, h in others.items()}}
    found, differing = Block(made=made, anomalies=catalogue).differences()
    assert (found["empty-transaction-graph"], differing) == (int(READ not in others.values()), [])


def test_every_declaration_is_drawn() -> None:
    numbers = range(1, 40 * BLOCK, 8)
    drawn = {number: agreement._declared([number]) for number in numbers}
    for field in fields(Declarations):
        assert len({getattr(one, field.name) for one in drawn.values()}) > 1, field.name

    compacted = [n for n, one in drawn.items() if one.compacted and n % len(KINDS)]
    broken = [n for n in compacted if any(one.find(random_history(n)) for one in ASSUMPTIONS)]
    assert 0 < len(broken) < len(compacted) / 2


# ---------------------------------------------------------------- delivery semantics

SKIPPED: Final = history("""
    p1  send k=a k=b k=z   -> ok @0 @1 @2
    c1  poll{group=g}      -> ok k=a@0
    c2  poll{group=g}      -> ok k=z@2
    c1  poll               -> ok k=b@1
""")
AGAIN: Final = history("""
    p1  send k=a k=z   -> ok @0 @1
    c1  poll{group=g}  -> ok k=a@0 k=z@1
    c2  poll{group=g}  -> ok k=z@1
    c3  poll           -> ok k=a@0
""")
DELETED: Final = history("""
    p1  send k=a k=b k=z  -> ok @0 @1 @2
    s1  start_offset k    -> ok @2
    c1  poll              -> ok k=a@0 k=z@2
""")


def test_a_wrong_delivery_names_its_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = Block(made={0: SKIPPED, 1: READ, 2: READ, 3: AGAIN}, anomalies=catalogue)
    found, differing = block.differences()
    assert ({name: found[name] for name in get_args(Semantics)}, differing) == (
        {"exactly-once": 4, "at-least-once": 1, "at-most-once": 1, "neither": 0}, [],
    )  # fmt: skip

    monkeypatch.setattr(agreement, "deliveries", _without_the_first)
    assert block.differences()[1] == [Difference(numbers=(n,), of=DELIVERY) for n in (0, 3)]


def _without_the_first(h: History, declared: Declarations) -> tuple[Delivery, ...]:
    full = deliveries(h, declared)
    return tuple(replace(it, repetition=None, skip=None) for it in full)


# ---------------------------------------------------------------- kernels that are wrong


def _alone(batch: Batch, rows: Ints) -> tuple[Ints, Ints]:
    """A seeded fault of the analysis: it treats each process as a separate application."""
    return np.arange(len(rows)), batch.ints("process")[rows]


def _from_the_beginning(log_starts: LogStarts, key: Ints) -> Ints:
    """A seeded fault of the analysis: it ignores the log start offsets that clients observed."""
    return np.full(len(key), BEGINNING) + 0 * len(log_starts.keys)


@pytest.mark.parametrize(
    ("where", "name", "wrong", "shows", "of"),
    [
        (delivery_kernels, "_rows_by_application", _alone, SKIPPED, {DELIVERY}),
        (
            LogStarts,
            "of",
            _from_the_beginning,
            DELETED,
            {DELIVERY, "int-poll-skip", "lost-write", "unseen"},
        ),
    ],
)
def test_a_wrong_kernel_names_the_history_that_shows_it(
    where: Any,
    name: str,
    wrong: Callable[..., Any],
    shows: History,
    of: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = Block(made=dict.fromkeys(range(4), READ) | {2: shows}, anomalies=catalogue)
    assert block.differences()[1] == []

    monkeypatch.setattr(where, name, wrong)
    differing = block.differences()[1]
    assert {(one.numbers, one.of) for one in differing} == {((2,), name) for name in of}


_BEFORE = PrefixMaxIndex.before
_NOT_JEPSEN: Final = 0  # the first number of a block without the option `--jepsen`
_JEPSEN: Final = 3 * BLOCK


def _also_at_this_time(index: PrefixMaxIndex, group: Ints, time_ns: Ints) -> Ints:
    """A seeded fault of the analysis: what is known at an instant counts as known before it."""
    return _BEFORE(index, group, time_ns + 1)


def _as_without_jepsen(unconfirmed: UnconfirmedValues, outranked: Batch) -> ValueOffsets:
    """A seeded fault of the analysis: `--jepsen` does not change the offsets of values."""
    del outranked
    return ValueOffsets.only(unconfirmed)


def _all_between(
    positions: LogPositions, kind: int, key: Ints, first: Ints, second: Ints, dirty: Mask
) -> Ints:
    """A seeded fault of the analysis. It wrongly demands that readers at read_committed receive
    aborted records.
    """
    low = positions.first_skippable(kind, key, first)
    del dirty
    return positions.log.everything.between(key, low, second)


@pytest.mark.parametrize(
    ("where", "name", "wrong", "numbers", "of"),
    [
        (
            PrefixMaxIndex,
            "before",
            _also_at_this_time,
            range(_NOT_JEPSEN, _NOT_JEPSEN + 3),
            {"offset-order-inversion"},
        ),
        (
            ValueOffsets,
            "last",
            _as_without_jepsen,
            range(_JEPSEN, _JEPSEN + 5),
            {"int-nonmonotonic-send", "nonmonotonic-send"},
        ),
        (
            LogPositions,
            "skipped_count",
            _all_between,
            range(_NOT_JEPSEN + 70, _NOT_JEPSEN + 75),
            {"poll-skip"},
        ),
    ],
)
def test_a_campaign_finds_a_wrong_kernel_in_generated_histories(
    where: Any,
    name: str,
    wrong: Callable[..., Any],
    numbers: range,
    of: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def differing() -> list[Difference]:
        every = campaign(len(numbers), numbers[0], 1)
        return [one for _, _, some in every for one in some]

    assert differing() == []
    monkeypatch.setattr(where, name, wrong)  # the campaign's process is a copy of this one
    found = differing()
    assert {one.of for one in found} >= of
    assert all(len(one.numbers) == 1 for one in found)


def test_generated_histories_vary_in_every_column_and_have_ties() -> None:
    made = [KINDS[n % len(KINDS)](n) for n in range(100)]
    table = as_table(joined(made).whole)
    for name, (_, nullable, _) in COLUMNS.items():
        column = table[name]
        assert len(column.unique()) > 1, name
        assert bool(column.null_count) == nullable, name
    times = [[t for it in h for t in (it.invoked_ns, it.completed_ns) if t] for h in made]
    assert sum(len(set(some)) < len(some) for some in times) > len(made) / 2


def _gives_up(batch: Batch, rows: Ints) -> tuple[Ints, Ints]:
    raise ArithmeticError(len(batch), len(rows))


def test_a_failing_kernel_stops_the_campaign_and_names_its_histories(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delivery_kernels, "_rows_by_application", _gives_up)
    with pytest.raises(ArithmeticError) as failed:
        Block(made={0: READ, 6: AGAIN, 7: READ}, anomalies=catalogue).differences()
    assert failed.value.__notes__ == ["while comparing histories [0]"]


def test_a_kernel_that_ignores_earlier_batches_is_found_by_splits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = Block(made={0: AGAIN}, anomalies=catalogue)
    assert block.differences()[1] == []

    find = repetitions._first_repetitions
    monkeypatch.setattr(repetitions, "_first_repetitions", lambda rows, _: find(rows, NO_WORDS))
    assert block.differences()[1] == [Difference(numbers=(0,), of=DELIVERY)]


def test_a_campaign_agrees_and_counts_rows() -> None:
    *_, (done, found, differing) = campaign(20, BLOCK - 10, 1)

    assert (done, differing) == (20, [])
    assert found["lost-write"] > 0


def test_a_campaign_names_every_history_that_shows_a_wrong_definition() -> None:
    numbers, name = range(BLOCK - 3, BLOCK + 3), "value-nobody-sent"
    (true,) = (one for one in catalogue(Declarations()) if one.id == name)
    made = {number: KINDS[number % len(KINDS)](number) for number in numbers}
    sound = {n: h for n, h in made.items() if not any(one.find(h) for one in ASSUMPTIONS)}
    shows = [n for n, h in sound.items() if true.find(h)]

    forgets = partial(without, every, name)
    named = [
        one
        for _, _, differing in campaign(len(numbers), numbers[0], 1, forgets)
        for one in differing
    ]

    assert shows
    assert {str(one) for one in named} == {f"history {n}: {name} differs" for n in shows}
    assert len(named) == len(shows)


def test_a_campaign_continues_the_record_with_the_highest_seeds() -> None:
    first, last = ({"seed": seed, "histories": 20, "differences": 0} for seed in (0, 500))
    assert continued([last, first], None) is last
    assert continued([last, first], 0) is first
    assert continued([last, first], 7)["histories"] == 0
