"""Each check reports the faults in a log with their locations, and accepts what Kafka permits."""

from __future__ import annotations

import pytest

from model.faults import UnknownName
from properties.anomalies.catalogue import BY_ID as ANOMALIES
from properties.log_audit.catalogue import BY_ID, CHECKS, named
from properties.log_audit.check import Check
from tests.properties.log_audit.notation import logs


def explained(check: str, text: str) -> list[str]:
    one = BY_ID[check]
    return [one.explain(row).replace("0" * 19, "") for row in one.find(logs(text))]


def found(text: str) -> list[str]:
    return [check.id for check in CHECKS if check.find(logs(text))]


HEALTHY = """
    A t-0 hw=9 epochs=0@0,2@4 aborted=7:2-3 snapshot=8:7/0/3/6/1/-1,9/0/0/0/0/-1 stopped
    0-1  e0
    2    e0 p7/0 s0 txn
    3    e0 p7/0 abort c1
    ---
    4-6  e2 p7/0 s1 txn
    7    e2 p7/0 commit c1
    8    e2 p7/1 s0
    B t-0 hw=8 epochs=0@0,2@4 aborted=7:2-3 stopped
    0-1  e0
    2    e0 p7/0 s0 txn
    3    e0 p7/0 abort c1
    4-6  e2 p7/0 s1 txn
    7    e2 p7/0 commit c1
    8    e2 =another
"""


def test_healthy_logs_have_no_faults() -> None:
    assert found(HEALTHY) == []
    assert {check.id: check.observed(logs(HEALTHY)) for check in CHECKS} == {
        "torn-tail": 3,
        "unreadable-bytes": 3,
        "checksum": 12,
        "malformed-records": 12,
        "old-format": 12,
        "offset-order": 12,
        "offset-gap": 10,
        "leader-epoch-order": 12,
        "leader-epoch-checkpoint": 12,
        "replica-divergence": 8,
        "high-watermark-beyond-end": 2,
        "sequence-gap": 5,
        "sequence-repeat": 5,
        "producer-epoch-order": 9,
        "unclosed-transaction": 4,
        "repeated-marker": 4,
        "coordinator-epoch-order": 4,
        "split-transaction": 0,
        "open-transaction": 1,
        "hanging-transaction": 1,
        "aborted-index": 2,
        "producer-snapshot": 1,
    }


def test_without_logs_nothing_is_observed() -> None:
    assert [check.observed(logs("")) for check in CHECKS] == [0] * len(CHECKS)
    assert found("") == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_permitting_condition_has_a_reason(check: Check) -> None:
    assert not set(check.permits) & {""}
    assert check.id not in ANOMALIES


def test_an_unknown_name_lists_the_nearest() -> None:
    assert [check.id for check in named(("offset-gap", "checksum"))] == ["checksum", "offset-gap"]
    with pytest.raises(UnknownName, match="checksum"):
        named(("cheksum",))


# ---------------------------------------------------------------- bytes


def test_a_torn_tail_is_permitted_unless_the_shutdown_was_clean() -> None:
    check = BY_ID["torn-tail"]
    killed, stopped = (
        check.find(logs(f"A t-0 {how}\n0 e0\n---\n1 e0\ntorn 17")) for how in ("", "stopped")
    )
    assert [check.explain(row) for row in killed] == [
        "A/t-0/00000000000000000001.log byte 100: the log ends at offset 2 with 17 bytes of an "
        "incomplete batch, without a clean shutdown."
    ]
    assert [check.permitted(row) for row in (*killed, *stopped)] == [
        "no clean shutdown",
        None,
    ]


@pytest.mark.parametrize("text", ["A t-0\n0 e0\njunk 17", "A t-0\n0 e0\ntorn 17\n---\n1 e0"])
def test_bytes_that_no_crash_can_leave_are_damage(text: str) -> None:
    assert found(text) == ["unreadable-bytes"]
    assert explained("unreadable-bytes", text) == [
        "A/t-0/0.log byte 100: the last 17 bytes of the segment hold no batch; the next offset "
        "would be 1."
    ]


@pytest.mark.parametrize(
    ("fault", "check"),
    [("checksum", "checksum"), ("records", "malformed-records"), ("old", "old-format")],
)
def test_an_unreadable_batch_is_reported_and_its_neighbours_are_not_checked(
    fault: str, check: str
) -> None:
    assert found(f"A t-0\n0-4 e0 p7/0 s0\n5 e9 p7/0 s7 bad {fault}\n9 e0 p7/0 s99") == [check]


