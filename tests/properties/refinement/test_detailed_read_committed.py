"""Each step of the spec `transactions` is zero, one or more steps of `read-committed-abstract`.

Here `transactions` is called the detailed spec, because it has more detail than the abstract one.
"""

from __future__ import annotations

import pytest

from model.transactions.partition_bugs import ReadsHighWatermarkTwice, StableAtFirstOpen
from model.transactions.state import QUIET, Offset, TopicPartition
from model.transactions.versions import LaxMarkers, Transactions
from model.variants import Constants
from properties.refinement.detailed_read_committed import Refinement

CHANGES: Constants = {
    **QUIET,
    "replication_lags": True,
    "leader_changes": 1,
    "transactions": 1,
}
LATE: Constants = {**QUIET, "markers_late": True}


def test_the_detailed_spec_refines_the_abstract_one_if_a_leader_loses_markers() -> None:
    """The abstract spec's reader receives exactly the records that the detailed spec allows."""
    walk = Refinement(Transactions(**CHANGES)).walk()
    assert not walk.unexplained
    assert (walk.pairs, walk.explained) == (
        147,
        {
            "none": 98,
            "begin": 2,
            "append_first": 4,
            "commit": 2,
            "abort": 20,
            "write_marker": 43,
            "advance_high_watermark": 39,
            "change_leader": 79,
            "read": 22,
        },
    )


def test_late_and_repeated_markers_refine_the_abstract_spec() -> None:
    assert not Refinement(Transactions(**LATE)).walk().unexplained


@pytest.mark.parametrize(
    ("wrong", "constants", "at"),
    [
        (StableAtFirstOpen, CHANGES, {"advance_high_watermark", "write_marker"}),
        (ReadsHighWatermarkTwice, CHANGES, {"look_again"}),
        (LaxMarkers, LATE, {"write_late_marker"}),
    ],
)
def test_bugs_take_unexplained_steps(
    wrong: type[Transactions], constants: Constants, at: set[str]
) -> None:
    unexplained = Refinement(wrong(**constants)).walk().unexplained
    assert {one.transition.action for one in unexplained} == at


class ReadsNothing(Transactions):
    """A read_committed reader that stops before the first record, though nothing holds it back."""

    def read_committed_end(s, p: TopicPartition) -> Offset:
        return Offset(0)


def test_a_reader_that_stops_too_early_takes_an_unexplained_step() -> None:
    unexplained = Refinement(ReadsNothing(**LATE)).first_unexplained()
    assert unexplained is not None
    assert unexplained.reason.startswith("a further read: None in the detailed state")
