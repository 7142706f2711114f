"""The actions of transactions, by role: partition leaders, the coordinator, clients.

The table lists all actions (`Next` in TLA+). WF: weakly fair.

    partitions   append_record, refuse_record, WF advance_high_watermark, change_leader
    coordinator  WF commit_append, fail_over, init_producer, expire, add_partition, verify,
                 WF fence, WF write_marker, write_late_marker, WF complete
    clients      begin, send, end, WF receive_end, refuse_call
"""

from model.transactions.actions.clients import Clients

__all__ = ["Clients"]
