"""Abstract replication at a small scope: its counts, its lemmas, and the bugs that it would have.

The same rules were written once more, in another notation and searched by other code, with the same
counts: 4,398 states as it is, 4,648 and 4,938 with its first two bugs, and the same steps.
"""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.replication_abstract.bugs import CutsAtHighWatermark, JoinsAtHighWatermark, LosesItsTail
from model.replication_abstract.proof import ReplicationProof


@pytest.mark.parametrize(
    ("cls", "distinct", "violated"),
    [
        (ReplicationProof, 4_398, {}),
        (CutsAtHighWatermark, 4_648, {"isr_has_what_is_committed": 6}),
        (JoinsAtHighWatermark, 4_938, {"isr_has_what_is_committed": 9}),
    ],
)
def test_two_replicas_two_epochs(
    cls: type[ReplicationProof], distinct: int, violated: dict[str, int]
) -> None:
    found = explore(cls(leader_epochs=2))
    assert (found.distinct, found.depth, found.exhausted) == (distinct, 17, True)
    assert {name: found.discoveries[name].steps for name in found.violated} == violated


def test_a_lost_tail_breaks_both_claims() -> None:
    found = explore(LosesItsTail(leader_epochs=2))
    assert {name: found.discoveries[name].steps for name in found.violated} == {
        "isr_has_what_is_committed": 5,
        "high_watermarks_are_committed": 9,
    }


def test_longer_logs() -> None:
    """Two records: a log can agree below and differ above. Every lemma is true there too."""
    spec = ReplicationProof(leader_epochs=2, offsets=3)
    found = explore(spec, properties=[claim.name for claim in spec.claims])
    assert (found.distinct, found.depth) == (36_602, 19)
    assert not found.violated
    assert found.witnesses["a_follower_diverges"].states == 428


def test_every_lemma_says_why_it_is_true() -> None:
    assert [claim.name for claim in ReplicationProof().claims if not claim.says] == []
