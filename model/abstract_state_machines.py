"""The state machines of the abstract specs (the specs that are small enough for a proof).

A state machine lists the states of one part of a spec, such as a leader epoch, and the actions that
lead from one state to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from model.state_machine import StateMachine

ABSTRACT_STATE_MACHINES: Final[Mapping[str, tuple[StateMachine, ...]]] = {  # by spec
    "replication-abstract": (
        StateMachine(
            of="a leader epoch",
            means={
                "NOT_BEGUN": "the controller has not begun the epoch",
                "VACANT": "the newest epoch, without a leader",
                "ELECTED": "the newest epoch; its leader does not lead yet",
                "LEADING": "the newest epoch, and its leader leads",
                "STOPPED": "the newest epoch; its leader has restarted and leads no more",
                "OVERTAKEN": "a newer epoch has begun, and its leader has not begun to lead",
                "DEPOSED": "a newer epoch has begun, and its leader leads on",
                "OVER": "a newer epoch has begun, and nobody leads in this one",
            },
            at=[
                {"replicas": 1, "leader_epochs": 3, "offsets": 2, "messages": 1},
                {"replicas": 2, "leader_epochs": 2, "offsets": 2, "messages": 1},
            ],
            steps=(
                ("NOT_BEGUN", "elect", "ELECTED"),
                ("NOT_BEGUN", "elect_nobody", "VACANT"),
                ("VACANT", "elect | elect_nobody", "OVER"),
                ("ELECTED", "become_leader", "LEADING"),
                ("ELECTED", "elect | elect_nobody", "OVERTAKEN"),
                ("LEADING", "elect | elect_nobody", "DEPOSED"),
                ("LEADING", "restart", "STOPPED"),
                ("STOPPED", "elect | elect_nobody", "OVER"),
                ("OVERTAKEN", "become_leader", "DEPOSED"),
                ("OVERTAKEN", "become_follower | become_leader", "OVER"),
                ("DEPOSED", "become_follower | become_leader | restart", "OVER"),
            ),
        ),
    ),
    "transactions-abstract": (
        StateMachine(
            of="a transaction at its coordinator",
            means={
                "NOT_BEGUN": "no producer has begun it",
                "ONGOING": "begun, and not decided",
                "PREPARE_COMMIT": "decided to commit; partitions may lack the marker",
                "PREPARE_ABORT": "decided to abort; partitions may lack the marker",
                "COMPLETE_COMMIT": "committed, with a marker in every added partition",
                "COMPLETE_ABORT": "aborted, with a marker in every added partition",
            },
            at=[{"transactions": 2, "epochs": 3}],
            steps=(
                ("NOT_BEGUN", "begin", "ONGOING"),
                ("ONGOING", "end_commit", "PREPARE_COMMIT"),
                ("ONGOING", "end_abort | fence", "PREPARE_ABORT"),
                ("PREPARE_COMMIT", "complete_transaction", "COMPLETE_COMMIT"),
                ("PREPARE_ABORT", "complete_transaction", "COMPLETE_ABORT"),
            ),
        ),
    ),
    "idempotence-abstract": (
        StateMachine(
            of="an offset in the leader's log",
            means={
                "EMPTY": "the log ends at or before it",
                "APPENDED": "it has a record that is not committed",
                "COMMITTED": "its record is below the high watermark",
                "ACKNOWLEDGED": "its record is committed, and the producer knows that",
            },
            at=[{"producers": 1, "epochs": 2, "sequences": 2, "offsets": 3}],
            steps=(
                ("EMPTY", "append_first | append_next", "APPENDED"),
                ("APPENDED", "advance_high_watermark", "COMMITTED"),
                ("APPENDED", "change_leader", "EMPTY"),
                ("COMMITTED", "acknowledge", "ACKNOWLEDGED"),
            ),
        ),
    ),
    "quorum-abstract": (
        StateMachine(
            of="a replica",
            means={
                "UNATTACHED": "its epoch has no leader, and it is no candidate",
                "CANDIDATE": "it has begun its epoch, which has no leader",
                "LEADER": "it leads in its epoch",
                "RESIGNED": "it was the leader of its epoch",
                "FOLLOWER": "another replica has become leader of its epoch",
            },
            at=[
                {"replicas": 2, "epochs": 3, "offsets": 2},
                {"replicas": 3, "epochs": 2, "offsets": 2},
            ],
            steps=(
                ("UNATTACHED", "become_candidate", "CANDIDATE"),
                ("UNATTACHED", "become_candidate | become_leader | learn_epoch", "FOLLOWER"),
                ("CANDIDATE", "learn_epoch", "UNATTACHED"),
                ("CANDIDATE", "become_leader", "LEADER"),
                ("CANDIDATE", "become_leader", "FOLLOWER"),
                ("LEADER", "learn_epoch", "UNATTACHED"),
                ("LEADER", "become_candidate", "CANDIDATE"),
                ("LEADER", "resign | restart", "RESIGNED"),
                ("RESIGNED", "learn_epoch", "UNATTACHED"),
                ("RESIGNED", "become_candidate", "CANDIDATE"),
                ("FOLLOWER", "learn_epoch", "UNATTACHED"),
                ("FOLLOWER", "become_candidate", "CANDIDATE"),
            ),
        ),
    ),
    "read-committed-abstract": (
        StateMachine(
            of="a transaction in the leader's log",
            means={
                "ABSENT": "the log has no record of it",
                "OPEN": "the log has a record of it, and no marker that ends it",
                "UNREPLICATED": "a marker ended it, and is not below the high watermark",
                "STABLE": "the marker that ended it is below the high watermark",
            },
            at=[{"transactions": 1, "offsets": 4}],
            steps=(
                ("ABSENT", "append_first", "OPEN"),
                ("OPEN", "write_marker", "UNREPLICATED"),
                ("OPEN", "change_leader", "ABSENT"),
                ("UNREPLICATED", "advance_high_watermark", "STABLE"),
                ("UNREPLICATED", "change_leader", "OPEN"),
                ("UNREPLICATED", "change_leader", "ABSENT"),
            ),
        ),
    ),
    "consumer-group-abstract": (
        StateMachine(
            of="a member and a partition",
            means={
                "NO_MEMBER": "not in the group, and its consumer does not own the partition",
                "MEMBER": "in the group, without the partition",
                "ASSIGNED": "the partition is assigned to it; its consumer does not own it yet",
                "OWNER": "the partition is assigned to it, and its consumer owns it",
                "REVOKING": "it must give up the partition; its consumer still owns it",
                "REVOKED": "its consumer has given up the partition, and has not reported it yet",
                "FENCED_OWNER": "no longer in the group, but its consumer still owns the partition",
            },
            at=[{"epochs": 3}],
            steps=(
                ("NO_MEMBER", "join", "MEMBER"),
                ("NO_MEMBER", "receive_response", "FENCED_OWNER"),
                ("MEMBER", "heartbeat", "ASSIGNED"),
                ("MEMBER", "expire", "NO_MEMBER"),
                ("ASSIGNED", "receive_response", "OWNER"),
                ("ASSIGNED", "heartbeat", "MEMBER"),
                ("ASSIGNED", "expire", "NO_MEMBER"),
                ("OWNER", "heartbeat", "REVOKING"),
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
    "classic-group-abstract": (
        StateMachine(
            of="the group at its coordinator",
            at=[{"generations": 2}, {"members": 1}],
            steps=(
                ("EMPTY", "join", "PREPARING_REBALANCE"),
                ("PREPARING_REBALANCE", "complete_join", "COMPLETING_REBALANCE"),
                ("PREPARING_REBALANCE", "become_empty | fail_over", "EMPTY"),
                ("PREPARING_REBALANCE", "fail_over", "STABLE"),
                ("COMPLETING_REBALANCE", "fail_over | persist_assignment", "STABLE"),
                ("COMPLETING_REBALANCE", "join | miss | miss_assignment", "PREPARING_REBALANCE"),
                ("COMPLETING_REBALANCE", "fail_over", "EMPTY"),
                ("STABLE", "join | miss", "PREPARING_REBALANCE"),
            ),
        ),
    ),
    "coordinator-abstract": (
        StateMachine(
            of="a transactional id in the last record of the log, while no coordinator fails",
            means={
                "DEAD": "no record yet, or a tombstone",
                "EMPTY": "it has a producer id and no transaction",
                "ONGOING": "it has a transaction that is not decided",
                "PREPARE_COMMIT": "decided to commit; partitions may lack the marker",
                "PREPARE_ABORT": "decided to abort; partitions may lack the marker",
                "COMPLETE_COMMIT": "committed, with a marker in every partition",
                "COMPLETE_ABORT": "aborted, with a marker in every partition",
            },
            at=[{"coordinator_epochs": 1, "producer_ids": 1, "producer_epochs": 4}],
            steps=(
                ("DEAD", "init_producer", "EMPTY"),
                ("EMPTY", "add_partition", "ONGOING"),
                ("EMPTY", "prepare_abort", "PREPARE_ABORT"),
                ("EMPTY", "expire", "DEAD"),
                ("ONGOING", "prepare_commit", "PREPARE_COMMIT"),
                ("ONGOING", "fence | prepare_abort", "PREPARE_ABORT"),
                ("PREPARE_COMMIT", "complete", "COMPLETE_COMMIT"),
                ("PREPARE_ABORT", "complete", "COMPLETE_ABORT"),
                ("COMPLETE_COMMIT", "add_partition", "ONGOING"),
                ("COMPLETE_COMMIT", "prepare_abort", "PREPARE_ABORT"),
                ("COMPLETE_COMMIT", "init_producer", "EMPTY"),
                ("COMPLETE_COMMIT", "expire", "DEAD"),
                ("COMPLETE_ABORT", "add_partition", "ONGOING"),
                ("COMPLETE_ABORT", "prepare_abort", "PREPARE_ABORT"),
                ("COMPLETE_ABORT", "init_producer", "EMPTY"),
                ("COMPLETE_ABORT", "expire", "DEAD"),
            ),
        ),
    ),
    "reassignment-abstract": (
        StateMachine(
            of="a broker at the controller",
            means={
                "NO_REPLICA": "it is no replica of the partition",
                "ISR": "it is in the ISR",
                "ELR": "it is in the ELR: not in sync, but it has every committed record",
                "OUT_OF_SYNC": "a replica that may lack committed records",
            },
            at=[{"brokers": 2, "min_isr": 1}, {"disturbances": 0}, {"leader_epochs": 1}],
            steps=(
                ("NO_REPLICA", "add_replica | replace_replica", "OUT_OF_SYNC"),
                ("OUT_OF_SYNC", "complete_reassignment | expand_isr", "ISR"),
                ("OUT_OF_SYNC", "cancel_reassignment", "NO_REPLICA"),
                ("ISR", "elect_eligible | shrink_isr", "ELR"),
                ("ISR", "register | shrink_isr", "OUT_OF_SYNC"),
                ("ISR", "cancel_reassignment | complete_reassignment", "NO_REPLICA"),
                ("ELR", "elect_eligible | expand_isr", "ISR"),
                ("ELR", "expand_isr | register", "OUT_OF_SYNC"),
            ),
        ),
    ),
    "pipeline-abstract": (
        StateMachine(
            of="an input record",
            means={
                "UNPROCESSED": "no transaction that awaits a marker has its effect",
                "IN_TRANSACTION": "its effect is in an open transaction",
                "ABORTED": "its effect is in aborted transactions only, which await a marker",
                "COMMITTED": "its effect is committed, and a marker is missing",
                "DONE": "a reader has its effect, and the committed offset is above it",
            },
            at=[{"generations": 1}],
            steps=(
                ("UNPROCESSED", "process", "IN_TRANSACTION"),
                ("IN_TRANSACTION", "abort", "ABORTED"),
                ("IN_TRANSACTION", "commit", "COMMITTED"),
                ("ABORTED", "process", "IN_TRANSACTION"),
                ("ABORTED", "write_output_marker", "UNPROCESSED"),
                ("COMMITTED", "write_offset_marker | write_output_marker", "DONE"),
            ),
        ),
    ),
    "share-group-abstract": (
        StateMachine(
            of="a record in a share group, as its leader sees it",
            means={
                "AVAILABLE": "any member may get it",
                "ACQUIRED": "a member has it",
                "WRITING": "a member has acknowledged it, and this is being written",
                "FINAL": "accepted, rejected or archived; an earlier record may not be",
                "PASSED": "below the start offset",
                "UNKNOWN": "a new leader has not read the stored state",
            },
            at=[{"members": 1, "offsets": 1}, {"members": 1, "counts": 2}],
            steps=(
                ("AVAILABLE", "acquire", "ACQUIRED"),
                ("AVAILABLE", "follow_log_start", "PASSED"),
                ("ACQUIRED", "accept | release", "WRITING"),
                ("ACQUIRED", "time_out", "AVAILABLE"),
                ("ACQUIRED", "time_out", "FINAL"),
                ("ACQUIRED", "time_out", "PASSED"),
                ("WRITING", "lose_answer | lose_write", "ACQUIRED"),
                ("WRITING", "lose_answer | lose_write | persist", "AVAILABLE"),
                ("WRITING", "lose_answer | lose_write | persist", "FINAL"),
                ("WRITING", "lose_answer | lose_write | persist", "PASSED"),
                ("FINAL", "follow_log_start | move_start", "PASSED"),
                ("AVAILABLE", "elect", "UNKNOWN"),
                ("ACQUIRED", "elect", "UNKNOWN"),
                ("WRITING", "elect", "UNKNOWN"),
                ("FINAL", "elect", "UNKNOWN"),
                ("PASSED", "elect", "UNKNOWN"),
                ("UNKNOWN", "initialize", "AVAILABLE"),
                ("UNKNOWN", "initialize", "FINAL"),
                ("UNKNOWN", "initialize", "PASSED"),
            ),
        ),
    ),
    "retention-abstract": (
        StateMachine(
            of="a replica of the partition",
            means={
                "LEADER": "it leads, and is in the ISR",
                "ISR": "it is another member of the ISR",
                "ELR": "it is in the ELR: not in sync, but it has every committed record",
                "OUT_OF_SYNC": "it may lack committed records",
            },
            at=[{"replicas": 3, "keys": 1, "offsets": 1}],
            steps=(
                ("LEADER", "elect", "ISR"),
                ("LEADER", "elect_eligible", "ELR"),
                ("ISR", "elect", "LEADER"),
                ("ISR", "elect_eligible | shrink_to_elr", "ELR"),
                ("ISR", "shrink_isr", "OUT_OF_SYNC"),
                ("ELR", "elect_eligible", "LEADER"),
                ("ELR", "expand_isr", "ISR"),
                ("ELR", "expand_isr", "OUT_OF_SYNC"),
                ("OUT_OF_SYNC", "expand_isr", "ISR"),
            ),
        ),
    ),
}
