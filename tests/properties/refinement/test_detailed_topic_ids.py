"""Each step of `transactions topic-ids` is at most two steps of `transactions-abstract
topic-ids`.
"""

from __future__ import annotations

from collections import Counter

import pytest

from checkers.explicit.graph import compiled_graph
from model.transactions.deletion import TopicIds
from model.transactions.deletion_bugs import ConfirmsByName, SkipsMarker
from model.transactions.state import QUIET
from model.variants import Constants
from properties.refinement.detailed_topic_ids import TopicIdsRefinement

ONE: Constants = {**QUIET, "transactions": 1}
LATE: Constants = {"records_late": True, "ends_late": True, "markers_late": True}
FAILOVER: Constants = {"coordinator_failures": 1}


def coverage(spec: TopicIds) -> Counter[str]:
    """Returns how many transitions each abstract action explains. The transitions that no abstract
    action explains are counted as `unexplained`.
    """
    found, refinement = compiled_graph(spec), TopicIdsRefinement(spec)
    steps: Counter[str] = Counter()
    for a, b in found.graph.edges():
        actions = refinement.actions_between(found.states[a], found.states[b])
        steps.update({"unexplained"} if actions is None else set(actions))
    return steps


def test_deleted_topics_refine_the_abstract_spec() -> None:
    """Every abstract action explains some step, except `fence` and `write_marker_again`."""
    steps = coverage(TopicIds(**{**ONE, **LATE, **FAILOVER}))
    actions = {action.name for action in TopicIdsRefinement(TopicIds()).abstract.actions}
    assert {*steps} == actions - {"fence", "write_marker_again"}


@pytest.mark.parametrize("constants", [QUIET, {**ONE, **LATE}, {**ONE, "partitions": 2}])
def test_more_steps_are_explained(constants: Constants) -> None:
    assert not coverage(TopicIds(**constants))["unexplained"]


@pytest.mark.parametrize("bug", [ConfirmsByName, SkipsMarker])
def test_a_bug_is_unexplained(bug: type[TopicIds]) -> None:
    """`confirms-by-name` verifies a topic that the coordinator does not know, and `skips-marker`
    skips the marker of a topic that exists.
    """
    assert coverage(bug(**ONE))["unexplained"]
