"""The checks of transactions, on logs of a few batches: markers, open transactions, aborts."""

from __future__ import annotations

import pytest

from properties.log_audit.catalogue import BY_ID
from tests.properties.log_audit.findings import explained, found
from tests.properties.log_audit.notation import logs


@pytest.mark.parametrize("second", ["p7/1 s0 txn", "p7/0 s1", "p7/1 s0"])
def test_a_producer_that_continues_without_a_marker_is_a_fault(second: str) -> None:
    text = f"A t-0\n0 e0 p7/0 s0 txn\n1 e0 p8/0 s0\n2 e0 {second}"
    assert "unclosed-transaction" in found(text)
    assert "unclosed-transaction" not in found(text.replace("1 e0 p8/0 s0", "").replace("2 ", "9 "))


def test_a_second_marker_is_permitted() -> None:
    check = BY_ID["repeated-marker"]
    (row,) = check.find(logs("A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/0 commit c1\n2 e0 p7/0 abort c1"))
    assert (row.offset, row.marker, row.earlier_marker) == (2, "abort", "commit")
    assert check.permitted(row) in check.permits


def test_a_marker_of_a_replaced_coordinator_is_a_fault() -> None:
    text = "A t-0\n0 p7/0 s0 txn\n1 p7/0 commit c2\n2 p7/0 s1 txn\n3 p7/0 commit c1"
    assert found(text) == ["coordinator-epoch-order"]


def test_a_transaction_committed_on_one_partition_and_aborted_on_another_is_a_fault() -> None:
    text = """
        A t-0
        0 e0 p7/0 s0 txn
        1 e0 p7/1 commit
        A t-1
        0 e0 p7/0 s0 txn
        1 e0 p7/1 abort
    """
    assert explained("split-transaction", text) == [
        "A/t-0/0.log byte 100: the transaction of producer 7, epoch 1, is committed at offset 1 "
        "here but aborted in A/t-1 at offset 1."
    ]
    assert found(text.replace("p7/1", "p7/0")) == []  # may be two transactions


OPEN = "A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/0 s1 txn\n2 e0 t{later}"


def test_an_open_transaction_hangs_once_its_timeout_is_over() -> None:
    assert found(OPEN.format(later=15 * 60_000)) == ["open-transaction"]
    assert explained("hanging-transaction", OPEN.format(later=15 * 60_000 + 1)) == [
        "A/t-0/0.log byte 0: the transaction of transactional id ?, producer 7, epoch 0, is open "
        "since offset 0, with its last record at offset 1; 15 min older than the newest batch of "
        "all logs."
    ]


@pytest.mark.parametrize(
    ("coordinator", "check"),
    [
        ("p7/0 Ongoing t-0", "open-transaction"),
        ("p7/1 PrepareCommit t-0", "open-transaction"),
        ("p7/0 Ongoing t-1", "hanging-transaction"),
        ("p7/1 Ongoing t-0", "hanging-transaction"),
        ("p7/0 CompleteAbort", "hanging-transaction"),
        ("p8/0 Ongoing", "open-transaction"),
    ],
)
def test_the_coordinators_entry_decides_whether_a_transaction_hangs(
    coordinator: str, check: str
) -> None:
    assert found(f"{OPEN.format(later=0)}\ncoordinator one {coordinator}") == [check]


def test_an_open_transaction_on_a_lagging_replica_is_no_fault() -> None:
    text = "A t-0\n0 e0 p7/0 s0 txn\nB t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/0 commit"
    assert found(text) == []


def test_an_open_transaction_begins_after_the_last_marker() -> None:
    text = "A t-0\n0 p7/0 s0 txn\n1 p7/0 commit\n2 p7/0 s1 txn\n3 p7/0 s2 txn"
    (row,) = BY_ID["open-transaction"].find(logs(text))
    assert (row.offset, row.last_offset) == (2, 3)


def test_the_index_of_aborted_transactions_agrees_with_the_log() -> None:
    aborted = "A t-0 aborted={index}\n0 p7/0 s0 txn\n1 p7/0 s1 txn\n2 p7/0 abort\n3 e0"
    assert found(aborted.format(index="7:0-2")) == []
    assert explained("aborted-index", aborted.format(index="")) == [
        "A/t-0/0.log byte 200: producer 7 aborted at offset 2: no index has an entry for this "
        "abort."
    ]
    assert explained("aborted-index", aborted.format(index="7:1-2")) == [
        "A/t-0/0.log byte 200: producer 7 aborted at offset 2: it began at offset 0, but its entry "
        "says 1."
    ]
    assert explained("aborted-index", aborted.format(index="7:0-2,8:0-3")) == [
        "A/t-0/0.log byte 300: producer 8 aborted at offset 3: the index has this entry, but the "
        "log has no such marker."
    ]


def test_a_transaction_that_began_before_the_log_is_compared_by_its_end() -> None:
    began_earlier = "A t-0 aborted={index}\n--- 5\n5 p7/0 s1 txn\n6 p7/0 abort"
    assert found(began_earlier.format(index="7:2-6,9:0-3")) == []
    assert found(began_earlier.format(index="9:0-3")) == ["aborted-index"]
    assert found("A t-0\n0 p7/0 s0 txn\n1 p7/0 abort") == []  # without an index file
