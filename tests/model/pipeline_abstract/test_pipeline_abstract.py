"""It is proved that each input of a pipeline has its effect exactly once. Without one of the rules,
the proof
fails.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.pipeline_abstract.bugs import (
    CommitsOutside,
    CommitsWithoutOffsets,
    CountsAborted,
    FetchesBeforeInit,
    ForgetsGeneration,
    IgnoresEpoch,
    InheritsTransaction,
    KeepsProducer,
    LearnsInTransaction,
    ReadsOnAfterAbort,
    ReadsUncommitted,
    ReturnsUnstable,
    SkipsMarker,
)
from model.pipeline_abstract.versions import IdPerPartition, Pipeline
from tests.model.conftest import Begin
from tests.model.proofs import assert_fails


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_claims_are_proved_without_bounds(seed: int) -> None:
    proof = prove(Pipeline(), seed=seed)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


def test_the_claims_are_proved_with_an_id_for_each_partition() -> None:
    proof = prove(IdPerPartition())
    assert proof.holds, proof.reason


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (ForgetsGeneration, "send_offset", "pending_offsets_match_effects"),
        (ReturnsUnstable, "fetch_offset", "only_the_reader_sends_offsets"),
        (InheritsTransaction, "init_transactions", "written_is_below_position"),
        (IgnoresEpoch, "process", "written_is_below_position"),
        (CommitsOutside, "send_offset", "position_is_exact"),
        (CommitsWithoutOffsets, "commit", "position_is_exact"),
        (ReadsOnAfterAbort, "abort", "readers_skip_nothing"),
        (LearnsInTransaction, "learn_generation", "written_is_below_position"),
        (ReadsUncommitted, "write_output_marker", "position_is_exact"),
        (SkipsMarker, "complete", "position_is_exact"),
        (CountsAborted, "write_offset_marker", "position_is_exact"),
        (FetchesBeforeInit, "fetch_offset", "readers_use_the_id"),
        (KeepsProducer, "fetch_offset", "only_the_reader_sends_offsets"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[Pipeline], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong().scope())


# ---- runs

# instance 0 has written the effect of input 0; the group has given the partition to instance 1
TAKEN_OVER = [
    "init_transactions 0 0",
    "init_transactions 1 1",
    "assign 0 0",
    "fetch_offset 0 0",
    "process 0 0 0 1",
    "rebalance 1",
    "assign 0 1",
    "learn_generation 1",
]
COMMITTED_BY_1 = ["fetch_offset 1 0", "process 1 1 0 1", "send_offset 1 1 0", "commit 1 1"]
ENDED_BY_1 = ["write_output_marker 1", "write_offset_marker 1", "complete 1"]


def test_a_zombie_cannot_send_its_offset(play: Begin) -> None:
    run = play(Pipeline()).do(*TAKEN_OVER, *COMMITTED_BY_1)
    assert run.refused("send_offset 0 0 0") == "known_generation[i] == generation"
    assert "pending" in run.refused("commit 0 0")
    run.do(*ENDED_BY_1, "abort 0", "write_output_marker 0")
    assert (run["received 0 0"], run["repeated 0 0"]) == (True, False)


def test_without_the_generation_the_zombie_repeats_an_effect(play: Begin) -> None:
    run = play(ForgetsGeneration()).do(*TAKEN_OVER, *COMMITTED_BY_1, *ENDED_BY_1)
    run.do("send_offset 0 0 0", "commit 0 0", "write_output_marker 0")
    assert run.broken() == {"each_input_at_most_once"}


def test_a_new_owner_waits_for_a_pending_offset(play: Begin) -> None:
    """A transaction whose offset was sent before a rebalance may commit after the rebalance. So the
    new owner must wait for the transaction's end.
    """
    run = play(Pipeline()).do(*TAKEN_OVER[:5], "send_offset 0 0 0", *TAKEN_OVER[5:])
    assert "pending" in run.refused("fetch_offset 1 0")
    run.do("commit 0 0", "write_output_marker 0")
    assert "pending" in run.refused("fetch_offset 1 0")
    run.do("write_offset_marker 0", "fetch_offset 1 0")
    assert run["position 1 0"] == 1


def test_a_restarted_process_takes_its_id_over_and_reads_the_input_again(play: Begin) -> None:
    """Instance 1 is the process of instance 0 after a crash, and uses the same id."""
    run = play(Pipeline()).do(*TAKEN_OVER[:1], *TAKEN_OVER[2:])
    assert "~(committed[x] | aborted[x])" in run.refused("init_transactions 1 0")
    run.do("abort 0", "write_output_marker 0", "write_offset_marker 0", "complete 0")
    run.do("init_transactions 1 0", "fetch_offset 1 0", "process 1 0 0 1", "fetch_offset 0 0")
    assert run.refused("process 0 0 0 1") == "(uses[i] == x) & (holder[x] == i)"
    run.do("send_offset 1 0 0", "commit 1 0", "write_output_marker 0", "write_offset_marker 0")
    assert (run["received 0 0"], run["committed_offset 0"]) == (True, 1)
    assert run.broken() == set()


def test_two_partitions_are_committed_together(play: Begin) -> None:
    run = play(Pipeline(partitions=2)).do(
        "init_transactions 0 0",
        "assign 0 0",
        "assign 1 0",
        "fetch_offset 0 0",
        "fetch_offset 0 1",
        "process 0 0 0 1",
        "process 0 0 1 1",
        "send_offset 0 0 0",
    )
    assert "pending" in run.refused("commit 0 0")
    run.do("send_offset 0 0 1", "commit 0 0", "write_offset_marker 0")
    assert [run[f"committed_offset {p}"] for p in range(2)] == [1, 1]
    assert run.broken() == set()


def test_a_skipped_marker_drops_the_position_of_a_committed_transaction(play: Begin) -> None:
    """The steps of KAFKA-20734, with `__consumer_offsets` as the partition without a leader."""
    run = play(SkipsMarker(offsets=3)).do(*TAKEN_OVER[:5], "send_offset 0 0 0", "commit 0 0")
    run.do("write_output_marker 0", "complete 0")
    assert run.broken() == {"position_is_exact", "output_is_exact_when_settled"}
    run.do("abort 0", "write_offset_marker 0")
    assert (run["received 0 0"], run["committed_offset 0"]) == (True, 0)
