"""Runs of the election spec: bugs that Kafka has fixed, and losses that Kafka 4.3 permits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.election.bugs import (
    AdmitsUnclean,
    CommitsBelowMinIsr,
    CountsKnownIsr,
    ElectsAnybody,
    ElectsFromIsrOnly,
    ElectsTheDead,
    EligibleForEver,
    FallsBackOnAnyRefusal,
    FencesInBatch,
    IgnoresBrokerEpochs,
    JoinsBelowHighWatermark,
    KeepsEpoch,
    KeepsHighWatermark,
    ReadsReplicaTwice,
    RemembersOne,
    TrustsLastLeader,
    TrustsOneAck,
    WaitsAfterRefusal,
)
from model.election.state import BrokerEpoch
from model.election.versions import BeforeElr, Election, Kip966
from model.language import Spec

if TYPE_CHECKING:
    from tests.model.conftest import Play  # pytest gives the fixture; its class is named here

    Begin = Callable[[Spec], Play]

SHIPPED = Election()

# b0 leads, and a record is on both before it is committed
COMMITTED = ("write 0", "fetch 1 0", "fetch 1 0", "advance_high_watermark 0")
RESTARTS_EMPTY = ("lose_power 1 0", "detect_crash 1", "register 1")
TWO_RECORDS = {"log_size": 2, "max_records": 2}


# ---- KIP-903: in which life a broker has fetched


def test_a_fetch_with_an_old_broker_epoch_is_refused(play: Begin) -> None:
    run = play(SHIPPED).do(*COMMITTED, *RESTARTS_EMPTY, "apply_metadata 0", "unfence 1")
    assert "broker_epoch" in run.refused("take_late_fetch 0 1")


def test_a_fetch_with_an_ignored_broker_epoch_elects_an_empty_disk(play: Begin) -> None:
    """With the bug KAFKA-14139 the leader ignores the broker epoch of a fetch.

    b1 restarts with an empty disk. A fetch from before the restart lets b1 join the ISR, and b1 is
    elected.
    """
    run = play(IgnoresBrokerEpochs()).do(*COMMITTED, *RESTARTS_EMPTY, "apply_metadata 0")
    run.do("unfence 1", "take_late_fetch 0 1")
    assert "candidate_completeness" in run.do("grant_isr 0").broken()
    assert "leader_completeness" in run.do("expire_session 0").broken()


def test_an_offset_and_a_broker_epoch_of_two_lives_elect_an_empty_disk(play: Begin) -> None:
    """With the bug KAFKA-15221, a broker that lost its disk joins the ISR and is elected.

    b1 fetches, and then restarts with an empty disk and a new broker epoch. The leader combines the
    offset of the old fetch with the new broker epoch, so b1 seems to have all records.
    """
    run = play(ReadsReplicaTwice(**TWO_RECORDS)).do(
        *("write 0", "write 0", "fetch 1 0", "fetch 1 0", "advance_high_watermark 0"),
        *("fetch 1 0", "advance_high_watermark 0", *RESTARTS_EMPTY, "apply_metadata 0"),
        *("apply_metadata 1", "fetch 1 0", "unfence 1", "take_late_fetch 0 1"),
    )
    assert run["broker.proposed_broker_epoch 0"] == run["registration.broker_epoch 1"] == 1
    assert "leader_completeness" in run.do("grant_isr 0", "expire_session 0").broken()


# ---- KIP-497: who may have been let in

SMALL_ISR = {"min_isr": 1, "max_unclean": 0, **TWO_RECORDS}
SMALL = Election(**SMALL_ISR)
PROPOSED = (
    *("write 0", "write 0", "shrink_isr 0 1", "grant_isr 0", "apply_metadata 0", "fetch 1 0"),
)


def test_a_leader_waits_for_the_proposed_members(play: Begin) -> None:
    run = play(SMALL).do(*PROPOSED, "fetch 1 0", "advance_high_watermark 0")
    assert "proposed" in run.refused("advance_high_watermark 0")


def test_without_the_maximal_isr_a_new_member_lacks_a_record(play: Begin) -> None:
    """If a leader waits only for the known ISR, a new ISR member may lack a committed record.

    Since KIP-497 the leader waits for the maximal ISR: the known ISR and the replicas that it has
    proposed as members.
    """
    run = play(CountsKnownIsr(**SMALL_ISR)).do(*PROPOSED)
    run.do("advance_high_watermark 0", "advance_high_watermark 0", "grant_isr 0")
    assert {"candidate_completeness", "replication_quorum_superset"} <= run.broken()
    assert "leader_completeness" in run.do("expire_session 0").broken()


def test_a_refusal_may_come_after_the_grant(play: Begin) -> None:
    lost = play(FallsBackOnAnyRefusal(**SMALL_ISR)).do(*PROPOSED, "grant_isr 0", "refuse_isr 0")
    lost.do("advance_high_watermark 0", "advance_high_watermark 0", "expire_session 0")
    assert "leader_completeness" in lost.broken()
    waits = play(SMALL).do(*PROPOSED, "grant_isr 0")
    assert waits.refused("refuse_isr 0") == "broker.is_current[leader]"


def test_a_follower_joins_at_the_high_watermark_and_not_below(play: Begin) -> None:
    script = (*PROPOSED[:-1], "advance_high_watermark 0", "advance_high_watermark 0", "fetch 1 0")
    lost = play(JoinsBelowHighWatermark(**SMALL_ISR)).do(*script, "grant_isr 0")
    assert "candidate_completeness" in lost.broken()
    waits = play(SMALL).do(*script)
    assert waits.refused("grant_isr 0") == "broker.is_pending[leader]"


# ---- KIP-966: the last replica standing

ALONE = ("expire_session 1", "lose_power 0 0", "detect_crash 0", "register 0")


def test_before_the_elr_the_last_isr_member_leads_with_a_truncated_log(play: Begin) -> None:
    """Without the ELR, b0 is elected as last ISR member, although b0 lost a committed record.

    b1 still has the record, and loses the record when b1 truncates its log to b0's log.
    """
    run = play(BeforeElr()).do(*COMMITTED, *ALONE)
    assert "leader_completeness" in run.do("unfence 0").broken()
    assert "nothing_committed_is_lost" not in run.broken()
    run.do("apply_metadata 0", "apply_metadata 1", "truncate_to_shared 1 0")
    assert "nothing_committed_is_lost" in run.broken()


def test_a_replica_with_the_committed_record_is_eligible(play: Begin) -> None:
    run = play(SHIPPED).do(*COMMITTED, *ALONE, "unfence 0")
    assert run["partition_registration.leader"] is None
    assert run.do("unfence 1")["partition_registration.leader"] == 1
    assert run.broken() == set()


def test_a_replica_that_lost_records_is_eligible_if_unclean_stops_go_unnoticed(play: Begin) -> None:
    run = play(AdmitsUnclean()).do(*COMMITTED, *ALONE[:-1])
    assert run.broken_by("register 0") == {"unclean_is_excluded"}
    assert "leader_completeness" in run.do("unfence 0").broken()


def test_a_leader_alone_commits_nothing(play: Begin) -> None:
    """A leader commits nothing while the ISR is smaller than min.insync.replicas.

    Before KIP-966 b0 alone commits a record that b1 lacks, although b1 is still eligible to lead.
    """
    alone = ("write 0", "expire_session 1", "apply_metadata 0")
    run = play(CommitsBelowMinIsr()).do(*alone)
    assert run.broken_by("advance_high_watermark 0") == {
        "acknowledged_within_isr",
        "committed_by_enough",
    }
    assert "candidate_completeness" in run.broken()
    waits = play(SHIPPED).do(*alone)
    assert waits.refused("advance_high_watermark 0").startswith("2 <= count")


def test_another_leader_overwrites_a_record_that_one_leader_committed_alone(play: Begin) -> None:
    run = play(CommitsBelowMinIsr(**TWO_RECORDS)).do(
        *("write 0", "shrink_isr 0 1", "grant_isr 0", "apply_metadata 0"),
        *("advance_high_watermark 0", "expire_session 0", "apply_metadata 1", "write 1"),
    )
    assert "log_matching" not in run.broken()
    assert "log_matching" in run.do("advance_high_watermark 1").broken()


def test_a_replica_that_left_a_large_enough_isr_is_not_eligible(play: Begin) -> None:
    run = play(EligibleForEver(replicas=3, max_unclean=0)).do("write 0", "fetch 1 0", "fetch 1 0")
    run.do("expire_session 2", "apply_metadata 0", "advance_high_watermark 0")
    assert {"candidate_completeness", "isr_and_elr"} <= run.broken()


# ---- the last known leader

NOBODY_ELIGIBLE = ("kill 0", "expire_session 1", "detect_crash 0")


def test_a_fenced_last_leader_is_not_elected(play: Begin) -> None:
    """The last known leader is elected only after it is unfenced.

    An unclean stop has left no eligible replica, so only the last known leader can lead. The bug
    KAFKA-19522 elects it while it is fenced.
    """
    dead = play(ElectsTheDead(min_isr=1)).do(*NOBODY_ELIGIBLE, "register 0")
    assert dead["partition_registration.leader"] == 0
    assert "leader_is_alive_and_in_isr" in dead.broken()
    run = play(Election(min_isr=1)).do(*NOBODY_ELIGIBLE, "register 0")
    assert run["partition_registration.leader"] is None
    assert run.do("unfence 0")["partition_registration.leader"] == 0


def test_an_unclean_election_loses_a_committed_record(play: Begin) -> None:
    script = (
        *("write 0", "shrink_isr 0 1", "grant_isr 0", "apply_metadata 0"),
        *("advance_high_watermark 0", "expire_session 0"),
    )
    unclean = play(ElectsAnybody(**SMALL_ISR)).do(*script)
    assert (unclean["partition_registration.leader"], unclean.broken()) == (
        1,
        {"leader_completeness", "candidate_completeness"},
    )
    clean = play(SMALL).do(*script)
    assert (clean["partition_registration.leader"], clean.broken()) == (None, set())


BOTH_STOP = (
    *(*COMMITTED, "kill 0", "lose_power 1 0", "detect_crash 0", "detect_crash 1"),
    *("register 0", "register 1"),
)


def test_the_last_known_leader_leads_even_with_lost_records(play: Begin) -> None:
    """As in Kafka, the last known leader b1 is elected although it lost a record that b0 still has.

    Both brokers stopped uncleanly before.
    """
    run = play(TrustsLastLeader(max_unclean=2)).do(*BOTH_STOP, "unfence 1")
    assert run.broken() == {"leader_completeness", "candidate_completeness"}


def test_balanced_recovery_queries_both_replicas(play: Begin) -> None:
    run = play(Kip966(max_unclean=2)).do(*BOTH_STOP, "unfence 1")
    assert run["partition_registration.leader"] is None
    assert "registration.fenced" in run.refused("recover_balanced 1")
    run.do("unfence 0")
    assert "written_in" in run.refused("recover_balanced 1")
    assert run.do("recover_balanced 0").broken() == set()


def test_recovery_that_queries_only_the_last_leader_elects_it(play: Begin) -> None:
    run = play(RemembersOne(max_unclean=2)).do(*BOTH_STOP)
    assert run.broken() == {"enough_last_known_leaders"}
    run.do("unfence 1", "recover_balanced 1")
    assert "leader_completeness" in run.broken()


# ---- the controller


def test_two_expired_brokers_are_fenced_one_by_one(play: Begin) -> None:
    """The controller fences two crashed brokers one by one; then the partition has no leader.

    With the bug KAFKA-13173, the controller fences both in one batch, and elects one of them.
    """
    batch = play(FencesInBatch(max_unclean=2)).do("kill 0", "kill 1", "detect_crash 0")
    assert (batch["partition_registration.leader"], batch["registration.fenced 1"]) == (1, True)
    assert {"leader_is_alive_and_in_isr", "fenced_is_out_of_sync"} <= batch.broken()
    run = play(Election(max_unclean=2)).do("kill 0", "kill 1", "detect_crash 0", "detect_crash 1")
    assert (run["partition_registration.leader"], run.broken()) == (None, set())


def test_without_a_new_epoch_two_leaders_share_one(play: Begin) -> None:
    run = play(KeepsEpoch())
    assert run.broken_by("move_leader 1") == {"epochs_grow"}
    assert run.do("apply_metadata 1").broken() == {"one_leader_per_epoch"}


# ---- acks


def test_a_planned_move_loses_a_record_that_only_the_leader_has(play: Begin) -> None:
    """With acks=1, a planned move of leadership loses a record that only the old leader has.

    Kafka permits this loss; with acks=all this record is not acknowledged.
    """
    assert "leader_completeness" in play(TrustsOneAck()).do("write 0", "move_leader 1").broken()
    assert play(SHIPPED).do("write 0", "move_leader 1").broken() == set()


def test_a_high_watermark_is_not_beyond_the_log(play: Begin) -> None:
    lost = (*COMMITTED, "lose_power 0 0")
    assert "high_watermark_in_log" in play(KeepsHighWatermark()).do(*lost).broken()
    assert play(SHIPPED).do(*lost).broken() == set()


def test_each_fault_may_need_one_more_registration_of_a_broker() -> None:
    scope = Election(max_unclean=1, max_disruptions=2, max_losses=1).scope()
    assert scope[BrokerEpoch] == 1 + (1 + 2 + 1)


# ---- what happens in the end


def test_electing_from_the_isr_only_leaves_no_leader() -> None:
    stuck = decide(ElectsFromIsrOnly(max_unclean=0))
    assert {name for name, found in stuck.items() if found.verdict == "violated"} == {
        "somebody_leads",
        "everybody_is_in_sync",
        "everything_is_committed",
    }


def test_waiting_after_a_refusal_blocks_further_requests() -> None:
    stuck = decide(WaitsAfterRefusal(max_unclean=0))
    assert {name for name, found in stuck.items() if found.verdict == "violated"} == {
        "requests_are_answered",
        "everybody_is_in_sync",
        "everything_is_committed",
    }


# ---- larger scopes


@pytest.mark.parametrize(
    ("spec", "distinct"),
    [
        (Election(replicas=3, max_disruptions=0), 22_351),
        (Election(replicas=3, max_unclean=0), 23_977),
        (Election(**TWO_RECORDS), 148_103),
        (Election(max_unclean=2), 243_570),
        (Kip966(max_unclean=2), 263_222),
    ],
    ids=["three brokers crash", "three brokers move", "two records", "two crashes", "kip-966"],
)
def test_no_record_is_lost_with_these_constants(spec: Election, distinct: int) -> None:
    found = explore(spec)
    assert found.exhausted
    assert found.violated == ()
    assert found.distinct == distinct
