"""The table of seeded bugs: each bug has one row, a name and a range of releases.

Each is off by default.
"""

from __future__ import annotations

import pytest

from model.faults import UnknownName
from model.releases import InForce
from model.specs import variants_of
from model.vocabulary import BrokerId
from properties.anomalies.catalogue import CATALOGUE
from properties.claims.catalogue import BY_ID
from reference_impl.broker.config import BrokerConfig
from reference_impl.node.bugs import NO_BUGS, Bug, bugs_named
from reference_impl.node.seeded_bugs import SEEDED_BUGS


def test_every_bug_has_one_row() -> None:
    assert [row.bug for row in SEEDED_BUGS] == list(Bug)
    assert all(row.changes and row.breaks and row.caught_by and row.source for row in SEEDED_BUGS)


def test_each_bug_breaks_a_claim_or_an_anomaly() -> None:
    known = {*BY_ID, *(row.id for row in CATALOGUE)}
    assert {name for row in SEEDED_BUGS for name in row.breaks} <= known


SEVERAL_VERSIONS = {Bug.DELAYED_END_ACCEPTED}  # in releases that the specs cut into versions


def test_a_bug_that_a_spec_has_too_was_in_the_same_releases() -> None:
    compared = 0
    for row in SEEDED_BUGS:
        for decider in row.caught_by:
            engine, _, variant = decider.partition(", variant ")
            if variant and row.bug not in SEVERAL_VERSIONS:
                found = next(
                    one for one in variants_of(engine.removeprefix("model ")) if one.name == variant
                )
                assert found.in_force is not None
                assert releases(row.in_force) == releases(found.in_force), row.name
                compared += 1
    assert compared >= 20


def releases(in_force: InForce) -> tuple[bool, str | None, str | None]:
    return in_force.released, in_force.since, in_force.until


def test_a_broker_has_no_bugs_by_default() -> None:
    assert BrokerConfig(broker_id=BrokerId(1)).bugs == NO_BUGS == frozenset()


def test_an_unknown_bug_name_lists_the_nearest_names() -> None:
    assert bugs_named("no-dedup", "lost-append") == {Bug.NO_DEDUP, Bug.LOST_APPEND}
    with pytest.raises(UnknownName, match="'no-dedupe'; the nearest: no-dedup,"):
        bugs_named("no-dedupe")
