"""The actions of a KRaft quorum: elections with pre-votes, replication by fetches, and restarts.

The table lists all actions (`Next` in TLA+). WF marks a weakly fair action. All other actions are
not fair.

    elections    time_out, grant_pre_vote, become_candidate, grant_vote, become_leader, WF resign,
                 leave_epoch
    metadata     follow, learn_epoch
    the log      append, flush, truncate, fetch, fetch_at_end, advance_high_watermark
    voters       change_voters
    failures     restart, cut_off_replica
"""

from model.quorum.actions.replication import QuorumActions

__all__ = ["QuorumActions"]
