"""The checks of a producer's sequence numbers, epochs and snapshots, on logs of a few batches."""

from __future__ import annotations

import pytest

from properties.log_audit.catalogue import BY_ID
from tests.properties.log_audit.findings import explained, found
from tests.properties.log_audit.notation import logs


def test_sequence_numbers_continue_and_wrap() -> None:
    assert found("A t-0\n0-2 e0 p7/0 s2147483645\n3 e0 p8/0 s4\n4 e0 p7/0 s0\n5 e0 p7/1 s0") == []


@pytest.mark.parametrize("second", ["p7/0 s4", "p7/1 s3"])
def test_a_gap_in_sequence_numbers_is_a_fault(second: str) -> None:
    assert found(f"A t-0\n0-2 e0 p7/0 s0\n3 e0 {second}") == ["sequence-gap"]
    assert found(f"A t-0 cleaned=4\n0-2 e0 p7/0 s0\n4 e0 {second}") == []  # compaction removed it


def test_a_repeat_of_sequence_numbers_is_a_fault() -> None:
    assert explained("sequence-repeat", "A t-0 cleaned=4\n0-2 e0 p7/0 s5\n4-6 e0 p7/0 s5") == [
        "A/t-0/0.log byte 100: producer 7, epoch 0: the batch at offset 4 begins at sequence "
        "number 5, but the next one after the batch at offset 0 is 8."
    ]
    assert found("A t-0\n0-2 e0 p7/0 s5\n3-5 e0 p7/0 s5") == ["sequence-repeat"]


def test_the_group_coordinator_numbers_every_batch_from_0() -> None:
    repeated = """
        0-1 e0 p7/0 s0 txn
        2   e0 p7/0 s0 txn
        3   e0 p7/0 commit c1
        4   e0 p7/0 s0 txn
        5   e0 p7/0 abort c1
    """
    offsets = f"A __consumer_offsets-2\n{repeated}"
    assert found(offsets) == []
    assert BY_ID["sequence-repeat"].observed(logs(offsets)) == 0
    assert found(f"A consumer_offsets-2\n{repeated}") == ["sequence-repeat"]
    back = "A __consumer_offsets-2\n0 e0 p7/1 s0\n1 e0 p7/0 s0"
    assert found(back) == ["producer-epoch-order"]  # the other checks still apply


def test_a_marker_of_the_next_epoch_restarts_the_sequence() -> None:
    assert found("A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/1 commit\n2 e0 p7/1 s0") == []


def test_a_zombie_that_writes_after_its_successor_is_a_fault() -> None:
    assert found("A t-0\n0 e0 p7/0 s0\n1 e0 p7/1 s0\n2 e0 p7/0 s1") == ["producer-epoch-order"]
    assert found("A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/1 abort\n2 e0 p7/0 s1") == [
        "producer-epoch-order"
    ]


# ---------------------------------------------------------------- snapshots

REMEMBERED = """
    A t-0 snapshot={snapshot}
    0-1 p7/0 s0 txn
    2   p7/0 commit c3
    3   p7/0 s2 txn
    4   p8/5 s9
    5   p9/0 s0 txn
    6   p9/1 abort c4
    7   e0
"""


@pytest.mark.parametrize(
    "snapshot",
    [
        "7:7/0/2/3/3/3,8/5/9/4/-1/-1,9/1/-1/-1/4/-1",  # below offset 7
        "3:7/0/1/1/3/-1",  # below offset 3
        "6:9/0/0/5/-1/5",
        "7:6/0/0/0/0/0",  # a producer that is not in the log
        "9:7/9/9/9/9/9",  # not between two batches
        "1:7/9/9/9/9/9",
    ],
)
def test_a_snapshot_that_agrees_with_the_log_is_no_fault(snapshot: str) -> None:
    assert explained("producer-snapshot", REMEMBERED.format(snapshot=snapshot)) == []


@pytest.mark.parametrize(
    ("snapshot", "fault"),
    [
        ("7/1/2/3/3/3", "producer epoch 0 in the log, but 1"),
        ("7/0/1/3/3/3", "last sequence 2 in the log, but 1"),
        ("7/0/2/1/3/3", "last offset 3 in the log, but 1"),
        ("7/0/2/3/2/3", "coordinator epoch 3 in the log, but 2"),
        ("7/0/2/3/3/-1", "first offset 3 in the log, but -1"),
        ("8/5/9/4/-1/4", "first offset -1 in the log, but 4"),
        ("9/1/0/-1/4/-1", "last sequence -1 in the log, but 0"),
    ],
)
def test_a_snapshot_that_contradicts_the_log_is_a_fault(snapshot: str, fault: str) -> None:
    (text,) = explained("producer-snapshot", REMEMBERED.format(snapshot=f"7:{snapshot}"))
    assert text.endswith(f"has {fault} in the snapshot at offset 7.")


def test_a_snapshot_may_have_values_from_before_the_log() -> None:
    began_earlier = "A t-0 snapshot=6:7/0/-5/-5/9/2\n--- 5\n5 p7/0 {of}"
    assert explained("producer-snapshot", began_earlier.format(of="abort c9")) == [
        "A/t-0/5.log byte 0: producer 7 has first offset -1 in the log, but 2 in the snapshot at "
        "offset 6."
    ]
    text = began_earlier.format(of="s4 txn").replace("-5/-5", "4/5")
    assert explained("producer-snapshot", text) == []