# ---------------------------------------------------------------- offsets and leader epochs


def test_offsets_that_do_not_ascend_are_a_fault() -> None:
    assert explained("offset-order", "A t-0\n0-4 e0\n4-5 e0") == [
        "A/t-0/0.log byte 100: the batch begins at offset 4, but the lowest offset that can follow "
        "is 5."
    ]
    assert explained("offset-order", "A t-0\n--- 7\n6-8 e0") == [
        "A/t-0/7.log byte 0: the batch begins at offset 6, but the lowest offset that can follow "
        "is 7."
    ]


def test_a_gap_that_compaction_explains_is_no_fault() -> None:
    gap = "0-1 e0\n5 e0\n---\n6 e0"
    assert explained("offset-gap", f"A t-0\n{gap}") == [
        "A/t-0/0.log byte 100: offsets 2 to 4 are missing before this batch."
    ]
    assert found(f"A t-0 cleaned=5\n{gap}") == []
    assert found(f"A t-0\n{gap}\nB t-0 cleaned=6\n5-6 e0") == []  # another replica's cleaner
    assert found("A t-0\n0-1 e0 has 1\n5 e0\n---\n6 e0") == []  # a batch that lost a record
    assert found(f"A t-0 cleaned=4\n{gap}") == ["offset-gap"]  # the cleaner did not reach the gap
    assert found("A t-0\n0-1 e0 has 1\n---\n5 e0\n---\n7 e0") == [
        "offset-gap"
    ]  # the newest segment


def test_a_log_may_begin_at_any_offset() -> None:
    assert found("A t-0 hw=9\n--- 5\n5-8 e3\nB t-0 hw=9\n--- 2\n2-4 e1\n5-8 e3") == []


def test_a_decreasing_leader_epoch_is_a_fault() -> None:
    assert explained("leader-epoch-order", "A t-0\n0 e1\n1\n2 e0\n3 e0") == [
        "A/t-0/0.log byte 200: the batch at offset 2 has leader epoch 0, but the batch before it, "
        "at offset 0, has 1."
    ]


def test_a_leader_epoch_checkpoint_that_contradicts_the_log_is_a_fault() -> None:
    assert explained("leader-epoch-checkpoint", "A t-0 epochs=0@0,2@2,3@9\n0 e0\n1 e2\n2 e2") == [
        "A/t-0/0.log byte 100: the batch at offset 1 has leader epoch 2, but "
        "leader-epoch-checkpoint has 0 for that offset."
    ]
    assert found("A t-0 epochs=2@2\n0 e0\n2 e2") == [
        "offset-gap"
    ]  # lines of records that retention deleted


# ---------------------------------------------------------------- replicas


def test_replicas_may_differ_above_a_high_watermark_and_not_below() -> None:
    def two(mark: int) -> str:
        return f"A t-0 hw=3\n0-1 e0\n2 e0\nB t-0 hw={mark}\n0-1 e0\n2 e1\n3 e1"

    assert found(two(2)) == []
    assert explained("replica-divergence", two(3)) == [
        "A/t-0/0.log byte 100: the record at offset 2 differs from the one of replica B, in 0.log "
        "at byte 100; the two replicas differ at 1 offset."
    ]


@pytest.mark.parametrize(
    "other", ["0 e1", "0 e0 =y", "0 e0 p7/0 s0", "0 e0 control", "0 e0 txn"], ids=str
)
def test_replicas_must_agree_on_every_part_of_a_record(other: str) -> None:
    assert found(f"A t-0 hw=1\n0 e0\nB t-0 hw=1\n{other}")[0] == "replica-divergence"


def test_a_compacted_replica_is_no_difference() -> None:
    assert found("A t-0 hw=6\n0-4 e0 has 1,4\n5 e0\nB t-0 hw=6\n0-4 e0\n5 e0") == []


def test_a_log_that_ends_below_its_high_watermark_is_a_fault() -> None:
    check = BY_ID["high-watermark-beyond-end"]
    (row,) = check.find(logs("A t-0 hw=4\n0-1 e0"))
    assert check.explain(row).endswith(
        "ends at offset 2, but its checkpointed high watermark is 4."
    )
    assert check.permitted(row) == "no clean shutdown"
    (row,) = check.find(logs("A t-0 hw=4 stopped\n--- 3"))
    assert (row.offset, row.position, check.permitted(row)) == (3, 0, None)


# ---------------------------------------------------------------- producers


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


# ---------------------------------------------------------------- transactions


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


# ---------------------------------------------------------------- snapshots of producers

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
