"""Runs of the share-group spec: deliveries, locks, acknowledgements, and a change of leader.

m0 and m1 are members; the offsets of the records are 0 and 1.
"""

from __future__ import annotations

from model.share_group.bugs import (
    AcknowledgesForOthers,
    AcquiresInTransition,
    KeepsExpiredLock,
    ReadsWithoutFencing,
    SkipsGaps,
    StartOffsetIsNotStored,
    StartOffsetWaits,
)
from model.share_group.state import RecordState
from model.share_group.versions import Kafka43, ShareGroup
from tests.model.conftest import Begin, Play

NEW_LEADER = ("elect", "initialize")


def state(run: Play, offset: int) -> tuple[str, object]:
    """Returns the state of a record at the leader, and its delivery count."""
    return (
        RecordState.labels[run.state["record.state", (offset,)] or 0],
        run[f"record.count {offset}"],
    )


# ---- locks


def test_members_share_a_partition_and_only_the_holder_acknowledges(play: Begin) -> None:
    run = play(ShareGroup()).do("acquire 0", "acquire 1")
    assert (run["record.member 0"], run["record.member 1"]) == (0, 1)
    assert run.refused("acquire 0")
    assert "member" in run.refused("accept 1 0")
    wrong = play(AcknowledgesForOthers()).do("acquire 0", "accept 1 0")
    assert wrong.broken() == {"only_the_holder_acknowledges"}


def test_a_record_is_redelivered_after_its_lock_times_out(play: Begin) -> None:
    run = play(ShareGroup()).do("acquire 0", "time_out 0", "acquire 1")
    assert (*state(run, 0), run["record.member 0"]) == ("ACQUIRED", 2, 1)
    assert "member" in run.refused("accept 0 0")


def test_a_released_record_is_redelivered_after_the_release_is_stored(play: Begin) -> None:
    run = play(ShareGroup(records=1)).do("acquire 0", "release 0 0")
    assert run.refused("acquire 1")
    run.do("persist 0", "acquire 1")
    assert state(run, 0) == ("ACQUIRED", 2)
    wrong = play(AcquiresInTransition(records=1)).do("acquire 0", "release 0 0", "acquire 1")
    assert wrong.broken() == {"one_member_at_a_time"}


def test_the_order_of_the_log_is_not_kept(play: Begin) -> None:
    run = play(ShareGroup()).do("acquire 0", "acquire 1", "accept 1 1", "persist 0", "time_out 0")
    assert state(run, 1) == ("ACKNOWLEDGED", 1)
    assert state(run.do("acquire 1"), 0) == ("ACQUIRED", 2)
    assert run["start"] == 0


def test_a_record_is_archived_at_the_limit_of_deliveries(play: Begin) -> None:
    twice = ("acquire 0", "release 0 0", "persist 0", "acquire 1")
    for last in ("time_out 0", "release 1 0"):
        run = play(ShareGroup()).do(*twice, last)
        assert state(run, 0) == ("ARCHIVED", 2)
        assert run.do("persist 0")["start"] == 1


def test_a_rejected_record_is_archived_at_once(play: Begin) -> None:
    run = play(ShareGroup()).do("acquire 0", "reject 0 0", "persist 0")
    assert (run["start"], run["stored.state 0"]) == (1, RecordState.labels.index("ARCHIVED"))


# ---- writes that fail


def test_a_member_has_its_record_again_after_a_failed_acknowledgement(play: Begin) -> None:
    for fails in ("lose_write 0", "lose_answer 0"):
        run = play(ShareGroup()).do("acquire 1", "accept 1 0", fails)
        assert (*state(run, 0), run["record.member 0"]) == ("ACQUIRED", 1, 1)


def test_a_lock_that_times_out_during_the_write_ends_with_it(play: Begin) -> None:
    steps = ("acquire 0", "accept 0 0", "time_out_in_transition 0", "lose_write 0")
    assert state(play(ShareGroup()).do(*steps), 0) == ("AVAILABLE", 1)
    wrong = play(KeepsExpiredLock()).do(*steps)
    assert state(wrong, 0) == ("ACQUIRED", 1)
    assert "expired" in wrong.refused("time_out 0")


def test_the_start_offset_waits_for_another_write_in_kafka(play: Begin) -> None:
    steps = ("acquire 0", "release 0 0", "persist 0", "acquire 0", "accept 0 0")
    archived = (*steps, "time_out_in_transition 0", "lose_write 0")
    assert play(ShareGroup()).do(*archived)["start"] == 1
    waits = play(StartOffsetWaits()).do(*archived)
    assert (*state(waits, 0), waits["start"]) == ("ARCHIVED", 2, 0)
    assert waits.do("acquire 0", "accept 0 1", "persist 0")["start"] == 2


