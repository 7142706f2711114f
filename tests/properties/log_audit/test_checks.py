"""Each check finds what it is for, at its place, and lets pass what Kafka may do."""

from __future__ import annotations

import pytest

from model.faults import UnknownName
from properties.anomalies.catalogue import BY_ID as ANOMALIES
from properties.log_audit.catalogue import BY_ID, CHECKS, named
from properties.log_audit.check import Check
from properties.log_audit.notation import logs


def told(check: str, text: str) -> list[str]:
    """What the check says of the logs, line by line, without the segment's zeros."""
    one = BY_ID[check]
    return [one.explain(row).replace("0" * 19, "") for row in one.find(logs(text))]


def found(text: str) -> list[str]:
    """The checks that find anything."""
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


def test_nothing_is_found_where_nothing_is_wrong() -> None:
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


def test_nothing_is_observed_in_nothing() -> None:
    assert [check.observed(logs("")) for check in CHECKS] == [0] * len(CHECKS)
    assert found("") == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_condition_that_permits_is_explained(check: Check) -> None:
    assert not set(check.permits) & {""}
    assert check.id not in ANOMALIES


def test_a_name_that_nothing_has_lists_the_nearest() -> None:
    assert [check.id for check in named(("offset-gap", "checksum"))] == ["checksum", "offset-gap"]
    with pytest.raises(UnknownName, match="checksum"):
        named(("cheksum",))


# ---------------------------------------------------------------- bytes


def test_a_torn_tail_is_permitted_unless_the_broker_was_stopped() -> None:
    check = BY_ID["torn-tail"]
    killed, stopped = (
        check.find(logs(f"A t-0 {how}\n0 e0\n---\n1 e0\ntorn 17")) for how in ("", "stopped")
    )
    assert [check.explain(row) for row in killed] == [
        "A/t-0/00000000000000000001.log byte 100: the log ends at offset 2 within a batch, of "
        "which 17 bytes are there; the broker was not shut down in order."
    ]
    assert [check.permitted(row) for row in (*killed, *stopped)] == [
        "not shut down in order",
        None,
    ]


@pytest.mark.parametrize("text", ["A t-0\n0 e0\njunk 17", "A t-0\n0 e0\ntorn 17\n---\n1 e0"])
def test_bytes_that_no_crash_leaves_are_damage(text: str) -> None:
    assert found(text) == ["unreadable-bytes"]
    assert told("unreadable-bytes", text) == [
        "A/t-0/0.log byte 100: 17 bytes up to the end of the segment hold no batch; offset 1 "
        "would come next."
    ]


@pytest.mark.parametrize(
    ("fault", "check"),
    [("checksum", "checksum"), ("records", "malformed-records"), ("old", "old-format")],
)
def test_a_batch_that_cannot_be_read_is_told_and_its_neighbours_are_not_judged(
    fault: str, check: str
) -> None:
    assert found(f"A t-0\n0-4 e0 p7/0 s0\n5 e9 p7/0 s7 bad {fault}\n9 e0 p7/0 s99") == [check]


# ---------------------------------------------------------------- offsets and leader epochs


def test_offsets_that_do_not_ascend() -> None:
    assert told("offset-order", "A t-0\n0-4 e0\n4-5 e0") == [
        "A/t-0/0.log byte 100: the batch begins at offset 4; 5 is the least that can come there."
    ]
    assert told("offset-order", "A t-0\n--- 7\n6-8 e0") == [
        "A/t-0/7.log byte 0: the batch begins at offset 6; 7 is the least that can come there."
    ]


def test_a_gap_that_compaction_explains_is_none() -> None:
    gap = "0-1 e0\n5 e0\n---\n6 e0"
    assert told("offset-gap", f"A t-0\n{gap}") == [
        "A/t-0/0.log byte 100: offsets 2 to 4 are missing before the batch."
    ]
    assert found(f"A t-0 cleaned=5\n{gap}") == []
    assert found(f"A t-0\n{gap}\nB t-0 cleaned=6\n5-6 e0") == []  # another replica's cleaner
    assert found("A t-0\n0-1 e0 has 1\n5 e0\n---\n6 e0") == []  # a batch that lost a record
    assert found(f"A t-0 cleaned=4\n{gap}") == ["offset-gap"]  # not so far
    assert found("A t-0\n0-1 e0 has 1\n---\n5 e0\n---\n7 e0") == [
        "offset-gap"
    ]  # the newest segment


def test_logs_may_begin_anywhere() -> None:
    assert found("A t-0 hw=9\n--- 5\n5-8 e3\nB t-0 hw=9\n--- 2\n2-4 e1\n5-8 e3") == []


def test_leader_epochs_that_go_back() -> None:
    assert told("leader-epoch-order", "A t-0\n0 e1\n1\n2 e0\n3 e0") == [
        "A/t-0/0.log byte 200: the batch at offset 2 is of leader epoch 0; the one before it, at "
        "offset 0, of 1."
    ]


