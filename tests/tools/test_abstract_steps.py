"""The page of abstract steps counts each action of the proved specs, and misses none."""

from __future__ import annotations

import pytest

from model.classic_group.bugs import AddsInstances
from model.quorum.versions import Kafka43
from model.specs import find
from properties.refinement import detailed_classic_group, detailed_quorum
from tools.abstract_steps.explored import EXPLORATIONS, NotExplained, random_walks, walk
from tools.abstract_steps.page import NEVER, PAGE, kept, never_taken, page
from tools.abstract_steps.traced import real


def test_the_record_has_every_action_of_each_spec() -> None:
    for spec, actions in kept().items():
        assert [*actions] == [action.name for action in find(*spec.split(" ")).make().actions]
    assert {*EXPLORATIONS} <= {*kept()}


def test_every_action_is_taken_or_has_a_reason() -> None:
    assert never_taken(kept()) == []
    taken = {(spec, a) for spec, rows in kept().items() for a, n in rows.items() if any(n.values())}
    assert not taken & {*NEVER}, "a reason for an action that is taken is out of date"


def test_an_action_that_nothing_takes_is_found() -> None:
    record = kept()
    record["classic-group-abstract"]["join"] = {"explored": 0}
    assert never_taken(record) == [("classic-group-abstract", "join")]


def test_the_page_is_that_of_the_record() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept())


@pytest.mark.parametrize(
    "exploration",
    [
        walk(detailed_classic_group.Refinement(AddsInstances(generations=1))),
        walk(detailed_quorum.Refinement(Kafka43(replicas=1, max_epoch=2, max_failures=1))),
        random_walks(
            detailed_quorum.Refinement(Kafka43(replicas=1, max_epoch=2, max_failures=1)), seed=1
        ),
    ],
    ids=["states", "pairs", "random walks"],
)
def test_a_step_that_no_action_explains_ends_the_count(exploration: object) -> None:
    assert callable(exploration)
    with pytest.raises(NotExplained):
        exploration()


def test_the_lines_of_kafka_are_counted_again() -> None:
    """The tests' data has Kafka's log lines of one election of the last known leader."""
    counts = real(["kafka_trace_losses/last-known-leader"])["replication-abstract"]
    assert counts["elect_last_known"] == 1
