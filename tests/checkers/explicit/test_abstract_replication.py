"""The abstract replication spec at a small scope: its state counts, its lemmas and its bugs.

A second model of the same protocol was written independently, in another notation, and explored by
other code. It lacks three rules of this spec: epochs without a leader, rejected proposals, and a
high watermark that falls back to that of a new leader. Without these rules, this spec has as many
states as the second model: 4,398 without a bug, 4,648 with the first bug, and 4,938 with the second
one.
"""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.language import action, false, when
from model.language.interpreter import Interpreter
from model.replication_abstract.bugs import CutsAtHighWatermark, JoinsAtHighWatermark, LosesItsTail
from model.replication_abstract.state import LeaderEpoch, Offset, Replica
from model.replication_abstract.versions import ReplicationProof, WithLosses
from tests.model.conftest import Play


class CountedElsewhere(ReplicationProof):
    """The abstract replication spec without three of its rules.

    An independent model of the same protocol lacks these rules too, and has the same state counts.
    """

    @action
    def elect_nobody(s, newer: LeaderEpoch) -> None:
        when(false)

    @action
    def refuse(s) -> None:
        when(false)

    @action
    def follower_high_watermark(s, r: Replica, latest: Offset, mark: Offset) -> None:
        when(s.replica[r].high_watermark < mark)
        super().follower_high_watermark(r, latest, mark)


class CutsCountedElsewhere(CountedElsewhere, CutsAtHighWatermark): ...


class JoinsCountedElsewhere(CountedElsewhere, JoinsAtHighWatermark): ...


@pytest.mark.parametrize(
    ("cls", "distinct", "violated"),
    [
        (CountedElsewhere, 4_398, {}),
        (CutsCountedElsewhere, 4_648, {"isr_has_what_is_committed": 6}),
        (JoinsCountedElsewhere, 4_938, {"isr_has_what_is_committed": 9}),
        (ReplicationProof, 5_446, {}),
    ],
)
def test_two_replicas_and_two_epochs_have_the_recorded_counts(
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


def test_every_lemma_holds_for_longer_logs() -> None:
    spec = ReplicationProof(leader_epochs=2, offsets=3)
    found = explore(spec, properties=[claim.name for claim in spec.claims])
    assert (found.distinct, found.depth) == (41_338, 19)
    assert not found.violated
    assert found.witnesses["a_follower_diverges"].states == 428


def test_every_lemma_documents_why_it_is_true() -> None:
    assert [claim.name for claim in ReplicationProof().claims if not claim.summary] == []


# ---------------------------------------------------------------- losses


def test_two_faults_in_two_epochs_keep_the_claims_and_reach_every_witness() -> None:
    found = explore(WithLosses(leader_epochs=2, max_faults=2))
    assert found.exhausted
    assert not found.violated
    assert [name for name, seen in found.witnesses.items() if not seen.states] == []
    assert found.never_taken == ("elect_last_known",)  # needs three leader epochs


def test_without_faults_the_version_with_losses_has_the_states_of_the_proved_one() -> None:
    """If no fault may happen, the version with losses has no more states than the proved version.

    Flushes are switched off too, because they matter only after a power loss.
    """
    found = explore(NeverFlushes(leader_epochs=2, max_faults=0))
    assert found.distinct <= explore(ReplicationProof(leader_epochs=2)).distinct
    assert not found.violated
    assert {"lose_power", "lose_disk", "elect_unclean", "become_leader_without"} <= {
        *found.never_taken
    }


def test_an_unclean_election_is_of_a_replica_outside_the_isr() -> None:
    run = begin(WithLosses(leader_epochs=2, max_faults=1))
    assert "isr[newest][leader]" in run.refused("elect_unclean 1 1")
    run.do("shrink_isr 1", "elect_unclean 1 1")
    assert (run["isr 1 0"], run["isr 1 1"]) == (False, True)


def test_only_the_last_leader_is_elected_from_an_empty_isr() -> None:
    run = begin(WithLosses(leader_epochs=3, max_faults=1)).do("elect_nobody 1", "shrink_isr 1")
    assert "isr[newest]" in run.refused("elect_last_known 0 2"), "replica 0 is a member"
    run.do("shrink_isr 0")
    assert "elected" in run.refused("elect_last_known 1 2"), "replica 0 led last"
    run.do("elect_last_known 0 2")
    assert (run["isr 2 0"], run["isr 2 1"]) == (True, False)


def test_a_leader_that_lost_its_disk_may_begin_after_a_newer_leader_replaced_it() -> None:
    run = begin(WithLosses(leader_epochs=3, max_faults=2))
    run.do("append 0 0 1", "fetch_response 1 0 1", "elect 1 1", "shrink_isr 0", "lose_disk 1")
    assert run.refused("become_leader 1 1"), "it may lack what is committed"
    run.do("elect_unclean 0 2", "become_leader_without 0 2 0", "become_leader 1 1")
    assert run.broken() == set()


def begin(spec: WithLosses) -> Play:
    """Returns an execution in which replica 0 leads at first."""
    state, *_ = Interpreter.of(spec).initial(spec)
    return Play(spec, state)


class NeverFlushes(WithLosses):
    """The spec `WithLosses` (power losses and lost disks), but replicas never flush their logs."""

    @action
    def flush(s, r: Replica, end: Offset) -> None:
        when(false)
