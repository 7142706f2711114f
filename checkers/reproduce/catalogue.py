"""The table of all reproductions. Each of them shows the counterexample of a spec on real
brokers.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.reproduction import Reproduction
from checkers.reproduce.schedules import (
    accepted_record_returns,
    acknowledged_by_leader_alone,
    broker_cannot_return,
    cancelled_reassignment,
    cancelled_replica_elected,
    cleared_elr,
    committed_before_poll,
    committed_record_lost,
    delayed_end,
    deleted_record_returns,
    deleted_records_return,
    deposed_group_coordinator,
    duplicate_after_restart,
    failed_disk_is_elected,
    failed_disk_is_refused,
    failed_disk_joins_isr,
    fenced_instance_returns,
    fenced_member_commits,
    hanging_transaction,
    joins_before_log_start,
    last_epoch_is_refused,
    last_known_leader,
    last_replica_standing,
    last_stable_offset_goes_back,
    late_marker,
    late_offset_commit,
    late_offset_of_last_transaction,
    leader_trusts_old_fetches,
    lost_decision,
    markers_unanswered,
    min_isr_of_partition_0,
    offset_of_deleted_topic,
    old_timestamps,
    only_copy_lost,
    raised_min_isr,
    reassignment_never_ends,
    recreated_topic,
    recreated_topic_aborted,
    removed_disk,
    removed_replica_elected,
    reordered_batches,
    rolling_restart_redelivers,
    share_lag_remains,
    skipped_marker,
    stale_elr_blocks_election,
    stale_elr_member,
    static_member_refused,
    unclean_election,
    unflushed_records,
)
from model.faults import UnknownName

REPRODUCTIONS: Final[dict[str, Reproduction]] = {
    one.REPRODUCTION.name: one.REPRODUCTION
    for one in (
        stale_elr_member,
        removed_replica_elected,
        cancelled_replica_elected,
        duplicate_after_restart,
        old_timestamps,
        deleted_record_returns,
        last_known_leader,
        min_isr_of_partition_0,
        removed_disk,
        raised_min_isr,
        leader_trusts_old_fetches,
        skipped_marker,
        committed_record_lost,
        lost_decision,
        recreated_topic,
        recreated_topic_aborted,
        markers_unanswered,
        broker_cannot_return,
        failed_disk_is_elected,
        failed_disk_is_refused,
        failed_disk_joins_isr,
        cleared_elr,
        stale_elr_blocks_election,
        deleted_records_return,
        joins_before_log_start,
        fenced_instance_returns,
        last_stable_offset_goes_back,
        reassignment_never_ends,
        last_epoch_is_refused,
        cancelled_reassignment,
        accepted_record_returns,
        rolling_restart_redelivers,
        share_lag_remains,
        static_member_refused,
        deposed_group_coordinator,
        offset_of_deleted_topic,
        committed_before_poll,
        fenced_member_commits,
        unclean_election,
        acknowledged_by_leader_alone,
        only_copy_lost,
        last_replica_standing,
        unflushed_records,
        hanging_transaction,
        late_marker,
        delayed_end,
        late_offset_commit,
        late_offset_of_last_transaction,
        reordered_batches,
    )
}


def find(name: str) -> Reproduction:
    if name not in REPRODUCTIONS:
        raise UnknownName("reproduction", name, REPRODUCTIONS)
    return REPRODUCTIONS[name]
