"""Each release of Kafka has one version of each spec, or the reason why not is written down."""

from __future__ import annotations

from itertools import product

import pytest

from model.faults import UnknownName
from model.releases import NEWEST_PATCH
from model.shipped import WITHOUT_VERSION, NotShipped, fix_of, shipped, why_without_version
from model.specs import SPECS


def has_reason(case: tuple[str, str]) -> bool:
    return bool(why_without_version(*case))


EVERY = list(product(SPECS, NEWEST_PATCH))
WITH = [case for case in EVERY if not has_reason(case)]
WITHOUT = [case for case in EVERY if has_reason(case)]


def test_each_release_without_a_reason_has_exactly_one_version() -> None:
    versions = {case: shipped(*case).version for case in WITH}
    assert {version.kind for version in versions.values()} == {"version"}
    assert {spec for spec, release in versions if release == "4.3"} == set(SPECS)


def test_each_release_with_a_reason_has_no_version() -> None:
    for spec, release in WITHOUT:
        with pytest.raises(NotShipped, match=f"no version of {spec} has the rules of Kafka"):
            shipped(spec, release)


def test_every_reason_is_that_of_some_release() -> None:
    given = {why_without_version(*case) for case in WITHOUT}
    assert {why for reasons in WITHOUT_VERSION.values() for _, why in reasons} == given


def test_a_fix_is_the_recorded_one_or_the_default() -> None:
    assert fix_of(shipped("replication", "1.1").version).name == "kip-279"
    assert fix_of(shipped("quorum", "4.3").version).name == "flush-before-commit"


def test_the_rules_of_a_release_are_a_version_and_additional_bugs() -> None:
    """Kafka 4.3 has two election bugs. Bugs that need a setting, such as acks=1, do not count."""
    found = shipped("election", "4.3")
    assert found.version.name == "kafka-4.1"
    assert [row.name for row in found.bugs] == [
        "trusts-last-leader",
        "min-isr-of-partition-0",
        "clears-elr",
        "answers-without-min-isr",
    ]
    assert shipped("election", "3.9").version.name == "before-elr"
    assert shipped("transactions", "0.11").version.name == "v1"
    assert shipped("transactions", "4.1").version.name == "lax-markers"


def test_a_bug_whose_first_or_last_release_is_unknown_is_uncertain() -> None:
    assert [row.name for row in shipped("transactions", "4.1").uncertain] == ["guard-before-epoch"]
    assert [row.name for row in shipped("group-offsets", "3.5").uncertain] == ["forgets-refused"]


def test_a_release_without_a_version_is_an_error_that_lists_the_variants() -> None:
    with pytest.raises(NotShipped) as fault:
        shipped("retention", "3.4")
    assert str(fault.value).splitlines()[:4] == [
        "no version of retention has the rules of Kafka 3.4: the rule for joining the ISR was not "
        "compared with these releases",
        "  choose one with --variant:",
        "  version kip-107 is in no release of Kafka (Kafka up to 4.3 lets a follower join the ISR "
        "before it has the leader's log start)",
        "  version kafka-4.3 is from Kafka 3.5 to 4.3 (reproduced on real brokers of 3.5.2 "
        "and 4.3)",
    ]


def test_two_versions_of_one_release_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = (shipped("quorum", "4.3").version, shipped("quorum", "4.0").version)
    monkeypatch.setattr("model.shipped.variants_of", lambda spec: twice)
    with pytest.raises(NotShipped, match=r"2 versions of quorum have the rules of Kafka 4\.3"):
        shipped("quorum", "4.3")


def test_an_unknown_release_is_an_error() -> None:
    with pytest.raises(
        UnknownName, match=r"no release of Kafka '4'; the nearest: 4\.0, 4\.1, 4\.2"
    ):
        shipped("quorum", "4")
