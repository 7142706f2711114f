"""Each version and bug says in which releases of Kafka it is in force; the releases are real."""

from __future__ import annotations

import pytest

from model.faults import UnknownName
from model.releases import LATEST, InForce, kafka, newest_patch, unreleased
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


def test_a_range_is_printed_with_its_unknown_ends() -> None:
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


@pytest.mark.parametrize(
    ("rule", "has", "has_not", "unknown"),
    [
        (kafka("2.7", "3.9"), "2.7 2.7.0 3.9.1", "2.6 2.6.3 4.0", ""),
        (kafka("2.6.1", "2.8.0"), "2.6 2.6.1 2.8.0", "2.6.0 2.8 2.8.1", ""),
        (kafka("2.7", "2.8.0", fixed_in=("2.7.2",)), "2.7.1 2.8.0", "2.7 2.7.2 2.8", ""),
        (kafka("3.6", "4.1", fixed_in=("3.9",)), "3.6 4.1", "4.2", "3.9 3.9.0"),
        (kafka(None, "3.4"), "3.4 3.4.0", "3.5", "3.3 0.8.0"),
        (kafka("3.4", None), "", "3.3", "3.4 4.3"),
        (kafka("0.11", "0.11"), "0.11 0.11.0.2", "0.10.2 1.0", ""),
        (unreleased("a proposal"), "", "0.8.0 4.3", ""),
        (InForce(of="librdkafka"), "", "4.3", ""),
    ],
    ids=str,
)
def test_a_rule_is_in_force_in_the_releases_of_its_range(
    rule: InForce, has: str, has_not: str, unknown: str
) -> None:
    assert {rule.has(release) for release in has.split()} <= {True}
    assert {rule.has(release) for release in has_not.split()} <= {False}
    assert {rule.has(release) for release in unknown.split()} <= {None}


def test_a_line_of_releases_means_its_newest_patch() -> None:
    assert (newest_patch("4.3"), newest_patch("0.11"), newest_patch("3.9.0")) == (
        "4.3.1",
        "0.11.0.2",
        "3.9.0",
    )
    for release in ("4", "0.8", "9.9", "4.3.7", "4.3.x", ""):
        with pytest.raises(UnknownName, match="no release of Kafka"):
            newest_patch(release)


def test_a_range_names_the_setting_and_the_older_releases_with_the_fix() -> None:
    assert str(kafka("0.11", LATEST, needs="acks=1")) == "from Kafka 0.11 to 4.3 (with acks=1)"
    assert str(kafka("2.7", "2.8.0", fixed_in=("2.7.2",))) == (
        "from Kafka 2.7 to 2.8.0 (fixed in 2.7.2 too)"
    )
    assert str(kafka("3.6", "4.1", fixed_in=("3.9", "4.1"))) == (
        "from Kafka 3.6 to 4.1 (fixed in patch releases of 3.9 and 4.1 too)"
    )
    with pytest.raises(ValueError, match=r"2\.7\.9 is no release"):
        kafka("2.7", "2.8.0", fixed_in=("2.7.9",))
