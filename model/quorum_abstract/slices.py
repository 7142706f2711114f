"""A table of lemmas that suffice to prove the slow conditions of the quorum's proof.

A condition is a pair of an action and a claim: the action must not break the claim. The solver
first uses the lemmas that the table lists for the pair. It uses all lemmas if the listed lemmas do
not suffice, or if the table does not have the pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KEPT: Final = "what_was_acknowledged_is_kept"
VOTED: Final = "a_candidate_has_what_its_voters_acknowledged"
COMPLETE: Final = "an_epochs_log_is_complete"
COMMITTED: Final = "a_majority_has_what_is_committed"
SHAPE: Final = "a_leadership_is_well_formed"
ORDER: Final = "no_record_is_of_a_later_epoch"
ORIGIN: Final = "records_come_from_their_epoch"
REACHED: Final = "votes_are_of_reached_epochs"
CAST: Final = "granted_votes_were_cast"
FETCHED: Final = "acknowledgements_are_of_reached_epochs"
BEGUN: Final = "epochs_begin_with_a_leader"
MAJORITY: Final = "leaders_have_a_majority"
ONCE: Final = "a_replica_votes_once"
LEADS: Final = "a_leader_has_the_log_of_its_epoch"
EPOCH_PREFIX: Final = "epoch_logs_share_a_prefix"
REPLICA_PREFIX: Final = "replica_logs_share_a_prefix"
FOLLOWS: Final = "followers_flush_what_they_fetch"
STAY: Final = "leaders_have_committed_records"
AGREE: Final = "committed_records_agree"

RIVAL: Final = "no_other_replica_can_win"
GROW: Final = "epochs_in_a_log_do_not_decrease"
STAYS: Final = "within_an_epoch_nothing_is_lost"
LOGS: Final = "a_replicas_log_is_complete"
DEPOSED: Final = "a_deposed_leader_appends_dead_records"
FIRST: Final = "later_leaders_have_what_follows_the_start"
OWN: Final = "own_committed_records_stay"

# claims that follow from others in the same state
FOLLOW: Final[Mapping[str, tuple[str, ...]]] = {
    "one_leader_per_epoch": (MAJORITY, ONCE),
    "logs_match": (REPLICA_PREFIX,),
    RIVAL: (BEGUN, MAJORITY, ONCE),
    GROW: (REPLICA_PREFIX, ORIGIN, ORDER),
    LOGS: (COMPLETE, REPLICA_PREFIX, ORIGIN, ORDER),
    FIRST: (COMMITTED, COMPLETE, ORDER),
    OWN: (COMMITTED, COMPLETE),
    DEPOSED: (BEGUN, MAJORITY, REACHED, SHAPE),
    STAY: (FIRST, OWN, COMMITTED, SHAPE, EPOCH_PREFIX, ORDER),
    AGREE: (STAY, COMMITTED),
}

SLICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    # a larger epoch kills no more than it killed
    ("become_candidate", KEPT): (KEPT,),
    ("learn_epoch", KEPT): (KEPT,),
    ("become_candidate", COMPLETE): (COMPLETE,),
    ("learn_epoch", COMPLETE): (COMPLETE,),
    ("become_candidate", VOTED): (VOTED, KEPT, SHAPE),
    ("restart", SHAPE): (SHAPE,),
    ("become_candidate", STAYS): (STAYS, FETCHED),
    ("learn_epoch", STAYS): (STAYS, FETCHED),
    ("become_leader", SHAPE): (SHAPE, FETCHED, RIVAL, CAST),
    ("fetch", REPLICA_PREFIX): (REPLICA_PREFIX, EPOCH_PREFIX, ORIGIN),
    ("learn_epoch", VOTED): (VOTED,),
    # records that are acknowledged
    ("truncate", KEPT): (KEPT, COMPLETE, SHAPE, FETCHED),
    ("fetch", KEPT): (KEPT, SHAPE),
    ("acknowledge", KEPT): (KEPT, FOLLOWS, ORDER, REPLICA_PREFIX, SHAPE),
    ("append", KEPT): (KEPT, SHAPE, LEADS),
    ("flush", KEPT): (KEPT, SHAPE, LEADS),
    ("flush", COMPLETE): (COMPLETE,),
    ("acknowledge", COMPLETE): (COMPLETE,),
    ("append", COMPLETE): (COMPLETE, DEPOSED, LEADS, SHAPE),
    ("acknowledge", STAYS): (STAYS, FOLLOWS, REPLICA_PREFIX, ORDER),
    ("become_leader", COMPLETE): (COMPLETE, VOTED, CAST, REACHED, RIVAL, SHAPE),
    # votes
    ("grant_vote", VOTED): (VOTED, KEPT, LOGS, GROW, REPLICA_PREFIX, ORDER, SHAPE),
    ("append", VOTED): (VOTED, LEADS, BEGUN, REACHED, CAST, SHAPE),
    ("become_leader", VOTED): (VOTED, BEGUN, SHAPE),
    ("truncate", VOTED): (VOTED,),
    ("fetch", VOTED): (VOTED,),
    ("flush", VOTED): (VOTED, LEADS, BEGUN, CAST, REACHED),
    ("acknowledge", VOTED): (VOTED, CAST, REACHED),
    ("restart", VOTED): (VOTED, KEPT, SHAPE),
    # what is committed
    ("acknowledge", COMMITTED): (COMMITTED, SHAPE, STAYS),
    ("flush", COMMITTED): (COMMITTED, SHAPE, LEADS, FETCHED),
}  # fmt: skip