def test_a_checkpoint_of_leader_epochs_that_has_another_one() -> None:
    assert told("leader-epoch-checkpoint", "A t-0 epochs=0@0,2@2,3@9\n0 e0\n1 e2\n2 e2") == [
        "A/t-0/0.log byte 100: the batch at offset 1 is of leader epoch 2, "
        "leader-epoch-checkpoint has 0 for that offset."
    ]
    assert found("A t-0 epochs=2@2\n0 e0\n2 e2") == ["offset-gap"]  # lines that retention cut off


# ---------------------------------------------------------------- replicas


def test_replicas_may_differ_above_a_high_watermark_and_not_below() -> None:
    def two(mark: int) -> str:
        return f"A t-0 hw=3\n0-1 e0\n2 e0\nB t-0 hw={mark}\n0-1 e0\n2 e1\n3 e1"

    assert found(two(2)) == []
    assert told("replica-divergence", two(3)) == [
        "A/t-0/0.log byte 100: offset 2 is another record than B has in 0.log at "
        "byte 100; they differ at 1 offset."
    ]


@pytest.mark.parametrize(
    "other", ["0 e1", "0 e0 =y", "0 e0 p7/0 s0", "0 e0 control", "0 e0 txn"], ids=str
)
def test_what_replicas_must_have_alike(other: str) -> None:
    assert found(f"A t-0 hw=1\n0 e0\nB t-0 hw=1\n{other}")[0] == "replica-divergence"


def test_compaction_is_no_difference() -> None:
    assert found("A t-0 hw=6\n0-4 e0 has 1,4\n5 e0\nB t-0 hw=6\n0-4 e0\n5 e0") == []


def test_a_log_that_lost_what_was_committed() -> None:
    check = BY_ID["high-watermark-beyond-end"]
    (row,) = check.find(logs("A t-0 hw=4\n0-1 e0"))
    assert check.explain(row).endswith("the log ends at offset 2, its high watermark was 4.")
    assert check.permitted(row) == "not shut down in order"
    (row,) = check.find(logs("A t-0 hw=4 stopped\n--- 3"))
    assert (row.offset, row.position, check.permitted(row)) == (3, 0, None)


# ---------------------------------------------------------------- producers


def test_sequence_numbers_run_on_and_wrap() -> None:
    assert found("A t-0\n0-2 e0 p7/0 s2147483645\n3 e0 p8/0 s4\n4 e0 p7/0 s0\n5 e0 p7/1 s0") == []


@pytest.mark.parametrize("second", ["p7/0 s4", "p7/1 s3"])
def test_a_gap_in_sequence_numbers(second: str) -> None:
    assert found(f"A t-0\n0-2 e0 p7/0 s0\n3 e0 {second}") == ["sequence-gap"]
    assert found(f"A t-0 cleaned=4\n0-2 e0 p7/0 s0\n4 e0 {second}") == []  # compaction took it


def test_a_repeat_of_sequence_numbers() -> None:
    assert told("sequence-repeat", "A t-0 cleaned=4\n0-2 e0 p7/0 s5\n4-6 e0 p7/0 s5") == [
        "A/t-0/0.log byte 100: producer 7, epoch 0: the batch at offset 4 begins at sequence "
        "number 5; behind its batch at offset 0 the next one is 8."
    ]
    assert found("A t-0\n0-2 e0 p7/0 s5\n3-5 e0 p7/0 s5") == ["sequence-repeat"]


def test_a_marker_of_the_next_epoch_restarts_the_sequence() -> None:
    assert found("A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/1 commit\n2 e0 p7/1 s0") == []


def test_a_zombie_writes_behind_its_successor() -> None:
    assert found("A t-0\n0 e0 p7/0 s0\n1 e0 p7/1 s0\n2 e0 p7/0 s1") == ["producer-epoch-order"]
    assert found("A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/1 abort\n2 e0 p7/0 s1") == [
        "producer-epoch-order"
    ]


# ---------------------------------------------------------------- transactions


@pytest.mark.parametrize("second", ["p7/1 s0 txn", "p7/0 s1", "p7/1 s0"])
def test_a_producer_that_goes_on_without_a_marker(second: str) -> None:
    text = f"A t-0\n0 e0 p7/0 s0 txn\n1 e0 p8/0 s0\n2 e0 {second}"
    assert "unclosed-transaction" in found(text)
    assert "unclosed-transaction" not in found(text.replace("1 e0 p8/0 s0", "").replace("2 ", "9 "))


def test_a_second_marker_is_permitted() -> None:
    check = BY_ID["repeated-marker"]
    (row,) = check.find(logs("A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/0 commit c1\n2 e0 p7/0 abort c1"))
    assert (row.offset, row.marker, row.earlier_marker) == (2, "abort", "commit")
    assert check.permitted(row) in check.permits


def test_a_coordinator_that_was_replaced() -> None:
    text = "A t-0\n0 p7/0 s0 txn\n1 p7/0 commit c2\n2 p7/0 s1 txn\n3 p7/0 commit c1"
    assert found(text) == ["coordinator-epoch-order"]


