"""Open transactions at a leader: last stable offset, aborted records, outdated markers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
)
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.bugs import Bug
from reference_impl.partition.reads import fetch
from reference_impl.protocol.messages import (
    ErrorCode,
    Fetch,
    Fetched,
)
from reference_impl.protocol.transactions import (
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
)
from tests.reference_impl.log.transactional_leader import (
    ABORT,
    CLIENT,
    COMMIT,
    TP,
    after,
    batch,
    consumed,
    context,
    errors,
    fetched,
    leading,
    marker,
    replies,
    send,
    stable,
)

# ---------------------------------------------------------------- isolation


def test_an_open_transaction_holds_back_the_last_stable_offset_until_its_marker() -> None:
    leader = after(leading(), batch("a"), batch("b", pid=8))
    assert (stable(leader), consumed(leader)) == (0, [])
    leader = after(leader, marker(COMMIT))
    assert (stable(leader), consumed(leader)) == (1, ["a"])
    leader = after(leader, marker(ABORT, pid=8))
    assert (stable(leader), consumed(leader)) == (4, ["a"])


def test_an_aborted_transaction_is_listed_from_its_first_record_to_its_marker() -> None:
    leader = after(leading(), batch("a"), batch("b", 1), marker(ABORT), batch("c", 2))
    assert [(txn.producer_id, txn.first_offset) for txn in fetched(leader, offset=1).aborted] == [
        (7, 0)
    ]
    assert fetched(leader, offset=3).aborted == ()
    assert consumed(after(leader, marker(COMMIT))) == ["c"]


def test_read_uncommitted_reads_all_replicated_records() -> None:
    leader = after(leading(), batch("a"))
    request = Fetch(topic_partition=TP, fetch_offset=Offset(0))
    (answer,) = replies(fetch(leader, context(), CLIENT, request)[1])
    assert isinstance(answer, Fetched)
    assert len(answer.batches) > 0
    assert (answer.high_watermark, answer.last_stable_offset, answer.aborted) == (1, 0, ())


def test_an_unreplicated_marker_holds_back_the_last_stable_offset() -> None:
    """The last stable offset does not pass a transaction before its marker is replicated.

    An unreplicated marker may still be lost, and the last stable offset must not decrease.
    """
    leader = after(leading(2), batch("a"))
    replicated = Fetch(
        topic_partition=TP,
        fetch_offset=Offset(1),
        replica_id=BrokerId(2),
        replica_epoch=BrokerEpoch(12),
        last_fetched_epoch=LeaderEpoch(0),
    )
    leader, _ = fetch(leader, context(), CLIENT, replicated)
    leader = after(leader, marker(ABORT))
    assert (leader.log.high_watermark, stable(leader)) == (1, 0)
    assert stable(leader, bugs=frozenset({Bug.UNREPLICATED_MARKER_COUNTS})) == 1
    behind = Fetch(
        topic_partition=TP,
        fetch_offset=Offset(2),
        replica_id=BrokerId(2),
        replica_epoch=BrokerEpoch(12),
        last_fetched_epoch=LeaderEpoch(0),
    )
    leader, effects = fetch(leader, context(), CLIENT, behind)
    assert errors(effects) == [ErrorCode.NONE]  # of the marker, now on both
    assert stable(leader) == 2
    assert leader.producers.transactions.unreplicated == ()


def test_bug_last_stable_offset_read_shows_an_open_transaction() -> None:
    leader = after(leading(), batch("a"))
    assert consumed(leader, bugs=frozenset({Bug.LAST_STABLE_OFFSET_READ})) == ["a"]


def test_bug_aborted_not_listed_shows_an_aborted_record() -> None:
    leader = after(leading(), batch("a"), marker(ABORT))
    assert consumed(leader) == []
    assert consumed(leader, bugs=frozenset({Bug.ABORTED_NOT_LISTED})) == ["a"]


# ---------------------------------------------------------------- producers and markers


def test_sequence_numbers_continue_in_v1_and_restart_per_transaction_in_v2() -> None:
    leader = after(leading(), batch("a"), marker(COMMIT), batch("b", 1))
    assert leader.log.end_offset == 3
    v2 = marker(COMMIT, epoch=1, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), v2)
    _, effects = send(leader, batch("late", 1))
    assert errors(effects) == [ErrorCode.INVALID_PRODUCER_EPOCH]  # the marker fenced it
    _, effects = send(leader, batch("b", 1, epoch=1))
    assert errors(effects) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    _, effects = send(leader, batch("b", 0, epoch=1))
    assert errors(effects) == [ErrorCode.NONE]


def test_a_batch_outside_its_producers_open_transaction_is_rejected() -> None:
    leader = after(leading(), batch("a"))
    _, effects = send(leader, batch("b", 1, transactional=False))
    assert errors(effects) == [ErrorCode.INVALID_TXN_STATE]


@pytest.mark.parametrize(
    ("late", "error"),
    [
        (marker(ABORT, epoch=0), ErrorCode.INVALID_PRODUCER_EPOCH),
        (marker(ABORT, epoch=1, coordinator_epoch=3), ErrorCode.TRANSACTION_COORDINATOR_FENCED),
        (marker(ABORT, epoch=1, coordinator_epoch=5), ErrorCode.NONE),
        (
            marker(ABORT, epoch=1, coordinator_epoch=5, version=TransactionVersion.V2),
            ErrorCode.INVALID_PRODUCER_EPOCH,
        ),
    ],
)
def test_an_outdated_marker_is_rejected(late: WriteTxnMarker, error: ErrorCode) -> None:
    first = marker(COMMIT, epoch=1, coordinator_epoch=4, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), first, batch("b", epoch=1))
    _, effects = send(leader, late)
    assert errors(effects) == [error]


def test_a_repeated_marker_without_an_open_transaction_is_written_and_ends_nothing() -> None:
    v2 = marker(COMMIT, epoch=1, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), v2)
    again, effects = send(leader, v2)
    assert errors(effects) == [ErrorCode.NONE]
    assert again.log.end_offset == 3
    assert consumed(again) == ["a"]


def test_bug_late_marker_accepted_ends_the_next_transaction() -> None:
    v2 = marker(COMMIT, epoch=1, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), v2, batch("b", epoch=1))
    assert consumed(after(leader, v2)) == ["a"]
    bugs = frozenset({Bug.LATE_MARKER_ACCEPTED})
    assert consumed(after(leader, v2, bugs=bugs)) == ["a", "b"]


# ---------------------------------------------------------------- a fold of the log


@given(
    st.lists(
        st.tuples(st.sampled_from((7, 8, 9)), st.sampled_from(("write", COMMIT, ABORT))),
        max_size=20,
    )
)
def test_readers_get_committed_records_below_the_oldest_open_transaction(
    did: list[tuple[int, str | TxnResult]],
) -> None:
    leader = leading()
    sequences = {7: 0, 8: 0, 9: 0}
    records: list[tuple[int, int, str]] = []  # offset, producer, value
    ended: dict[str, TxnResult] = {}
    for pid, deed in did:
        offset = leader.log.end_offset
        if isinstance(deed, TxnResult):
            leader = after(leader, marker(deed, pid=pid))
            ended |= {v: deed for _, who, v in records if who == pid and v not in ended}
        else:
            leader = after(leader, batch(f"v{offset}", sequences[pid], pid=pid))
            records.append((offset, pid, f"v{offset}"))
            sequences[pid] += 1
    open_offsets = [offset for offset, _, value in records if value not in ended]
    first_open = min(open_offsets, default=leader.log.end_offset)
    assert stable(leader) == first_open
    assert consumed(leader) == [
        value for offset, _, value in records if offset < first_open and ended[value] is COMMIT
    ]
    assert leader.producers.transactions.open == {
        pid: min(offset for offset, who, value in records if who == pid and value not in ended)
        for pid in {who for _, who, value in records if value not in ended}
    }
    refolded = ProducerStates.of(leader.log.batches())
    assert refolded.replicated_to(leader.log.high_watermark) == leader.producers
