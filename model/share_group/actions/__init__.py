"""The actions of a share partition: deliveries, acknowledgements, writes, and a change of leader.

The table lists all actions (`Next` in TLA+). Each row begins with the topic of its actions. WF
marks a weakly fair action; the actions without a mark are not fair. No acknowledgement is fair,
because a member may stop at any moment without a message.

    deliveries          WF acquire
    acknowledgements    accept, release, reject
    acquisition lock    WF time_out, time_out_in_transition
    writes              WF persist, lose_write, lose_answer
    the log             delete_record, WF follow_log_start
    the leader          elect, WF initialize
"""

from model.share_group.actions.leading import ShareGroupActions

__all__ = ["ShareGroupActions"]
