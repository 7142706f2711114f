"""The state machines of the specs: the actions that lead from one state to another.

A test explores each spec, and compares the transitions that it finds with those listed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from model.abstract_state_machines import ABSTRACT_STATE_MACHINES
from model.state_machine import StateMachine
from model.transactions.state import QUIET
from model.variants import Constants

ELECTIONS: Final[Sequence[Constants]] = (
    {"replicas": 2, "min_isr": 2, "max_unclean": 1, "max_losses": 0, "max_disruptions": 1},
    {"replicas": 2, "min_isr": 2, "max_unclean": 2, "max_losses": 1, "max_disruptions": 0},
    {"replicas": 2, "min_isr": 1, "max_unclean": 0, "max_losses": 0, "max_disruptions": 1},
    {"replicas": 3, "min_isr": 2, "max_unclean": 1, "max_losses": 0, "max_disruptions": 0},
)

STATE_MACHINES: Final[Mapping[str, tuple[StateMachine, ...]]] = {  # by the name of the spec
    "replication": (
        StateMachine(
            of="a replica, compared with the controller's newest decision",
            means={
                "BEHIND": "follows an older leader epoch, or none yet",
                "IN_SYNC": "follows the newest leader epoch, and is in the ISR",
                "OUT_OF_SYNC": "follows the newest leader epoch, and is not in the ISR",
                "LEADER": "leads in the newest leader epoch",
                "STALE_LEADER": "believes that it leads, in an older leader epoch",
            },
            at=[
                {"replicas": 2, "max_leader_epoch": 2, "log_size": 1, "max_records": 1},
                {"replicas": 3, "max_leader_epoch": 1, "log_size": 1, "max_records": 1},
            ],
            steps=(
                ("BEHIND", "become_follower", "IN_SYNC"),
                ("BEHIND", "become_follower", "OUT_OF_SYNC"),
                ("BEHIND", "become_leader", "LEADER"),
                ("BEHIND", "become_leader", "STALE_LEADER"),
                ("IN_SYNC", "leader_shrink_isr", "OUT_OF_SYNC"),
                ("IN_SYNC", "controller_elect_leader | controller_shrink_isr", "BEHIND"),
                ("OUT_OF_SYNC", "leader_expand_isr", "IN_SYNC"),
                ("OUT_OF_SYNC", "controller_elect_leader | controller_shrink_isr", "BEHIND"),
                ("LEADER", "controller_elect_leader | controller_shrink_isr", "STALE_LEADER"),
                ("STALE_LEADER", "become_follower", "IN_SYNC"),
                ("STALE_LEADER", "become_follower", "OUT_OF_SYNC"),
                ("STALE_LEADER", "become_follower", "BEHIND"),
                ("STALE_LEADER", "become_leader", "LEADER"),
            ),
        ),
    ),
    "election": (
        StateMachine(
            of="a replica in the partition's registration at the controller",
            means={
                "LEADER": "the leader, which is in the ISR",
                "IN_SYNC": "in the ISR, without leading",
                "ELIGIBLE": "in the ELR: it left the ISR when the ISR became too small to commit",
                "LAST_KNOWN": "the last known leader, while there is no leader; not in the ELR",
                "OUT_OF_SYNC": "none of these: it may not lead",
            },
            at=ELECTIONS,
            steps=(
                ("LEADER", "move_leader", "IN_SYNC"),
                ("LEADER", "detect_crash | expire_session | shut_down", "ELIGIBLE"),
                ("LEADER", "detect_crash | expire_session | shut_down", "OUT_OF_SYNC"),
                ("IN_SYNC", "detect_crash | expire_session | move_leader | shut_down", "LEADER"),
                ("IN_SYNC", "detect_crash | expire_session | grant_isr | shut_down", "ELIGIBLE"),
                ("IN_SYNC", "detect_crash | expire_session | grant_isr | shut_down", "OUT_OF_SYNC"),
                ("ELIGIBLE", "detect_crash | expire_session | shut_down | unfence", "LEADER"),
                ("ELIGIBLE", "grant_isr", "IN_SYNC"),
                ("ELIGIBLE", "register", "LAST_KNOWN"),
                ("ELIGIBLE", "grant_isr | register", "OUT_OF_SYNC"),
                ("LAST_KNOWN", "register | unfence", "LEADER"),
                ("LAST_KNOWN", "unfence", "OUT_OF_SYNC"),
                ("OUT_OF_SYNC", "grant_isr", "IN_SYNC"),
            ),
        ),
        StateMachine(
            of="a broker's process and its registration",
            means={
                "ACTIVE": "up, and not fenced",
                "FENCED": "up, and fenced",
                "CRASHED": "down; the controller has not noticed",
                "STOPPED": "down, and fenced",
            },
            at=ELECTIONS[:2],
            steps=(
                ("ACTIVE", "kill | lose_power", "CRASHED"),
                ("ACTIVE", "expire_session", "FENCED"),
                ("ACTIVE", "shut_down", "STOPPED"),
                ("CRASHED", "detect_crash", "STOPPED"),
                ("STOPPED", "register", "FENCED"),
                ("FENCED", "unfence", "ACTIVE"),
                ("FENCED", "kill | lose_power", "STOPPED"),
            ),
        ),
    ),
    "reassignment": (
        StateMachine(
            of="a broker in the partition's assignment",
            means={
                "NO_REPLICA": "not assigned, without a log of the partition",
                "ADDING": "being added: it fetches, and joins the ISR before it is a replica",
                "REPLICA": "assigned, and neither being added nor being removed",
                "REMOVING": "a replica until the reassignment completes",
                "REMOVED": "not assigned, but it does not know that yet, or has records",
            },
            at=[{"replicas": 2, "assigned": 1, "max_disruptions": 0, "max_reassignments": 2}],
            steps=(
                ("NO_REPLICA", "add_replicas | replace_replica", "ADDING"),
                ("ADDING", "grant_isr", "REPLICA"),
                ("ADDING", "cancel_reassignment", "NO_REPLICA"),
                ("ADDING", "cancel_reassignment", "REMOVED"),
                ("REPLICA", "remove_replica | replace_replica", "REMOVING"),
                ("REPLICA", "remove_replica", "REMOVED"),
                ("REMOVING", "grant_isr", "REMOVED"),
                ("REMOVING", "cancel_reassignment", "REPLICA"),
                ("REMOVED", "delete_replica", "NO_REPLICA"),
                ("REMOVED", "add_replicas | replace_replica", "ADDING"),
            ),
        ),
    ),
    "group-offsets": (
        StateMachine(
            of="the group's committed offset at the coordinator",
            means={
                "LOADING": "a new coordinator has not read its whole log, and answers nothing",
                "NO_OFFSET": "no commit counts",
                "PENDING": "a transaction has committed an offset, and is not decided",
                "COMMITTED": "a commit counts",
                "COMMITTED_AND_PENDING": "a commit counts, and a transaction is not decided",
            },
            at=[{"members": 1, "log_size": 3, "generations": 2}],
            steps=(
                ("LOADING", "load", "NO_OFFSET"),
                ("LOADING", "load", "PENDING"),
                ("LOADING", "load", "COMMITTED"),
                ("LOADING", "load", "COMMITTED_AND_PENDING"),
                ("NO_OFFSET", "commit_in_transaction", "PENDING"),
                ("NO_OFFSET", "commit | reset_offset", "COMMITTED"),
                ("NO_OFFSET", "fail_over", "LOADING"),
                ("PENDING", "write_marker", "NO_OFFSET"),
                ("PENDING", "write_marker", "COMMITTED"),
                ("PENDING", "reset_offset", "COMMITTED_AND_PENDING"),
                ("PENDING", "fail_over", "LOADING"),
                ("COMMITTED", "commit_in_transaction", "COMMITTED_AND_PENDING"),
                ("COMMITTED", "delete_group | expire_offset", "NO_OFFSET"),
                ("COMMITTED", "fail_over", "LOADING"),
                ("COMMITTED_AND_PENDING", "write_marker", "COMMITTED"),
                ("COMMITTED_AND_PENDING", "fail_over", "LOADING"),
            ),
        ),
        StateMachine(
            of="a consumer and its transaction",
            means={
                "IDLE": "it has not fetched a committed offset since it stopped to read",
                "READING": "it reads, and has written nothing since its last commit",
                "PROCESSED": "it has written output in an open transaction",
                "OFFSET_SENT": "it has sent its offset in the transaction",
                "COMMITTING": "the transaction commits, and its marker is in flight",
                "ABORTING": "the transaction aborts, and its marker is in flight",
            },
            at=[{"members": 1, "log_size": 3, "generations": 2}],
            steps=(
                ("IDLE", "fetch_offset", "READING"),
                ("READING", "process", "PROCESSED"),
                ("READING", "learn_generation", "IDLE"),
                ("PROCESSED", "commit_in_transaction", "OFFSET_SENT"),
                ("PROCESSED", "end_abort", "IDLE"),
                ("OFFSET_SENT", "end_commit", "COMMITTING"),
                ("OFFSET_SENT", "end_abort", "ABORTING"),
                ("COMMITTING", "write_marker", "READING"),
                ("ABORTING", "write_marker", "IDLE"),
            ),
        ),
    ),
    "classic-group": (
        StateMachine(
            of="the group at its coordinator",
            at=[{"generations": 2}],
            steps=(
                ("EMPTY", "join", "PREPARING_REBALANCE"),
                ("PREPARING_REBALANCE", "complete_join", "COMPLETING_REBALANCE"),
                ("PREPARING_REBALANCE", "become_empty | fail_over", "EMPTY"),
                ("PREPARING_REBALANCE", "fail_over", "STABLE"),
                ("COMPLETING_REBALANCE", "assign | fail_over", "STABLE"),
                ("COMPLETING_REBALANCE", "join | miss | miss_assignment", "PREPARING_REBALANCE"),
                ("COMPLETING_REBALANCE", "fail_over", "EMPTY"),
                ("STABLE", "join | miss", "PREPARING_REBALANCE"),
            ),
        ),
    ),
    "consumer-group": (
        StateMachine(
            of="a member and the partition",
            means={
                "NO_MEMBER": "not in the group, and it reads nothing",
                "MEMBER": "in the group, without the partition",
                "ASSIGNED": "the coordinator has assigned the partition; it does not read yet",
                "OWNER": "it reads the partition that it was assigned",
                "REVOKING": "the coordinator wants the partition back; it still reads",
                "REVOKED": "it has stopped to read; the coordinator does not know that yet",
                "FENCED_OWNER": "no longer in the group, but it still reads",
            },
            at=[{"members": 2, "epochs": 3}],
            steps=(
                ("NO_MEMBER", "join", "MEMBER"),
                ("NO_MEMBER", "receive_response", "FENCED_OWNER"),
                ("MEMBER", "heartbeat", "ASSIGNED"),
                ("MEMBER", "expire", "NO_MEMBER"),
                ("ASSIGNED", "receive_response", "OWNER"),
                ("ASSIGNED", "heartbeat", "MEMBER"),
                ("ASSIGNED", "expire", "NO_MEMBER"),
                ("OWNER", "heartbeat", "REVOKING"),
                ("OWNER", "be_fenced", "ASSIGNED"),
                ("OWNER", "expire", "FENCED_OWNER"),
                ("REVOKING", "be_fenced | revoke", "REVOKED"),
                ("REVOKING", "expire", "FENCED_OWNER"),
                ("REVOKED", "heartbeat", "MEMBER"),
                ("REVOKED", "heartbeat", "ASSIGNED"),
                ("REVOKED", "expire", "NO_MEMBER"),
                ("FENCED_OWNER", "be_fenced | revoke", "NO_MEMBER"),
            ),
        ),
    ),
    "retention": (
        StateMachine(
            of="an offset in a replica's log",
            means={
                "ABSENT": "the log ends at or before it",
                "UNCOMMITTED": "it has a record, at or above the replica's high watermark",
                "COMMITTED": "it has a record, below the replica's high watermark",
                "COMPACTED": "compaction has removed its record",
                "DELETED": "the log starts after it",
            },
            at=[{"replicas": 2, "keys": 1, "log_size": 2, "max_leader_epoch": 1}],
            steps=(
                ("ABSENT", "produce | fetch", "UNCOMMITTED"),
                ("ABSENT", "fetch", "COMMITTED"),
                ("ABSENT", "fetch", "COMPACTED"),
                ("ABSENT", "truncate_fully", "DELETED"),
                ("UNCOMMITTED", "advance_high_watermark | fetch", "COMMITTED"),
                ("UNCOMMITTED", "make_follower", "ABSENT"),
                ("UNCOMMITTED", "fetch | truncate_fully", "DELETED"),
                ("COMMITTED", "compact", "COMPACTED"),
                ("COMMITTED", "fetch", "UNCOMMITTED"),
                ("COMMITTED", "delete_records | expire | fetch | truncate_fully", "DELETED"),
                ("COMPACTED", "delete_records | expire | fetch | truncate_fully", "DELETED"),
            ),
        ),
    ),
    "quorum": (
        StateMachine(
            of="a replica",
            means={
                "UNATTACHED": "it knows its epoch, and perhaps its vote, but no leader",
                "PROSPECTIVE": "it asks for pre-votes",
                "CANDIDATE": "it has begun an epoch and asks for votes",
                "LEADER": "it has the votes of a majority",
                "FOLLOWER": "it fetches from the leader of its epoch",
                "RESIGNED": "it was the leader of its epoch",
            },
            at=[{"replicas": 2, "max_epoch": 2, "max_failures": 1}],
            steps=(
                ("UNATTACHED", "time_out", "PROSPECTIVE"),
                ("UNATTACHED", "follow", "FOLLOWER"),
                ("PROSPECTIVE", "learn_epoch | restart", "UNATTACHED"),
                ("PROSPECTIVE", "become_candidate | restart", "CANDIDATE"),
                ("PROSPECTIVE", "follow | restart", "FOLLOWER"),
                ("CANDIDATE", "learn_epoch", "UNATTACHED"),
                ("CANDIDATE", "time_out", "PROSPECTIVE"),
                ("CANDIDATE", "become_leader", "LEADER"),
                ("LEADER", "learn_epoch", "UNATTACHED"),
                ("LEADER", "resign | restart", "RESIGNED"),
                ("FOLLOWER", "learn_epoch", "UNATTACHED"),
                ("FOLLOWER", "time_out", "PROSPECTIVE"),
                ("RESIGNED", "learn_epoch | leave_epoch", "UNATTACHED"),
            ),
        ),
    ),
    "transactions": (
        StateMachine(
            of="the transactional id at its coordinator",
            at=[{**QUIET, "instances": 2, "ids_expire": True}],
            steps=(
                ("DEAD", "init_producer", "EMPTY"),
                ("EMPTY", "add_partition", "ONGOING"),
                ("EMPTY", "end", "PREPARE"),
                ("EMPTY", "expire", "DEAD"),
                ("ONGOING", "end | fence", "PREPARE"),
                ("PREPARE", "complete", "COMPLETE"),
                ("COMPLETE", "add_partition", "ONGOING"),
                ("COMPLETE", "end", "PREPARE"),
                ("COMPLETE", "init_producer", "EMPTY"),
                ("COMPLETE", "expire", "DEAD"),
            ),
        ),
    ),
    "idempotence": (
        StateMachine(
            of="a batch at the client",
            at=[{"batches": 2, "leader_changes": 0, "deletes": False}],
            steps=(
                ("UNSENT", "send", "IN_FLIGHT"),
                ("IN_FLIGHT", "acknowledge", "ACKED"),
                ("IN_FLIGHT", "give_up", "FAILED"),
            ),
        ),
    ),
    **ABSTRACT_STATE_MACHINES,
}
