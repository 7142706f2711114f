"""A table of lemmas that suffice for the slow parts of the proof of `reassignment-abstract`.

A part of the proof is called a condition: an action, and a claim that the action must keep true.
For a condition in the table, the solver first assumes only the lemmas in the table. If these lemmas
do not suffice, the solver assumes all lemmas. For any other condition, it assumes all lemmas at
once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LEADERS: Final = "leaders_were_elected"
ELECTED: Final = "epochs_are_elected"
LAST: Final = "the_last_to_join_ends_an_epoch"
SHAPE: Final = "a_leadership_is_well_formed"
REACHED: Final = "acknowledgements_are_of_reached_epochs"
KNOWN: Final = "proposals_are_of_the_known_isr"
CAUGHT_UP: Final = "proposed_replicas_have_caught_up"
FOLLOWS: Final = "proposed_replicas_have_the_epoch"
KEPT: Final = "members_keep_what_they_acknowledged"
COMMITTED: Final = "members_acknowledged_what_is_committed"
ORIGIN: Final = "members_come_from_older_epochs"
BEGUN: Final = "a_begun_epoch_supersedes"
START: Final = "an_epochs_log_is_complete"
MEMBER: Final = "a_members_log_is_complete"

# claims that follow from others in the same state
FOLLOW: Final[Mapping[str, tuple[str, ...]]] = {
    "one_leader_per_epoch": (LEADERS,),
    "an_eligible_replica_remains": ("enough_members_remain", "members_are_replicas"),
    "eligible_replicas_have_committed_records": (MEMBER, COMMITTED, SHAPE, ELECTED),
    "leaders_begin_with_committed_records": (START, COMMITTED, SHAPE),
}

SLICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("elect", ORIGIN): (ORIGIN, ELECTED),
    ("elect_nobody", ORIGIN): (ORIGIN, ELECTED),
    ("elect_eligible", ORIGIN): (ORIGIN, ELECTED),
    ("cancel_reassignment", ORIGIN): (ORIGIN, ELECTED),
    ("complete_reassignment", ORIGIN): (ORIGIN, ELECTED, LAST, BEGUN, KNOWN),
    ("expand_isr", ORIGIN): (ORIGIN, ELECTED, LAST, BEGUN, KNOWN),
    ("become_leader", ORIGIN): (ORIGIN,),
    ("become_follower", ORIGIN): (ORIGIN,),
    ("become_leader", BEGUN): (BEGUN, ORIGIN, ELECTED),
    ("become_follower", BEGUN): (BEGUN,),
    ("elect", BEGUN): (BEGUN, ELECTED),
    ("elect_nobody", BEGUN): (BEGUN, ELECTED),
    ("elect_eligible", BEGUN): (BEGUN, ELECTED),
    ("complete_reassignment", BEGUN): (BEGUN, ELECTED),
    ("cancel_reassignment", BEGUN): (BEGUN, ELECTED),
    ("delete_replica", BEGUN): (BEGUN,),
    ("register", BEGUN): (BEGUN,),
    ("elect", MEMBER): (MEMBER, ELECTED, SHAPE),
    ("elect_nobody", MEMBER): (MEMBER, ELECTED, SHAPE),
    ("elect_eligible", MEMBER): (MEMBER, ELECTED, SHAPE),
    ("cancel_reassignment", MEMBER): (MEMBER, ELECTED, SHAPE),
    ("expand_isr", MEMBER): (MEMBER, ELECTED, START, KNOWN, CAUGHT_UP, FOLLOWS, KEPT, SHAPE),
    ("complete_reassignment", MEMBER): (
        MEMBER, ELECTED, START, KNOWN, CAUGHT_UP, FOLLOWS, KEPT, SHAPE,
    ),
    ("register", MEMBER): (MEMBER, ELECTED, LAST),
    ("become_leader", MEMBER): (MEMBER, ELECTED, ORIGIN, REACHED, SHAPE),
    ("become_follower", MEMBER): (MEMBER, ELECTED),
}  # fmt: skip
