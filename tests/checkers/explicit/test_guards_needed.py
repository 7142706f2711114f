"""If a docstring calls a guard necessary for a claim, this claim breaks without the guard."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, replace

import pytest

from model.specs import find
from model.transactions.state import QUIET
from model.variants import Constants
from tools.track_record.catching import SOON, explored


@dataclass(frozen=True, slots=True)
class Needed:
    """A guard of an action, and the claim that breaks without this guard.

    `guard` is a part of the guard's text, as it is printed.
    """

    spec: str
    action: str
    guard: str
    claim: str
    steps: int
    variant: str | None = None
    at: Constants = field(default_factory=dict)


ELIGIBLE = "eligible_replicas_have_committed_records"
HANGS = "no_hanging_transaction"
VERIFIES, KEEPS, IDS = "kip-890-part-1", "kip-939", "topic-ids"
STAYS, DECIDES = "a_database_commit_stays", "the_client_decides"
ONE_EPOCH = "one_instance_has_an_epoch"
TAKEN = "taken_partitions_have_a_member"
DIRECTORIES = "log-directories"
STATIC, ONE_MEMBER = "static-members", "one_member_of_an_instance"
TWO: Constants = {"instances": 2, "transactions": 1}
KEPT, STARTS = "committed_records_are_kept", "log_start_is_committed"
FAILS: Constants = {"max_failures": 1}
LATE = "with-late-requests"
ALONE: Constants = {"epochs": 4, "instances": 1, "generations": 1}
ELR, RESTARTS, LOSSES, FAILOVER = "with-elr", "with-restarts", "with-losses", "with-failover"
CHANGED = "changed-min-isr"
VALUES, EXACT = "latest_values_are_kept", "position_is_exact"
BEGINS, FOLLOWS = "leaders_begin_with_committed_records", "an_append_follows_the_log"
PROPOSES = "a_leader_with_a_response_proposes_nothing"
THREE: Constants = {"replicas": 3, "keys": 1}
EPOCHS: Constants = {"producer_epochs": 2, "adds_late": False}
FIXED: Constants = {"reassigns": False}
NEEDED = [
    Needed("election", "apply_metadata", "is_up", "leader_completeness", 9),
    Needed("election", "fetch", "broker.is_up[leader]", "acknowledged_within_isr", 7),
    Needed("election", "truncate_to_shared", "is_up", "leader_completeness", 6),
    Needed("election", "replace_disk", "is_up", "leader_completeness", 5),
    Needed("election", "register", "fenced", "leader_completeness", 6),
    Needed("election", "grant_isr", "proposed", "fenced_is_out_of_sync", 7),
    Needed("election", "shut_down", "broker.is_up", "candidate_completeness", 7),
    Needed(
        "election",
        "replace_disk",
        "broker_epoch",
        "candidate_completeness",
        8,
        variant="controller-failover",
    ),
    Needed("election", "take_answer", "answer", "leader_completeness", 7, variant=CHANGED),
    Needed("election", "learn_min_isr", "is_current", "leader_completeness", 8, variant=CHANGED),
    Needed("election", "replace_disk", "~broker.is_up", "leader_completeness", 12, DIRECTORIES),
    Needed("election", "report_failure", "is_offline", "candidates_are_elected", 12, DIRECTORIES),
    Needed("election", "assign_directory", "is_replaced", "candidates_are_elected", 4, DIRECTORIES),
    Needed("election", "register", "registration.fenced", "unclean_is_excluded", 2, DIRECTORIES),
    Needed("replication", "controller_elect_leader", "registration.isr", "strong_isr", 9),
    Needed("replication", "leader_write", "replica.leader", "strong_isr", 4),
    Needed("replication", "leader_shrink_isr", "registration.leader", "strong_isr", 8),
    Needed("retention", "produce", "r == leader", VALUES, 3),
    Needed("retention", "advance_high_watermark", "forall", VALUES, 2),
    Needed("retention", "expand_isr", "true_high_watermark", VALUES, 4),
    Needed("retention", "elect", "isr", VALUES, 5),
    Needed("retention", "expire", "high_watermark", STARTS, 2),
    Needed("retention", "delete_records", "high_watermark", STARTS, 1),
    Needed("retention", "answer_delete_records", "forall", "deleted_stays_deleted", 6),
    Needed("retention", "compact", "exists", VALUES, 4),
    Needed("retention", "fetch", "log.log_start[leader]", STARTS, 5),
    Needed("retention", "truncate_fully", "log.end_offset", VALUES, 4),
    Needed("retention", "advance_high_watermark", "count(isr", VALUES, 5, ELR, THREE),
    Needed("retention", "shrink_isr", "isr[r]", VALUES, 6, ELR, THREE),
    Needed("retention", "expand_isr", "true_high_watermark", VALUES, 5, ELR, THREE),
    Needed("retention", "elect_eligible", "elr[r]", VALUES, 5, ELR, THREE),
    Needed("quorum", "grant_pre_vote", "member.role[r] ==", "one_leader_per_epoch", 10),
    Needed("quorum", "grant_vote", "member.leader[voter]", "one_leader_per_epoch", 10),
    Needed("quorum", "become_leader", "present", "one_leader_per_epoch", 8),
    Needed("quorum", "follow", "member.leader[r]", "one_leader_per_epoch", 14),
    Needed("quorum", "learn_epoch", "member.epoch", "epochs_grow", 3),
    Needed("quorum", "truncate", "member.role", "leaders_append_only", 2),
    Needed("quorum", "advance_high_watermark", "present", "leaders_have_committed_records", 8),
    Needed("quorum", "append", "member.role", "leaders_have_committed_records", 12, at=FAILS),
    Needed("quorum", "restart", "log.flushed", "high_watermarks_are_committed", 1, at=FAILS),
    Needed("transactions", "begin", "end_confirmed", "answers_are_true", 10),
    Needed("transactions", "send", "requested", HANGS, 8),
    Needed("transactions", "receive_end", "metadata.outcome", "answers_are_true", 5),
    Needed("transactions", "verify", "metadata.partitions", HANGS, 6),
    Needed("transactions", "complete", "high_watermark", HANGS, 12),
    Needed("transactions", "change_leader", "high_watermark", "stable_offsets_do_not_go_back", 11),
    Needed("transactions", "begin", "kept", HANGS, 9, variant=KEEPS, at=QUIET),
    Needed("transactions", "commit_in_database", "requested", STAYS, 4, variant=KEEPS, at=QUIET),
    Needed(
        "transactions",
        "complete_prepared",
        "metadata.producer_id",
        "states_follow_the_table",
        10,
        variant=KEEPS,
        at={**QUIET, "ids_expire": True},
    ),
    Needed(
        "transactions",
        "receive_completion",
        "metadata.producer_id",
        "no_two_instances_are_one",
        9,
        variant=KEEPS,
        at={**QUIET, "instances": 3},
    ),
    Needed("transactions", "delete_topic", "topic", "stable_offsets_do_not_go_back", 9, IDS, QUIET),
    Needed("transactions", "create_topic", "topic", HANGS, 11, IDS, QUIET),
    Needed(
        "transactions",
        "skip_marker",
        "transaction_state.appended",
        HANGS,
        27,
        variant=IDS,
        at={**QUIET, "coordinator_failures": 1},
    ),
    Needed(
        "transactions",
        "abort_ongoing",
        "in_database[k]",
        STAYS,
        9,
        variant="kip-939-without-keeping",
        at={**QUIET, "transactions": 1},
    ),
    Needed(
        "transactions",
        "raise_epoch",
        "producer.error[i] == nothing",
        "no_instance_fences_itself",
        6,
        "kip-360",
    ),
    Needed("idempotence", "append", "last_sequence", "in_order_without_gaps", 3),
    Needed("idempotence", "send", "c < b", "the_next_is_accepted", 2),
    Needed("idempotence", "acknowledge", "high_watermark", "acknowledged_is_there", 3),
    Needed("idempotence", "refuse", "~(leader_knows.is_known[p] & same", "at_most_once", 4),
    Needed("idempotence", "resolve", "forall", "at_most_once", 7),
    Needed("group-offsets", "fetch_offset", "owner", "each_input_once", 8),
    Needed("group-offsets", "process", "reads", "each_input_once", 11),
    Needed(
        "group-offsets",
        "commit_in_transaction",
        "cache.loaded",
        "committed_is_the_last_that_counts",
        8,
    ),
    Needed("group-offsets", "end_commit", "~consumer.ended", "no_input_is_skipped", 9),
    Needed(
        "group-offsets", "reset_offset", "cache.loaded", "pending_is_what_markers_will_decide", 10
    ),
    Needed("group-offsets", "delete_group", "owner", "committed_offsets_last", 3),
    Needed("group-offsets", "commit", "consumer.reads", "commits_are_current", 2),
    Needed("classic-group", "start_static", "is_joining", ONE_MEMBER, 4),
    Needed("classic-group", "assign", "is_rebalancing", "one_owner", 11),
    Needed("classic-group", "receive_assignment", "is_assigned", "old_answers_change_nothing", 7),
    Needed("consumer-group", "change_subscription", "forall", "an_empty_group_is_settled", 1),
    Needed("consumer-group", "join", "joined", "epochs_grow", 4),
    Needed("consumer-group", "start_static", "joined", ONE_MEMBER, 4, variant=STATIC),
    Needed("consumer-group", "leave_for_now", "joined", ONE_MEMBER, 10, variant=STATIC),
    Needed(
        "consumer-group",
        "come_back",
        "m == other",
        "partition_epoch_iff_assigned",
        9,
        variant=STATIC,
        at={"epochs": 3},
    ),
    Needed("share-group", "acquire", "is_active", "acknowledgements_last", 5),
    Needed("share-group", "accept", "record.member[x] == m", "only_the_holder_acknowledges", 1),
    Needed("share-group", "release", "record.member[x] == m", "only_the_holder_acknowledges", 1),
    Needed("share-group", "reject", "record.member[x] == m", "only_the_holder_acknowledges", 1),
    Needed("share-group", "time_out", "record.state[x] == 2", "acknowledgements_last", 6),
    Needed("share-group", "initialize", "~is_active", "start_offset_grows", 3),
    Needed("replication-abstract", "elect", "isr[newest]", "isr_has_what_is_committed", 8),
    Needed("replication-abstract", "truncate", "forall", "isr_has_what_is_committed", 5),
    Needed(
        "replication-abstract", "advance_high_watermark", "forall", "isr_has_what_is_committed", 2
    ),
    Needed(
        "replication-abstract",
        "become_leader_without",
        "exists",
        "isr_has_what_is_committed",
        3,
        variant=LOSSES,
    ),
    Needed(
        "replication-abstract",
        "become_follower",
        "replica.leader_epoch[r] < newer",
        "isr_has_what_is_committed",
        8,
    ),
    Needed(
        "replication-abstract",
        "commit_too_late",
        "lossy",
        "high_watermarks_are_committed",
        4,
        LOSSES,
    ),
    Needed("idempotence-abstract", "acknowledge", "high_watermark", "acknowledged_is_durable", 1),
    Needed("idempotence-abstract", "append_first", "is_number", "at_most_once", 2, RESTARTS),
    Needed(
        "idempotence-abstract", "append_next", "latest < end_offset", "without_gaps", 2, RESTARTS
    ),
    Needed("idempotence-abstract", "send", "is_sent", "at_most_once", 4, RESTARTS),
    Needed("idempotence-abstract", "renumber", "older <", "at_most_once", 4, RESTARTS),
    Needed(
        "idempotence-abstract", "restart", "high_watermark", "acknowledged_is_durable", 8, RESTARTS
    ),
    Needed("quorum-abstract", "learn_epoch", "replica.epoch", "one_leader_per_epoch", 9),
    Needed("quorum-abstract", "become_leader", "count", "one_leader_per_epoch", 2),
    Needed(
        "quorum-abstract", "advance_high_watermark", "count", "leaders_have_committed_records", 10
    ),
    Needed("read-committed-abstract", "commit", "aborted[x]", "nothing_committed_is_skipped", 7),
    Needed("read-committed-abstract", "append_next", "written", "stable_offset_stops_at_open", 2),
    Needed(
        "read-committed-abstract", "write_marker", "committed[x]", "only_committed_is_delivered", 5
    ),
    Needed(
        "read-committed-abstract",
        "change_leader",
        "<= end_offset",
        "stable_offset_stops_at_open",
        2,
    ),
    Needed("read-committed-abstract", "read", "forall", "nothing_committed_is_skipped", 6),
    Needed("consumer-group-abstract", "compute_target", "assignment_epoch", "owners_may_commit", 6),
    Needed("consumer-group-abstract", "expire", "assignment_epoch", "owners_may_commit", 7),
    Needed("consumer-group-abstract", "heartbeat", "member_epoch", TAKEN, 6),
    Needed("consumer-group-abstract", "leave_for_now", "joined", TAKEN, 6, variant=STATIC),
    Needed("consumer-group-abstract", "come_back", "is_away", TAKEN, 5, variant=STATIC),
    Needed("consumer-group-abstract", "join", "joined", TAKEN, 4),
    Needed("classic-group-abstract", "start_static", "~is_joining", ONE_MEMBER, 4),
    Needed("classic-group-abstract", "replace", "~is_rebalancing & is_assigned", ONE_MEMBER, 6),
    Needed("classic-group-abstract", "complete_join", "group.generation <", ONE_MEMBER, 7),
    Needed("classic-group-abstract", "assign", "is_rebalancing", "a_stable_group_survives", 4),
    Needed("classic-group-abstract", "persist_assignment", "is_rebalancing", ONE_MEMBER, 7),
    Needed("classic-group-abstract", "receive_assignment", "is_rebalancing", ONE_MEMBER, 5),
    Needed("classic-group-abstract", "become_empty", "group.generation <", "one_owner", 17),
    Needed("coordinator-abstract", "begin", "forall", DECIDES, 9),
    Needed("coordinator-abstract", "request_commit", "abort", "an_acknowledged_commit_stays", 8),
    Needed("coordinator-abstract", "receive_end", "last_id", "an_acknowledged_commit_stays", 12),
    Needed("coordinator-abstract", "fail_over", "epoch", "markers_are_accepted", 10),
    Needed("coordinator-abstract", "init_producer", "is_ongoing", HANGS, 8),
    Needed("coordinator-abstract", "prepare_commit", "is_ongoing", DECIDES, 6),
    Needed("coordinator-abstract", "prepare_abort", "is_prepared", HANGS, 14),
    Needed("coordinator-abstract", "append", "seen_epoch", HANGS, 11),
    Needed("coordinator-abstract", "write_marker", "committed", HANGS, 11),
    Needed(
        "coordinator-abstract",
        "raise_epoch",
        "is_ready",
        "only_the_newest_instance_has_the_epoch",
        4,
        variant="kip-360",
        at={"instances": 2},
    ),
    Needed(
        "coordinator-abstract",
        "repeat_response",
        "is_ready",
        ONE_EPOCH,
        6,
        variant="kip-360",
        at={"instances": 2},
    ),
    Needed("coordinator-abstract", "confirm", "log.is_ongoing", HANGS, 6, variant=VERIFIES),
    Needed("coordinator-abstract", "append", "seen_epoch", HANGS, 12, variant=VERIFIES),
    Needed(
        "coordinator-abstract",
        "receive_end",
        "log.is_known",
        "no_instance_has_the_last_epoch",
        9,
        variant=VERIFIES,
    ),
    Needed("coordinator-abstract", "begin", "is_keeping", DECIDES, 13, KEEPS, {"instances": 2}),
    Needed("coordinator-abstract", "request_commit", "in_database", DECIDES, 9, KEEPS, TWO),
    Needed("coordinator-abstract", "request_abort", "in_database", STAYS, 8, KEEPS, TWO),
    Needed("coordinator-abstract", "enable_two_phase", "assigned", STAYS, 9, KEEPS, TWO),
    Needed("coordinator-abstract", "keep_prepared", "log.is_ongoing[i]", STAYS, 9, KEEPS, TWO),
    Needed("coordinator-abstract", "complete_prepared", "abort_sent", STAYS, 11, KEEPS, TWO),
    Needed("coordinator-abstract", "commit_in_database", "abort_requested", STAYS, 8, KEEPS, TWO),
    Needed("coordinator-abstract", "request_completion", "is_keeping", STAYS, 14, KEEPS, TWO),
    Needed("coordinator-abstract", "receive_completion", "is_complete", ONE_EPOCH, 13, KEEPS, TWO),
    Needed(
        "coordinator-abstract",
        "fence",
        "log.is_ongoing",
        "a_decision_survives",
        10,
        VERIFIES,
        EPOCHS,
    ),
    Needed(
        "coordinator-abstract",
        "request_commit",
        "added",
        "an_acknowledged_commit_stays",
        12,
        VERIFIES,
        EPOCHS,
    ),
    Needed(
        "coordinator-abstract",
        "request_abort",
        "added",
        "requests_are_of_begun_transactions",
        4,
        VERIFIES,
        EPOCHS,
    ),
    Needed(
        "coordinator-abstract",
        "start_verification",
        "begun",
        "a_verified_request_is_covered",
        1,
        VERIFIES,
        EPOCHS,
    ),
    Needed("reassignment-abstract", "elect", "isr", ELIGIBLE, 8),
    Needed("reassignment-abstract", "elect_eligible", "elr", ELIGIBLE, 7),
    Needed("reassignment-abstract", "expand_isr", "proposed", ELIGIBLE, 6),
    Needed("reassignment-abstract", "become_leader", "leader[newer]", ELIGIBLE, 7),
    Needed("reassignment-abstract", "refuse_member", "~led.isr", ELIGIBLE, 3),
    Needed("reassignment-abstract", "shrink_isr", "leader[newest]", "epochs_are_elected", 1),
    Needed("reassignment-abstract", "complete_reassignment", "joins", ELIGIBLE, 6),
    Needed("reassignment-abstract", "cancel_reassignment", "isr[newest][leader]", BEGINS, 7),
    Needed("reassignment-abstract", "become_follower", "< newer", BEGINS, 7),
    Needed("reassignment-abstract", "delete_replica", "~replicas[r]", ELIGIBLE, 5),
    Needed("reassignment-abstract", "commit", "acknowledged", ELIGIBLE, 2),
    Needed("reassignment-abstract", "copy", "led.log", "records_were_written", 1),
    Needed("reassignment-abstract", "truncate", "~led.log", ELIGIBLE, 5),
    Needed(
        "reassignment-abstract",
        "acknowledge",
        "broker.log[r][x] =>",
        "acknowledgements_are_of_reached_epochs",
        5,
    ),
    Needed("reassignment-abstract", "propose_member", "led.start", ELIGIBLE, 7),
    Needed("reassignment-abstract", "register", "is_stopped", "enough_members_remain", 1),
    Needed("reassignment-abstract", "lose", "is_starting", ELIGIBLE, 5),
    Needed("reassignment-abstract", "propose_member", "response", PROPOSES, 7, CHANGED, FIXED),
    Needed("reassignment-abstract", "respond", "led.begun", PROPOSES, 2, CHANGED, FIXED),
    Needed(
        "reassignment-abstract",
        "receive_response",
        "response",
        "proposals_are_of_the_known_isr",
        3,
        CHANGED,
        FIXED,
    ),
    Needed("pipeline-abstract", "rebalance", "<", "each_input_at_most_once", 17),
    Needed("pipeline-abstract", "fetch_offset", "~reads", "each_input_at_most_once", 9),
    Needed("pipeline-abstract", "process", "~pending", EXACT, 6),
    Needed("pipeline-abstract", "write_offset_marker", "aborted", EXACT, 9),
    Needed("pipeline-abstract", "append", "~appended", "each_input_at_most_once", 12, LATE, ALONE),
    Needed("pipeline-abstract", "complete", "output_marked", EXACT, 12, LATE, ALONE),
    Needed("pipeline-abstract", "process", "offset_sent", EXACT, 10, LATE, ALONE),
    Needed("pipeline-abstract", "request_abort", "commit_requested", EXACT, 20, LATE, ALONE),
    Needed("pipeline-abstract", "init_transactions", "ongoing", "one_transaction", 6, LATE),
    Needed("pipeline-abstract", "lose_init_response", "ongoing", "one_transaction", 6, LATE),
    Needed("pipeline-abstract", "send_offset", "reads", "sent_is_below_position", 2, LATE),
    Needed("pipeline-abstract", "request_commit", "[p][o] => offset_sent", EXACT, 8, LATE),
    Needed("pipeline-abstract", "receive_end", "committed_at", ONE_EPOCH, 4, LATE),
    Needed("pipeline-abstract", "add_to_transaction", "ongoing", EXACT, 12, LATE),
    Needed("pipeline-abstract", "commit", "commit_requested", EXACT, 7, LATE),
    Needed("pipeline-abstract", "abort", "ongoing", "markers_are_seen", 3, LATE),
    Needed("pipeline-abstract", "write_output_marker", "output_epoch", EXACT, 16, LATE),
    Needed("pipeline-abstract", "accept_offset", "offset_sent", EXACT, 10, LATE),
    Needed("pipeline-abstract", "write_offset_marker", "offsets_epoch", EXACT, 17, LATE),
    Needed("pipeline-abstract", "init_transactions", "ongoing", FOLLOWS, 7, FAILOVER),
    Needed("pipeline-abstract", "lose_init_response", "ongoing", FOLLOWS, 7, FAILOVER),
    Needed("pipeline-abstract", "add_to_transaction", "is_appending", FOLLOWS, 7, FAILOVER),
    Needed("pipeline-abstract", "complete", "output_marked", EXACT, 14, FAILOVER),
    Needed("pipeline-abstract", "commit_init", "is_appending[x]", EXACT, 16, FAILOVER),
    Needed("share-group-abstract", "acquire", "is_active", "acknowledgements_last", 5),
    Needed("share-group-abstract", "acquire", "comes next", "delivery_count_is_limited", 1),
    Needed("share-group-abstract", "time_out", "nothing", "acknowledgements_last", 5),
    Needed("share-group-abstract", "move_start", "start <= x", "start_offset_never_goes_back", 6),
    Needed("share-group-abstract", "move_start", "forall", "no_record_is_skipped", 1),
    Needed("share-group-abstract", "delete_records", "<", "no_record_is_skipped", 3),
    Needed("share-group-abstract", "follow_log_start", "<", "acknowledgements_last", 6),
    Needed("share-group-abstract", "elect", "<", "acknowledgements_last", 6),
    Needed("share-group-abstract", "initialize", "is_active", "one_member_has_a_record", 3),
    Needed("share-group-abstract", "accept", "record.member", "one_member_has_a_record", 2),
    Needed("share-group-abstract", "release", "record.member", "one_member_has_a_record", 2),
    Needed("retention-abstract", "produce", "comes next", "an_epoch_has_one_record", 3),
    Needed("retention-abstract", "advance_high_watermark", "epoch[r]", KEPT, 1),
    Needed("retention-abstract", "shrink_isr", "!=", STARTS, 3),
    Needed("retention-abstract", "shrink_to_elr", "isr", KEPT, 4),
    Needed("retention-abstract", "expand_isr", "true_high_watermark", KEPT, 4),
    Needed("retention-abstract", "elect", "isr", KEPT, 5),
    Needed("retention-abstract", "elect_eligible", "elr", KEPT, 4),
    Needed("retention-abstract", "expire", "high_watermark", STARTS, 2),
    Needed("retention-abstract", "delete_records", "high_watermark", STARTS, 1),
    Needed("retention-abstract", "answer_delete_records", "forall", "deleted_stays_deleted", 5),
    Needed("retention-abstract", "compact", "key", VALUES, 6, at={"keys": 2}),
    Needed("retention-abstract", "make_follower", "forall", KEPT, 5),
    Needed("retention-abstract", "fetch", "log.log_start[leader]", STARTS, 5),
    Needed("retention-abstract", "truncate_fully", "log.end_offset", KEPT, 4),
    Needed("transactions-abstract", "begin", "forall", "faithful", 7),
    Needed("transactions-abstract", "append", "seen_epoch", HANGS, 6),
    Needed("reassignment", "remove_replica", "assignment.replicas[r]", "changing_are_replicas", 3),
    Needed("reassignment", "delete_replica", "~assignment.replicas[r]", "leader_completeness", 5),
]


@pytest.mark.parametrize("needed", NEEDED, ids=lambda one: f"{one.spec}-{one.action}")
def test_without_the_guard_the_claim_breaks(needed: Needed) -> None:
    spec = find(needed.spec, needed.variant).make(needed.at)
    docstring = " ".join((inspect.getdoc(getattr(spec, needed.action)) or "").split())
    assert re.search(rf"`{needed.claim}` breaks? in {needed.steps} steps?", docstring)

    action = next(action for action in spec.actions if action.name == needed.action)
    kept = [guard for guard in action.guards if needed.guard not in str(guard)]
    assert len(kept) == len(action.guards) - 1
    unguarded = replace(action, guards=kept)
    vars(spec)["actions"] = tuple(unguarded if one is action else one for one in spec.actions)

    found = explored(spec, [needed.claim], budgets=SOON)
    assert found.discoveries[needed.claim].steps == needed.steps
