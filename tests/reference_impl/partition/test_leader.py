"""A leader partition: messages from its producers and its followers, one at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
)
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context
from reference_impl.node.step import Readable, Send
from reference_impl.partition.appends import produce
from reference_impl.partition.isr_proposals import on_altered, on_lag_timer, on_state, propose
from reference_impl.partition.leader import Leader, on_waits_timer, resign
from reference_impl.partition.reads import fetch
from reference_impl.protocol.controller import (
    AlteredPartition,
    AlterPartition,
)
from reference_impl.protocol.messages import (
    ACKS_LEADER,
    ACKS_NONE,
    EpochEndOffset,
    ErrorCode,
    Fetch,
    Fetched,
    Produced,
)
from tests.reference_impl.partition.led import (
    CLIENT,
    TIMEOUTS,
    TP,
    context,
    follower,
    leading,
    proposals,
    record,
    replies,
    state,
    stored,
)

# ---------------------------------------------------------------- producing


def test_acks_all_waits_until_every_in_sync_replica_has_the_record() -> None:
    leader, effects = produce(leading(), context(), CLIENT, record())
    assert replies(effects) == []
    leader, effects = fetch(leader, context(), CLIENT, follower(2, 1))
    assert Produced(base_offset=Offset(0), log_start_offset=Offset(0)) not in replies(effects)
    leader, effects = fetch(leader, context(), CLIENT, follower(3, 1))
    assert Produced(base_offset=Offset(0), log_start_offset=Offset(0)) in replies(effects)
    assert leader.log.high_watermark == 1


def test_a_leader_without_followers_responds_at_the_append_and_sets_no_timer() -> None:
    alone = replace(state(isr=(1,), min_isr=1), replicas=(BrokerId(1),))
    leader, effects = produce(leading(given=alone), context(), CLIENT, record())
    produced = Produced(base_offset=Offset(0), log_start_offset=Offset(0))
    assert effects == (CLIENT.reply(produced), Readable(TP))
    assert (leader.log.high_watermark, leader.waiting_produces, leader.wakes_ms) == (1, (), None)


def test_only_a_new_high_watermark_wakes_waiting_readers() -> None:
    leader, effects = produce(leading(), context(), CLIENT, record())
    assert Readable(TP) not in effects
    leader, effects = fetch(leader, context(), CLIENT, follower(2, 1))
    assert Readable(TP) not in effects
    leader, effects = fetch(leader, context(), CLIENT, follower(3, 1))
    assert Readable(TP) in effects
    _, effects = fetch(leader, context(), CLIENT, follower(3, 1))
    assert Readable(TP) not in effects


def test_acks_1_responds_at_the_append_and_acks_0_only_to_an_error() -> None:
    leader, effects = produce(leading(), context(), CLIENT, record(acks=ACKS_LEADER))
    assert replies(effects) == [Produced(base_offset=Offset(0), log_start_offset=Offset(0))]
    leader, effects = produce(leader, context(), CLIENT, record(acks=ACKS_NONE))
    assert replies(effects) == []
    assert (leader.log.end_offset, leader.log.high_watermark) == (2, 0)
    cut = record(acks=ACKS_NONE).batches[:-1]
    _, effects = produce(leader, context(), CLIENT, replace(record(acks=ACKS_NONE), batches=cut))
    assert replies(effects) == [Produced(error=ErrorCode.INVALID_RECORD)]


@pytest.mark.parametrize("error", [ErrorCode.INVALID_RECORD, ErrorCode.MESSAGE_TOO_LARGE])
def test_a_leader_does_not_read_the_records_again_that_the_server_has_read(
    error: ErrorCode,
) -> None:
    refused = replace(record(), scanned=error)
    leader, effects = produce(leading(), context(), CLIENT, refused)
    assert [answer.error for answer in replies(effects) if isinstance(answer, Produced)] == [error]
    assert leader.log.end_offset == 0


def test_an_isr_below_the_minimum_rejects_acks_all_and_writes_nothing() -> None:
    leader = leading(given=state(isr=(1,), min_isr=2))
    after, effects = produce(leader, context(), CLIENT, record())
    error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert replies(effects) == [Produced(error=error, log_start_offset=Offset(0))]
    assert after.log.end_offset == 0
    after, effects = produce(leader, context(), CLIENT, record(acks=ACKS_LEADER))
    assert after.log.end_offset == 1
    assert after.log.high_watermark == 0  # and it does not count as replicated, since KIP-966


def test_min_insync_replicas_is_capped_by_the_number_of_replicas() -> None:
    assert leading(given=state(min_isr=9)).in_sync.min_insync_replicas == 3


def test_a_retry_gets_the_original_offset_once_it_is_replicated() -> None:
    leader, _ = produce(leading(), context(), CLIENT, record(0))
    leader, effects = produce(leader, context(), CLIENT, record(0))
    assert replies(effects) == []
    assert leader.log.end_offset == 1
    leader, _ = fetch(leader, context(), CLIENT, follower(2, 1))
    leader, effects = fetch(leader, context(), CLIENT, follower(3, 1))
    first = Produced(base_offset=Offset(0), log_start_offset=Offset(0))
    retry = replace(first, append_time_ms=0)  # the time of the batch in the log
    assert [reply for reply in replies(effects) if isinstance(reply, Produced)] == [first, retry]
    leader, effects = produce(leader, context(), CLIENT, record(0))
    assert replies(effects) == [retry]


def test_a_waiting_produce_ends_by_timeout_or_resignation_and_the_record_stays() -> None:
    """A waiting produce request gets an error at its timeout, or when the leader resigns.

    The record stays in the log, and the response has its offset together with the error.

    Kafka: DelayedProduce.onComplete.
    """
    leader, _ = produce(leading(), context(), CLIENT, record())
    appended = Produced(base_offset=Offset(0), log_start_offset=Offset(0))
    resigned = replace(appended, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert replies(resign(leader)) == [resigned]
    leader, effects = on_waits_timer(leader, context(99))
    assert replies(effects) == []
    leader, effects = on_waits_timer(leader, context(100))
    assert replies(effects) == [replace(appended, error=ErrorCode.REQUEST_TIMED_OUT)]
    assert leader.log.end_offset == 1


# ---------------------------------------------------------------- followers


def test_a_fetch_response_has_the_high_watermark_from_before_the_fetch() -> None:
    leader, _ = produce(leading(), context(), CLIENT, record())
    leader, _ = fetch(leader, context(), CLIENT, follower(2, 1))
    leader, effects = fetch(leader, context(), CLIENT, follower(3, 1))
    fetched = [response for response in replies(effects) if isinstance(response, Fetched)]
    assert [response.high_watermark for response in fetched] == [0]
    assert leader.log.high_watermark == 1


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (
            replace(follower(2, 0), current_leader_epoch=LeaderEpoch(4)),
            ErrorCode.FENCED_LEADER_EPOCH,
        ),
        (
            replace(follower(2, 0), current_leader_epoch=LeaderEpoch(6)),
            ErrorCode.UNKNOWN_LEADER_EPOCH,
        ),
        (follower(9, 0), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (
            replace(follower(2, 0, last_epoch=4), replica_epoch=BrokerEpoch(3)),
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ),
        (follower(2, 9, last_epoch=-1), ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_a_fetch_of_the_wrong_broker_epoch_leader_epoch_or_range_is_rejected_and_not_recorded(
    request_: Fetch, error: ErrorCode
) -> None:
    leader = leading(stored(2))
    after, effects = fetch(leader, context(), CLIENT, request_)
    assert [response.error for response in replies(effects) if isinstance(response, Fetched)] == [
        error
    ]
    assert after.in_sync == leader.in_sync


def test_a_diverging_fetch_gets_the_epoch_and_is_not_recorded() -> None:
    leader = leading(stored(3, leader_epoch=2))
    # The follower's last record is of leader epoch 4, which this leader never saw.
    after, effects = fetch(leader, context(), CLIENT, follower(2, 5, last_epoch=4))
    (fetched,) = replies(effects)
    assert isinstance(fetched, Fetched)
    assert fetched.diverging_epoch == EpochEndOffset(
        leader_epoch=LeaderEpoch(2), end_offset=Offset(3)
    )
    assert after.in_sync == leader.in_sync
    # The follower has more records of leader epoch 2 than the leader.
    _, effects = fetch(leader, context(), CLIENT, follower(2, 5, last_epoch=2))
    assert replies(effects) == [fetched]
    # An empty log has lost every leader epoch before its own.
    _, effects = fetch(leading(), context(), CLIENT, follower(2, 5, last_epoch=2))
    (fetched,) = replies(effects)
    assert isinstance(fetched, Fetched)
    assert fetched.diverging_epoch == EpochEndOffset(
        leader_epoch=LeaderEpoch(2), end_offset=Offset(0)
    )


def test_a_fetch_waits_for_a_record_and_gets_it() -> None:
    leader, _ = fetch(leading(), context(), CLIENT, follower(2, 0, last_epoch=-1))
    leader, effects = fetch(leader, context(), CLIENT, follower(2, 0, last_epoch=-1, wait_ms=50))
    assert replies(effects) == []
    leader, effects = produce(leader, context(10), CLIENT, record())
    (fetched,) = replies(effects)
    assert isinstance(fetched, Fetched)
    assert fetched.batches == leader.log.read(Offset(0), below=Offset(1), max_bytes=1)
    leader, _ = fetch(leader, context(20), CLIENT, follower(3, 1, wait_ms=50))
    leader, _ = fetch(leader, context(20), CLIENT, follower(3, 1, wait_ms=50))
    leader, effects = on_waits_timer(leader, context(70))
    assert [type(response) for response in replies(effects)] == [Fetched]


def test_a_lagging_follower_is_proposed_to_leave_and_stays_in_the_maximal_isr() -> None:
    leader, _ = produce(leading(), context(), CLIENT, record())
    late_ms = TIMEOUTS.replica_lag_ms + 1
    leader, _ = fetch(leader, context(late_ms), CLIENT, follower(2, 1))
    leader, effects = on_lag_timer(leader, context(late_ms, correlation=40))
    assert proposals(effects) == [(1, 2)]
    assert leader.in_sync.maximal == (1, 2, 3)
    assert leader.log.high_watermark == 0  # broker 3 may still be counted on
    refused = AlteredPartition(topic_partition=TP, error=ErrorCode.INVALID_UPDATE_VERSION)
    assert on_altered(leader, context(late_ms), 40, refused)[0] == leader
    accepted = AlteredPartition(topic_partition=TP, state=state(isr=(1, 2), version=1))
    leader, effects = on_altered(leader, context(late_ms), 40, accepted)
    assert leader.log.high_watermark == 1
    assert leader.in_sync.proposal is None


def test_a_caught_up_replica_outside_the_isr_holds_back_the_high_watermark() -> None:
    leader = leading(given=state(isr=(1, 2)))
    pending, _ = propose(leader, context(), (BrokerId(1), BrokerId(2)))
    leader, _ = fetch(pending, context(), CLIENT, follower(3, 0, last_epoch=-1))
    leader, _ = produce(leader, context(), CLIENT, record())
    waiting, _ = fetch(leader, context(), CLIENT, follower(2, 1))
    assert waiting.log.high_watermark == 0
    fenced, _ = fetch(leader, context(fenced=(3,)), CLIENT, follower(2, 1))
    assert fenced.log.high_watermark == 1
    late_ms = TIMEOUTS.replica_lag_ms + 1
    late, _ = fetch(leader, context(late_ms), CLIENT, follower(2, 1))
    assert late.log.high_watermark == 1


def test_a_proposed_replica_counts_until_the_controller_responds() -> None:
    leader = leading(stored(1, high_watermark=1), state(isr=(1, 2)))
    leader, _ = fetch(leader, context(correlation=8), CLIENT, follower(3, 1, last_epoch=4))
    leader, _ = produce(leader, context(), CLIENT, record())
    late_ms = TIMEOUTS.replica_lag_ms + 1  # broker 3 keeps up no more
    leader, _ = fetch(leader, context(late_ms), CLIENT, follower(2, 2))
    assert leader.log.high_watermark == 1
    ineligible = AlteredPartition(topic_partition=TP, error=ErrorCode.INELIGIBLE_REPLICA)
    leader, _ = on_altered(leader, context(late_ms), 8, ineligible)
    assert leader.log.high_watermark == 2


def test_only_the_last_ineligible_replica_error_ends_a_proposal() -> None:
    leader = leading(stored(1, high_watermark=1), state(isr=(1, 2)))
    leader, _ = fetch(leader, context(correlation=8), CLIENT, follower(3, 1, last_epoch=4))
    assert leader.in_sync.proposed == (1, 2, 3)
    ineligible = AlteredPartition(topic_partition=TP, error=ErrorCode.INELIGIBLE_REPLICA)
    assert on_altered(leader, context(), 7, ineligible)[0].in_sync.proposed == (1, 2, 3)
    assert on_altered(leader, context(), 8, ineligible)[0].in_sync.proposal is None


def test_a_proposal_without_a_response_is_resent() -> None:
    leader = leading(stored(1, high_watermark=1), state(isr=(1, 2)))
    leader, effects = fetch(leader, context(), CLIENT, follower(3, 1, last_epoch=4))
    assert proposals(effects) == [(1, 2, 3)]
    _, effects = on_lag_timer(leader, context(10))
    assert proposals(effects) == [(1, 2, 3)]


def test_a_resent_proposal_keeps_the_broker_epochs_of_its_members() -> None:
    leader = leading(stored(1, high_watermark=1), state(isr=(1, 2)))
    leader, effects = fetch(leader, context(), CLIENT, follower(3, 1, last_epoch=4))
    proposed = [effect for effect in effects if isinstance(effect, Send)]
    # Broker 3 lost its log, and fetches from offset 0 after its restart.
    reborn = replace(follower(3, 0, last_epoch=-1), replica_epoch=BrokerEpoch(23))
    leader, _ = fetch(leader, context(5), CLIENT, reborn)
    leader, effects = on_lag_timer(leader, context(10))
    again = [effect for effect in effects if isinstance(effect, Send)]
    assert again == proposed
    assert isinstance(again[0].request, AlterPartition)
    assert again[0].request.isr[2] == (3, 13)


def joins(leader: Leader, request: Fetch, seen: Context) -> bool:
    return bool(proposals(fetch(leader, seen, CLIENT, request)[1]))


def test_each_condition_to_join_the_isr_matters() -> None:
    leader = leading(stored(2, high_watermark=1), state(isr=(1, 2)))
    assert leader.epoch_start == 2
    caught_up = follower(3, 2, last_epoch=4)
    assert joins(leader, caught_up, context())
    # The high watermark may lag behind earlier leaders: reaching it does not suffice.
    assert not joins(leader, follower(3, 1, last_epoch=4), context())
    assert not joins(leader, caught_up, context(fenced=(3,)))
    assert not joins(leader, replace(caught_up, replica_epoch=BrokerEpoch(99)), context())
    pending, _ = propose(leader, context(), (BrokerId(1),))
    assert not joins(pending, caught_up, context())


def test_newer_metadata_ends_a_proposal_and_older_changes_nothing() -> None:
    leader = leading(given=state(isr=(1, 2), version=3))
    leader, _ = propose(leader, context(), (BrokerId(1),))
    assert on_state(leader, context(), state(version=2))[0] == leader
    assert on_state(leader, context(), state(isr=(1,), version=4))[0].in_sync.proposal is None


def test_a_new_configuration_takes_effect_at_once_and_ends_no_proposal() -> None:
    leader = leading(given=state(min_isr=3, version=3))
    leader, _ = produce(leader, context(), CLIENT, record())
    for broker in (2, 3):
        leader, _ = fetch(leader, context(), CLIENT, follower(broker, 1))
    leader, _ = propose(leader, context(), (BrokerId(1), BrokerId(2)))
    after, _ = on_state(leader, context(), state(min_isr=1, version=3))
    assert after.state.min_insync_replicas == 1
    assert after.in_sync.proposal == leader.in_sync.proposal
    # A late response of the same partition epoch has the old configuration, and is ignored.
    late = AlteredPartition(topic_partition=TP, state=state(min_isr=3, version=3))
    assert on_altered(after, context(), 1, late)[0] == after


def test_a_lower_minimum_advances_the_high_watermark_and_responds_to_waiting_requests() -> None:
    leader = leading(given=state(min_isr=2))
    leader, _ = produce(leader, context(), CLIENT, record())
    leader, _ = on_state(leader, context(), state(isr=(1,), version=1))
    leader, effects = on_state(leader, context(10**6), state(isr=(1,), min_isr=2, version=1))
    assert replies(effects) == []
    leader, effects = on_state(leader, context(10**6), state(isr=(1,), min_isr=1, version=1))
    assert replies(effects) == [Produced(base_offset=Offset(0), log_start_offset=Offset(0))]
    assert leader.log.high_watermark == 1


# ---------------------------------------------------------------- seeded bugs


def acknowledged_offsets(bug: Bug, count: int) -> list[int]:
    leader, offsets = leading(given=state(isr=(1,), min_isr=1)), list[int]()
    for number in range(count):
        leader, effects = produce(leader, context(bugs=frozenset({bug})), CLIENT, record(number))
        offsets += [r.base_offset for r in replies(effects) if isinstance(r, Produced)]
    return offsets


def test_a_bug_acknowledges_wrong_offsets() -> None:
    assert acknowledged_offsets(Bug.ZERO_OFFSET_ACK, 8) == [0, 1, 2, 3, 4, 5, 0, 7]
    assert acknowledged_offsets(Bug.REORDERED_ACK_OFFSET, 6) == [0, 1, 2, 3, 2, 5]
    assert acknowledged_offsets(Bug.LOST_APPEND, 8) == list(range(8))


def test_bug_lost_append_acknowledges_and_leaves_a_gap() -> None:
    leader = leading(given=state(isr=(1,), min_isr=1))
    for number in range(8):
        leader, _ = produce(
            leader, context(bugs=frozenset({Bug.LOST_APPEND})), CLIENT, record(number)
        )
    assert [batch.header.base_offset for batch in leader.log.batches()] == [0, 1, 2, 3, 4, 5, 7]
