"""The actions of elections, by role: brokers, and the controller.

The table lists all actions (`Next` in TLA+) by role. WF marks a weakly fair action, and SF a
strongly fair action. All other actions are not fair.

    brokers      WF apply_metadata, write, SF advance_high_watermark, shrink_isr, WF fetch,
                 WF truncate_to_shared, take_late_fetch
    faults       kill, lose_power, replace_disk
    operator     move_leader, shut_down
    controller   expire_session, WF detect_crash, WF register, WF unfence, WF grant_isr,
                 WF refuse_isr
"""

from model.election.actions.controller import Controller

__all__ = ["Controller"]
