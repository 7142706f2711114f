"""The actions of an abstract share partition: deliveries, writes, and a change of leader.

The table lists all actions (`Next` in TLA+). Each row begins with what its actions are about. No
action is fair, because only safety is proved.

    deliveries          acquire
    acknowledgements    accept, release
    acquisition lock    time_out, time_out_in_transition
    writes              persist, lose_write, lose_answer
    start offset        move_start, delete_records, follow_log_start
    the leader          elect, initialize
"""

from model.share_group_abstract.actions.leading import AbstractShareGroupActions

__all__ = ["AbstractShareGroupActions"]