def test_a_transaction_that_is_committed_here_and_aborted_there() -> None:
    text = """
        A t-0
        0 e0 p7/0 s0 txn
        1 e0 p7/1 commit
        A t-1
        0 e0 p7/0 s0 txn
        1 e0 p7/1 abort
    """
    assert told("split-transaction", text) == [
        "A/t-0/0.log byte 100: producer 7, epoch 1: committed at offset 1, and aborted in A/t-1 at "
        "offset 1."
    ]
    assert found(text.replace("p7/1", "p7/0")) == []  # may be two transactions


OPEN = "A t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/0 s1 txn\n2 e0 t{later}"


def test_an_open_transaction_hangs_when_its_time_is_over() -> None:
    assert found(OPEN.format(later=15 * 60_000)) == ["open-transaction"]
    assert told("hanging-transaction", OPEN.format(later=15 * 60_000 + 1)) == [
        "A/t-0/0.log byte 0: transactional id ?, producer 7, epoch 0: open since offset 0, last "
        "written to at offset 1; 15 min older than the newest batch of all logs."
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
def test_what_the_coordinator_knows_decides(coordinator: str, check: str) -> None:
    assert found(f"{OPEN.format(later=0)}\ncoordinator one {coordinator}") == [check]


def test_a_replica_that_is_behind_hangs_nobody() -> None:
    text = "A t-0\n0 e0 p7/0 s0 txn\nB t-0\n0 e0 p7/0 s0 txn\n1 e0 p7/0 commit"
    assert found(text) == []


def test_the_open_transaction_begins_behind_the_last_marker() -> None:
    text = "A t-0\n0 p7/0 s0 txn\n1 p7/0 commit\n2 p7/0 s1 txn\n3 p7/0 s2 txn"
    (row,) = BY_ID["open-transaction"].find(logs(text))
    assert (row.offset, row.last_offset) == (2, 3)


def test_the_index_of_aborted_transactions() -> None:
    aborted = "A t-0 aborted={index}\n0 p7/0 s0 txn\n1 p7/0 s1 txn\n2 p7/0 abort\n3 e0"
    assert found(aborted.format(index="7:0-2")) == []
    assert told("aborted-index", aborted.format(index="")) == [
        "A/t-0/0.log byte 200: producer 7 aborted at offset 2: no index has an entry for it."
    ]
    assert told("aborted-index", aborted.format(index="7:1-2")) == [
        "A/t-0/0.log byte 200: producer 7 aborted at offset 2: it began at offset 0, its entry "
        "says 1."
    ]
    assert told("aborted-index", aborted.format(index="7:0-2,8:0-3")) == [
        "A/t-0/0.log byte 300: producer 8 aborted at offset 3: an entry says so, and there is no "
        "such marker."
    ]


def test_of_a_transaction_that_began_before_the_log_only_the_end_is_known() -> None:
    began_earlier = "A t-0 aborted={index}\n--- 5\n5 p7/0 s1 txn\n6 p7/0 abort"
    assert found(began_earlier.format(index="7:2-6,9:0-3")) == []
    assert found(began_earlier.format(index="9:0-3")) == ["aborted-index"]
    assert found("A t-0\n0 p7/0 s0 txn\n1 p7/0 abort") == []  # the index is not there


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
        "7:6/0/0/0/0/0",  # of a producer that the log does not have
        "9:7/9/9/9/9/9",  # not between two batches
        "1:7/9/9/9/9/9",
    ],
)
def test_a_snapshot_that_agrees_with_the_log(snapshot: str) -> None:
    assert told("producer-snapshot", REMEMBERED.format(snapshot=snapshot)) == []


@pytest.mark.parametrize(
    ("snapshot", "fault"),
    [
        ("7/1/2/3/3/3", "producer epoch 0, the snapshot at offset 7 has 1"),
        ("7/0/1/3/3/3", "last sequence 2, the snapshot at offset 7 has 1"),
        ("7/0/2/1/3/3", "last offset 3, the snapshot at offset 7 has 1"),
        ("7/0/2/3/2/3", "coordinator epoch 3, the snapshot at offset 7 has 2"),
        ("7/0/2/3/3/-1", "first offset 3, the snapshot at offset 7 has -1"),
        ("8/5/9/4/-1/4", "first offset -1, the snapshot at offset 7 has 4"),
        ("9/1/0/-1/4/-1", "last sequence -1, the snapshot at offset 7 has 0"),
    ],
)
def test_a_snapshot_that_does_not(snapshot: str, fault: str) -> None:
    (said,) = told("producer-snapshot", REMEMBERED.format(snapshot=f"7:{snapshot}"))
    assert said.endswith(f"the log tells {fault}.")


def test_what_lies_before_a_log_may_be_what_a_snapshot_knows() -> None:
    began_earlier = "A t-0 snapshot=6:7/0/-5/-5/9/2\n--- 5\n5 p7/0 {of}"
    assert told("producer-snapshot", began_earlier.format(of="abort c9")) == [
        "A/t-0/5.log byte 0: producer 7: the log tells first offset -1, the snapshot at offset 6 "
        "has 2."
    ]
    text = began_earlier.format(of="s4 txn").replace("-5/-5", "4/5")
    assert told("producer-snapshot", text) == []
