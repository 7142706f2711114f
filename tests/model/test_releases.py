"""Each version and bug says in which releases of Kafka it is in force; the releases are real."""

from __future__ import annotations

import pytest

from model.releases import LATEST, InForce, kafka, unreleased
from model.specs import all_variants


def test_each_variant_is_in_force_in_some_releases_or_in_none() -> None:
    assert [row.name for row in all_variants() if row.in_force is None] == []


@pytest.mark.parametrize(
    ("since", "until", "why"),
    [
        ("2.9", "3.0", "2.9 is no release"),
        ("2.6", "2.6.9", "2.6.9 is no release"),
        ("2.10", LATEST, "2.10 is no release"),
        ("", LATEST, " is no release"),
        ("3.0", "2.8", "ends before it begins"),
    ],
)
def test_a_range_of_no_releases_is_refused(since: str, until: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        kafka(since, until)


def test_an_unreleased_rule_has_no_releases() -> None:
    with pytest.raises(ValueError, match=r"a range of no release has no ends, not 4\.0"):
        InForce(since="4.0", released=False)


def test_a_range_says_what_is_not_known() -> None:
    assert str(kafka("0.11", LATEST)) == "from Kafka 0.11 to 4.3"
    assert str(kafka("2.8", "2.8", "as a preview")) == "in Kafka 2.8 (as a preview)"
    assert str(kafka("0.10.1", "0.11")) == "from Kafka 0.10.1 to 0.11"
    assert str(kafka("2.6.1", "2.6")) == "from Kafka 2.6.1 to 2.6"
    assert str(kafka(None, "2.4")) == "from an unknown release to Kafka 2.4"
    assert str(kafka("2.7", None)) == "from Kafka 2.7 to an unknown release"
    assert str(InForce()) == "in unknown releases of Kafka"
    assert str(unreleased("a proposal")) == "in no release of Kafka (a proposal)"
    assert InForce().short == "unknown"
    assert unreleased("a proposal").short == "none"
    assert kafka("2.0", "2.0").short == "2.0"
    assert kafka("0.11", LATEST, "with transactions").short == "0.11 to 4.3"
    assert kafka(None, "2.4").short == "to 2.4"
    assert kafka("2.7", None).short == "from 2.7"
    assert InForce(of="librdkafka").short == "librdkafka"
    assert str(InForce(of="librdkafka", until="1.8")) == (
        "from an unknown release to librdkafka 1.8"
    )
