"""Each spec has the recorded numbers of states and transitions at its default bounds.

The distance to each witness is recorded too. A witness is a condition that is true in some
reachable state. Its distance is the fewest steps to such a state.

Some guards matter only beyond the default bounds, or when an action is switched on. A few more
explorations cover these guards.

A changed guard or update of a spec changes some of these numbers, even if every claim still holds.
After an intended change of a spec, write the new numbers here, and explain in the commit why
they are right.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from checkers.explicit.search import explore
from model.consumer_group.versions import ConsumerGroup, StaticMembers
from model.election.versions import Kip966
from model.group_offsets.versions import GroupOffsets
from model.language import Spec
from model.pipeline_abstract.failover import WithFailover
from model.pipeline_abstract.late_requests import WithLateRequests
from model.quorum.versions import Quorum
from model.read_committed_abstract.versions import ReadCommitted
from model.replication_abstract.versions import WithLosses
from model.specs import SPECS, find
from model.transactions.state import QUIET
from model.transactions.versions import Version1


class Counts(NamedTuple):
    """The counts of a complete exploration.

    `witnesses` has, for each witness, the fewest steps to a state in which it is true; -1 if none.
    """

    distinct: int
    generated: int
    depth: int
    witnesses: tuple[int, ...]


COUNTS = {
    "replication": Counts(47_203, 128_623, 22, (7, 4)),
    "election": Counts(26_753, 70_323, 24, (6, 2, 7, 5, 1)),
    "reassignment": Counts(24_759, 65_193, 23, (4, 2, 5, 5, 1, 4, 2)),
    "group-offsets": Counts(220_612, 911_696, 26, (8, 9, 7, 7)),
    "classic-group": Counts(86_284, 485_888, 26, (7, 7, 10, 12)),
    "consumer-group": Counts(73_756, 303_153, 24, (9, 11, 7, 9)),
    "share-group": Counts(69_904, 211_892, 20, (3, 6, 5, 6, 5)),
    "retention": Counts(8_964, 31_738, 16, (4, 6, 6, 5)),
    "quorum": Counts(80_350, 302_508, 24, (6, 6, 11)),
    "transactions": Counts(45_761, 132_345, 43, (13, 13, 13, 10, 26)),
    "idempotence": Counts(764, 1_945, 17, (4, 7, 7, 3)),
    "replication-abstract": Counts(162_154, 1_612_700, 25, (5, 4)),
    "transactions-abstract": Counts(1_660, 5_579, 14, (6, 6, 9, 4)),
    "idempotence-abstract": Counts(4_816, 27_282, 11, (4, 2, 3)),
    "quorum-abstract": Counts(482_956, 4_907_905, 27, (13, 10)),
    "read-committed-abstract": Counts(298_024, 1_858_888, 23, (3, 6, 5, 6)),
    "classic-group-abstract": Counts(93_203, 443_066, 23, (8, 7, 14)),
    "reassignment-abstract": Counts(788_436, 5_625_440, 34, (6, 7, 2)),
    "consumer-group-abstract": Counts(72_637, 415_109, 22, (7, 10, 6, 9)),
    "pipeline-abstract": Counts(108_797, 466_446, 26, (8, 10, 5, 5, 5)),
    "share-group-abstract": Counts(64_214, 363_594, 20, (3, 2, 3, 5, 4)),
    "retention-abstract": Counts(14_932, 57_958, 19, (4, 6, 5, 5, 7)),
    "coordinator-abstract": Counts(98_482, 536_320, 30, (9, 10, 17, 8)),
}


# With one input, no consumer can read on after its commit; with two generations, no commit of the
# first is older than the last but one. No replica of a quorum and no append to the log of a
# transaction coordinator fails by default. An earlier version of the election has guards of its
# own, and so has the replication that may lose records. A second producer matters to a reader, and
# a second partition to a transaction with offsets of both, and to the member of a consumer-group
# that revokes one after another. By default, consumer-group has no static members.
BEYOND = [
    (
        GroupOffsets(inputs=2, generations=1, log_size=3),
        Counts(19_408, 70_394, 20, (8, 9, -1, 7)),
    ),
    (
        GroupOffsets(inputs=1, generations=3, log_size=3),
        Counts(191_108, 865_117, 24, (8, 9, 7, 7)),
    ),
    (
        GroupOffsets(partitions=2, generations=1, log_size=3),
        Counts(79_026, 315_497, 21, (11, 9, -1, 7)),
    ),
    (Kip966(min_isr=1), Counts(29_384, 82_450, 24, (4, 2, 6, 5, 3))),
    (Quorum(max_failures=1), Counts(366_463, 1_667_553, 25, (6, 6, 11))),
    (Version1(**{**QUIET, "append_failures": 2}), Counts(3_831, 5_315, 29, (10, 10, -1, 9, 13))),
    (
        WithLosses(leader_epochs=2, max_faults=2),
        Counts(389_904, 4_612_730, 25, (5, 4, 6, 7, 8, 6)),
    ),
    (ReadCommitted(producers=2, offsets=3), Counts(64_164, 351_136, 20, (3, 6, 5, -1))),
    (ConsumerGroup(partitions=2), Counts(319_115, 1_356_449, 27, (9, 11, 7, 9))),
    (StaticMembers(), Counts(288_585, 1_296_685, 26, (9, 11, 7, 9, 9, 8, 11))),
    (WithLateRequests(), Counts(29_523, 107_391, 26, (12, 14, 7, 7, 9, 7, 7, 8, 15))),
    (WithFailover(), Counts(43_860, 208_869, 28, (14, 16, 8, 9, 10, 9, 9, 10, 17, 12))),
]


def counts(spec: Spec) -> Counts:
    """Explores the spec, and returns its counts. For a witness that is not reached, the length of
    the run is -1.
    """
    found = explore(spec)
    assert found.exhausted
    assert not found.violated
    witnesses = tuple(len(one.trace) - 1 for one in found.witnesses.values())
    return Counts(found.distinct, found.generated, found.depth, witnesses)


@pytest.mark.parametrize("spec", SPECS)
def test_the_counts_at_the_default_bounds_are_the_recorded_ones(spec: str) -> None:
    assert counts(find(spec).make()) == COUNTS[spec]


@pytest.mark.parametrize(
    ("spec", "recorded"),
    BEYOND,
    ids=[
        "two inputs of group-offsets",
        "three generations of group-offsets",
        "two partitions of group-offsets",
        "kip-966 of election",
        "a failed replica of quorum",
        "failed appends of transactions",
        "losses of replication-abstract",
        "two producers of read-committed-abstract",
        "two partitions of consumer-group",
        "static members of consumer-group",
        "late requests of pipeline-abstract",
        "failover of pipeline-abstract",
    ],
)
def test_the_counts_beyond_the_default_bounds_are_the_recorded_ones(
    spec: Spec, recorded: Counts
) -> None:
    assert counts(spec) == recorded
