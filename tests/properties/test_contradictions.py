"""The reported delivery semantics, such as exactly-once, never contradict a reported anomaly."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.catalogue import BY_ID
from properties.contradictions import CONTRADICTIONS, judged
from properties.delivery import deliveries

RECEIVED_ONCE = history("""
    p1  send k=a k=b  -> ok @0 @1
    c1  poll          -> ok k=a@0 k=b@1
""")


def test_each_contradiction_is_of_an_anomaly_of_the_catalogue() -> None:
    assert CONTRADICTIONS.keys() <= BY_ID.keys()


@pytest.mark.parametrize("anomaly", sorted(CONTRADICTIONS))
def test_no_violation_that_contradicts_exactly_once_is_reported_with_it(anomaly: str) -> None:
    found = judged(deliveries(RECEIVED_ONCE), [anomaly])
    assert found is not None
    left = {"at-most-once": "at-least-once", "at-least-once": "at-most-once"}
    assert found.semantics == left[CONTRADICTIONS[anomaly].promise]
    assert found.applications == {found.semantics: 1}
    assert [one.anomaly for one in found.contradictions] == [anomaly]


def test_without_violations_the_deliveries_decide() -> None:
    found = judged(deliveries(RECEIVED_ONCE), ["stale-end-offset"])
    assert found is not None
    assert (found.semantics, found.contradictions) == ("exactly-once", ())
    assert judged((), ["duplicate"]) is None


def test_a_contradiction_that_the_deliveries_show_is_not_repeated() -> None:
    h = history("c1 poll -> ok k=a@0 k=a@1")
    found = judged(deliveries(h), ["duplicate"])
    assert found is not None
    assert (found.semantics, found.contradictions) == ("at-least-once", ())
