"""In a trial, each duration of a simulated client is multiplied by a constant."""

from __future__ import annotations

import time

from checkers.trials.pace import LONGEST_MS, NS_PER_EVENT, Pace
from model.histories import Operation
from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.controller import Metadata
from reference_impl.protocol.groups import JoinGroup
from reference_impl.protocol.messages import Fetch, InitProducerId


def test_each_duration_of_a_request_is_multiplied() -> None:
    pace = Pace(10)
    place = TopicPartition("orders", 0)
    fetch = Fetch(topic_partition=place, fetch_offset=Offset(3), max_wait_ms=50)
    assert pace.paced(fetch) == Fetch(
        topic_partition=place, fetch_offset=Offset(3), max_wait_ms=500
    )
    joins = JoinGroup(group="g", session_timeout_ms=150, rebalance_timeout_ms=600)
    paced = pace.paced(joins)
    assert isinstance(paced, JoinGroup)
    assert (paced.session_timeout_ms, paced.rebalance_timeout_ms) == (1_500, 6_000)
    assert pace.paced(Metadata()) == Metadata()


def test_a_default_timeout_is_sent_unchanged() -> None:
    assert Pace(10).paced(InitProducerId()) == InitProducerId()
    limited = Pace(1_000).paced(InitProducerId(timeout_ms=500))
    assert isinstance(limited, InitProducerId)
    assert limited.timeout_ms == LONGEST_MS


def test_ticks_go_forward_even_within_an_instant() -> None:
    pace = Pace(1_000_000_000)
    first, second = pace.tick_ns(), pace.tick_ns()
    assert second - first >= NS_PER_EVENT


def test_a_saved_history_has_the_times_of_the_real_clock() -> None:
    pace = Pace(10, began_ns=time.monotonic_ns())
    operation = Operation(
        process=1, f="send", outcome="info", invoked_ns=7, completed_ns=None, end_asked_ns=9
    )
    (real,) = pace.in_real_time((operation,))
    assert real.invoked_ns == pace.began_ns + 70
    assert (real.completed_ns, real.end_asked_ns) == (None, pace.began_ns + 90)
