"""Clients of a correct cluster observe no anomaly; each broken guarantee causes an anomaly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import NOTHING_DECLARED
from tests.properties.anomalies.small_cluster import BUGS
from tests.properties.anomalies.small_cluster_clients import cluster_history

SHOWN_BY = {
    "open transactions show": {"open-transaction-read", "G1a"},
    "a commit marker is missing": {"torn-transaction", "offset-without-output", "lost-write"},
    "aborted offsets show": {"aborted-offset-read", "input-skipped"},
    "staged offsets vanish": {
        "group-offset-went-backwards",
        "output-without-offset",
        "input-processed-twice",
    },
    "the position stays after an abort": {"input-skipped", "poll-skip"},
    "nobody is fenced": {"zombie-write", "input-processed-twice"},
}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_correct_cluster_shows_no_anomaly(seed: int) -> None:
    h = cluster_history(seed)
    assert [one.id for one in ASSUMPTIONS if one.find(h)] == []
    forbidden = [
        it
        for it in catalogue(NOTHING_DECLARED)
        if not NOTHING_DECLARED.conditions() & set(it.permits)
    ]
    assert [one.id for one in forbidden if one.find(h)] == []


@pytest.mark.parametrize("bug", BUGS)
def test_a_broken_guarantee_shows_an_anomaly(bug: str) -> None:
    wanted = [one for one in catalogue(NOTHING_DECLARED) if one.id in SHOWN_BY[bug]]
    for seed in range(60):
        h = cluster_history(seed, bug=bug)
        wanted = [one for one in wanted if not one.find(h)]
    assert wanted == []
