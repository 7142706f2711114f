"""A campaign of kernels against definitions: it agrees, and names the history that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest

from benchmarks.analyze import agreement
from benchmarks.analyze.agreement import BLOCK, KINDS, Block, Difference, campaign
from checkers.histories.analysis import KEPT
from model.histories import History
from model.history_notation import history
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.assumptions import ASSUMPTIONS, Assumption
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declared import Declared

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


def without(rows: Callable[[Any], bool], name: str, declared: Declared) -> tuple[Anomaly, ...]:
    """The catalogue, but one definition does not find these rows."""

    def altered(one: Anomaly) -> Anomaly:
        return replace(one, find=lambda h: tuple(row for row in one.find(h) if not rows(row)))

    return tuple(altered(one) if one.id == name else one for one in catalogue(declared))


def differences(made: dict[int, History], rows: Callable[[Any], bool]) -> list[Difference]:
    _, odd = Block(made=made, looked_for=partial(without, rows, "unseen")).differences()
    return odd


def every(row: Any) -> bool:
    return row is not None


@pytest.mark.parametrize("number", [0, 6])
def test_a_disagreement_is_told_by_the_number_of_its_history(number: int) -> None:
    """0 is analysed alone, the others together."""
    made = dict.fromkeys(range(8), READ) | {number: UNREAD}

    assert differences(made, rows=lambda row: False) == []
    assert differences(made, rows=lambda row: row.value.endswith("z")) == [
        Difference(numbers=(number,), of="unseen")
    ]


def test_each_history_that_disagrees_is_told() -> None:
    odd = differences(dict.fromkeys((3, 4, 9), UNREAD) | {5: READ}, rows=every)

    assert sorted(map(str, odd)) == [f"history {n}: unseen differs" for n in (3, 4, 9)]


def test_what_shows_in_histories_together_only_is_told_of_the_fewest() -> None:
    odd = differences(dict.fromkeys((5, 6), UNREAD), rows=lambda row: row.value.startswith("1."))

    assert list(map(str, odd)) == ["history 5 with 6: unseen differs"]


def test_histories_with_broken_assumptions_are_compared_to_the_last_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = dict.fromkeys(range(1, KEPT + 9), TWICE)
    found, odd = Block(made=made, looked_for=catalogue).differences()
    assert (found["values-are-unique"], odd) == (KEPT + 8, [])

    made[KEPT + 8] = history("p1 send k=z -> ok @5\np2 send k=z -> ok @3")
    monkeypatch.setattr(agreement, "ASSUMPTIONS", [_altered(one) for one in ASSUMPTIONS])
    _, odd = Block(made=made, looked_for=catalogue).differences()
    assert list(map(str, odd)) == [f"history {KEPT + 8}: assumptions differs"]


def _altered(assumption: Assumption) -> Assumption:
    def find(h: History) -> tuple[Any, ...]:
        return tuple(map(_otherwise, assumption.find(h)))

    return replace(assumption, find=find)


def _otherwise(row: Any) -> Any:
    return replace(row, key="another") if row.value.endswith("z") else row


def test_a_history_with_nothing_to_observe_is_compared_on_that() -> None:
    assert Block(made={0: NOTHING_TOLD}, looked_for=catalogue).differences()[1] == []


def test_a_campaign_agrees_and_counts_what_it_saw() -> None:
    *_, (done, found, odd) = campaign(20, BLOCK - 10, 1)

    assert (done, odd) == (20, [])
    assert found["lost-write"] > 0


def test_a_campaign_names_every_history_that_shows_what_a_definition_forgets() -> None:
    numbers, name = range(BLOCK - 4, BLOCK + 4), "value-nobody-sent"
    (true,) = (one for one in catalogue(Declared()) if one.id == name)
    made = {number: KINDS[number % len(KINDS)](number) for number in numbers}
    sound = {n: h for n, h in made.items() if not any(one.find(h) for one in ASSUMPTIONS)}
    shows = [n for n, h in sound.items() if true.find(h)]

    forgets = partial(without, every, name)
    told = [one for _, _, odd in campaign(len(numbers), numbers[0], 1, forgets) for one in odd]

    assert shows
    assert sorted(map(str, told)) == [f"history {n}: {name} differs" for n in shows]
