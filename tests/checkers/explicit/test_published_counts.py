"""Explorations reproduce the state counts of the published replication specs.

Source: hachikuji/kafka-specification d68782b, LogSize 2, MaxRecords 2.
"""

from __future__ import annotations

import pytest

from checkers.explicit.exploration import Exploration
from checkers.explicit.search import explore
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101, Kip279, Kip320, Kip320FirstTry

TWO_BROKERS = {"replicas": 2, "max_leader_epoch": 2}


def counts(found: Exploration) -> tuple[int, int, int]:
    return found.distinct, found.generated, found.depth


def steps_to(found: Exploration) -> dict[str, int]:
    return {name: found.discoveries[name].steps for name in found.violated}


def test_published_kip_101_on_three_brokers_has_the_published_counts() -> None:
    found = explore(Kip101(as_published=True), properties=["weak_isr"])
    assert counts(found) == (59_788, 187_996, 22)
    assert found.exhausted
    assert not found.violated


def test_fixed_kip_101_on_three_brokers_has_more_states() -> None:
    """The fixed spec of KIP-101 has more states than the published one.

    If the truncation offset is beyond the follower's log end, the published action is disabled; the
    fixed action is enabled and truncates nothing.
    """
    found = explore(Kip101())
    assert counts(found) == (60_106, 195_532, 22)
    assert steps_to(found) == {"strong_isr": 11}
    assert found.discoveries["weak_isr"].verdict == "holds"


def test_kip_101_loses_a_record_after_two_quick_elections() -> None:
    found = explore(Kip101(as_published=True, **TWO_BROKERS), properties=["strong_isr"])
    assert steps_to(found) == {"strong_isr": 11}
    assert steps_to(explore(Kip101(as_published=True), properties=["strong_isr"])) == {
        "strong_isr": 11
    }


@pytest.mark.parametrize("as_published", [True, False])
def test_kip_320_on_three_brokers_has_equal_counts_published_and_fixed(as_published: bool) -> None:
    """With three brokers, the published spec of KIP-320 has as many states as the fixed spec.

    The two specs differ only if the ISR becomes empty. With the epochs 0 and 1 the controller makes
    at most two decisions, which cannot empty an ISR of three brokers.
    """
    found = explore(Kip320(as_published=as_published))
    assert counts(found) == (39_619, 102_220, 22)
    assert found.exhausted
    assert not found.violated


def test_published_kip_320_on_two_brokers_has_the_published_counts() -> None:
    found = explore(Kip320(as_published=True, **TWO_BROKERS))
    assert counts(found) == (5_973, 11_733, 18)
    assert found.exhausted
    assert not found.violated


def test_fixed_kip_320_on_two_brokers_has_fewer_states() -> None:
    """With two brokers, the fixed spec of KIP-320 has 92 states fewer than the published one.

    The fixed controller cannot empty the ISR, so these states are unreachable.
    """
    found = explore(Kip320(**TWO_BROKERS))
    assert counts(found) == (5_881, 11_523, 18)
    assert found.exhausted
    assert not found.violated


@pytest.mark.parametrize("as_published", [True, False])
def test_truncation_to_the_high_watermark_loses_a_record(as_published: bool) -> None:
    found = explore(
        TruncateToHighWatermark(as_published=as_published, **TWO_BROKERS),
        properties=["weak_isr", "strong_isr"],
    )
    assert steps_to(found) == {"weak_isr": 8, "strong_isr": 9}
    assert found.why_stopped == "all decided"


def test_kip_279_still_loses_a_record() -> None:
    assert steps_to(explore(Kip279(), properties=["strong_isr"])) == {"strong_isr": 11}
    with_three_epochs = explore(Kip279(max_leader_epoch=2), properties=["strong_isr"])
    assert steps_to(with_three_epochs) == {"strong_isr": 10}


def test_the_first_try_of_kip_320_needs_three_brokers_and_three_epochs() -> None:
    two_epochs = explore(Kip320FirstTry(as_published=True))
    assert (two_epochs.distinct, two_epochs.exhausted, two_epochs.violated) == (59_092, True, ())
    two_brokers = explore(Kip320FirstTry(as_published=True, **TWO_BROKERS))
    assert (two_brokers.distinct, two_brokers.exhausted, two_brokers.violated) == (8_429, True, ())
    both = explore(Kip320FirstTry(max_leader_epoch=2), properties=["strong_isr"])
    assert steps_to(both) == {"strong_isr": 12}
