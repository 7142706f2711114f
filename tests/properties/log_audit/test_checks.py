"""Each check reports the faults in a log with their locations, and accepts what Kafka permits."""

from __future__ import annotations

import pytest

from model.faults import UnknownName
from properties.anomalies.catalogue import BY_ID as ANOMALIES
from properties.log_audit.catalogue import BY_ID, CHECKS, named
from properties.log_audit.check import Check
from tests.properties.log_audit.findings import explained, found
from tests.properties.log_audit.notation import logs

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