# ---- a new leader


def test_an_acknowledgement_is_lost_with_its_leader_unless_it_is_stored(play: Begin) -> None:
    lost = play(ShareGroup()).do("acquire 0", "accept 0 0", *NEW_LEADER)
    assert state(lost.do("acquire 1"), 0) == ("ACQUIRED", 1)
    stored = play(ShareGroup()).do("acquire 0", "accept 0 0", "persist 0", *NEW_LEADER)
    assert stored["start"] == 1
    assert state(stored.do("acquire 1"), 1) == ("ACQUIRED", 1)


def test_the_coordinator_refuses_an_old_leader_once_a_new_one_has_read(play: Begin) -> None:
    late = ("acquire 0", "accept 0 0", "elect", "persist 0", "initialize")
    assert play(ShareGroup()).do(*late)["start"] == 1
    fenced = ("acquire 0", "accept 0 0", *NEW_LEADER, "acquire 1")
    refused = play(ShareGroup()).do(*fenced)
    assert "accepted" in refused.refused("lose_answer 0")
    assert refused.do("persist 0")["stored.state 0"] == 0
    assert refused.broken() == set()
    wrong = play(ReadsWithoutFencing()).do(*fenced, "persist 0")
    assert wrong.broken() == {"acknowledgements_last"}


def test_a_new_leader_counts_deliveries_from_the_last_stored_count(play: Begin) -> None:
    """Three deliveries, although the limit is two."""
    run = play(ShareGroup()).do("acquire 0", *NEW_LEADER, "acquire 0", "time_out 0", "acquire 0")
    assert state(run, 0) == ("ACQUIRED", 2)
    assert run.broken() == set()


def test_a_new_leader_skips_records_if_no_start_offset_is_stored(play: Begin) -> None:
    steps = ("acquire 0", *NEW_LEADER)
    assert play(ShareGroup()).do(*steps)["start"] == 0
    wrong = play(StartOffsetIsNotStored()).do(*steps)
    assert wrong["start"] == 2
    assert wrong.broken() == {"no_record_is_skipped"}
    released = play(StartOffsetIsNotStored()).do("acquire 0", "release 0 0", "persist 0")
    assert state(released.do(*NEW_LEADER, "acquire 1"), 0) == ("ACQUIRED", 2)


def test_a_new_leader_delivers_the_records_that_it_finds_no_state_of(play: Begin) -> None:
    scope = {"records": 3, "writes": 2}
    middle_unknown = ("acquire 0", "acquire 0", "acquire 0", "accept 0 2", "accept 0 0")
    steps = (*middle_unknown, "persist 0", "persist 1", *NEW_LEADER)
    run = play(ShareGroup(**scope)).do(*steps)
    assert (run["start"], state(run, 1)) == (1, ("NOT_FETCHED", 0))
    assert state(run.do("acquire 1"), 1) == ("ACQUIRED", 1)
    wrong = play(SkipsGaps(**scope)).do(*steps)
    assert wrong["start"] == 3
    assert wrong.broken() == {"no_record_is_skipped"}


# ---- the start offset

LATE_WRITE = (  # the write in place 1 has the start offset 0, and arrives last
    *("acquire 0", "acquire 0", "accept 0 0", "time_out 1", "persist 0"),
    *("acquire 0", "accept 0 1", "persist 0", "persist 1"),
)


def test_a_late_write_moves_the_stored_start_offset_back_in_kafka(play: Begin) -> None:
    scope = {"writes": 2}
    run = play(ShareGroup(**scope)).do(*LATE_WRITE)
    assert run["stored_start"] == 1
    assert run.do(*NEW_LEADER)["start"] == 2
    shipped = play(Kafka43(**scope)).do(*LATE_WRITE[:-1])
    assert shipped.broken_by("persist 1") == {"start_offset_grows"}
    assert (shipped["stored_start"], shipped["stored.state 0"]) == (0, 0)
    assert shipped.do(*NEW_LEADER, "acquire 1").broken() == {"acknowledgements_last"}


def test_the_start_offset_follows_the_log_start(play: Begin) -> None:
    deletes = ("delete_record", "delete_record")
    run = play(ShareGroup()).do("acquire 0", *deletes)
    assert run.refused("acquire 1")
    run.do("follow_log_start")
    assert (run["start"], *state(run, 0)) == (2, "ACQUIRED", 1)
    assert "start" in run.refused("accept 0 0")
    run.do("time_out 0")
    assert state(run, 0) == ("ARCHIVED", 1)
    assert run.do("persist 0", *NEW_LEADER).refused("acquire 0")
