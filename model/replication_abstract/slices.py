"""A table of lemmas that suffice for the slow parts of the proof of `replication-abstract`.

A part of the proof is called a condition: an action, and a claim that the action must keep true.
For a condition in the table, the solver first assumes only the lemmas in the table. If these lemmas
do not suffice, the solver assumes all lemmas. For any other condition, it assumes all lemmas at
once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# what leaving an epoch means: needed wherever an epoch may be blocked
DEPARTURES: Final = (
    "a_departure_is_of_a_member",
    "a_departure_has_the_least_offset",
    "nobody_is_ahead_of_the_controller",
    "isr_members_come_from_the_isr",
    "an_epoch_that_began_was_reached",
)

SLICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("become_follower", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "epochs_are_elected",
    ),
    ("fetch_response", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        *DEPARTURES,
    ),
    ("truncate", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "an_epochs_log_is_complete",
        "a_leadership_is_well_formed",
    ),
    ("fetch_request", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "epoch_logs_share_a_prefix",
        "replica_logs_share_a_prefix",
    ),
    ("append", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "fetchers_have_the_epoch",
        "leaders_were_elected",
        "a_leader_is_its_leadership",
        "a_leader_has_the_log_of_its_epoch",
        "epochs_are_elected",
        *DEPARTURES,
    ),
    ("append", "an_epochs_log_is_complete"): (
        "an_epochs_log_is_complete",
        "fetchers_have_the_epoch",
        "a_begun_epoch_supersedes",
        "epochs_are_elected",
        "leaders_were_elected",
        "a_leader_is_its_leadership",
        "a_leadership_is_well_formed",
        *DEPARTURES,
    ),
    ("become_leader", "a_begun_epoch_supersedes"): (
        "a_begun_epoch_supersedes",
        "a_leader_waits_for_the_isr",
        "epochs_are_elected",
        *DEPARTURES,
    ),
    ("become_leader", "an_epochs_log_is_complete"): (
        "an_epochs_log_is_complete",
        "an_isr_members_log_is_complete",
        "a_leader_waits_for_the_isr",
        "fetchers_have_the_epoch",
        "epochs_are_elected",
        "a_departure_is_of_a_member",
        "a_departure_has_the_least_offset",
        "isr_members_come_from_the_isr",
        "an_epoch_that_began_was_reached",
    ),
    ("become_leader", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "fetchers_have_the_epoch",
        "epochs_are_elected",
        "a_departure_is_of_a_member",
        "a_departure_has_the_least_offset",
        "isr_members_come_from_the_isr",
        "an_epoch_that_began_was_reached",
    ),
    ("become_follower", "an_epochs_log_is_complete"): (
        "an_epochs_log_is_complete",
        *DEPARTURES,
    ),
    ("advance_high_watermark", "isr_has_what_is_committed"): (
        "isr_has_what_is_committed",
        "an_isr_members_log_is_complete",
        "a_leader_waits_for_the_isr",
        "a_leader_has_the_log_of_its_epoch",
        "leaders_were_elected",
        "a_leader_is_its_leadership",
        "epochs_are_elected",
        "a_departure_is_of_a_member",
    ),
    ("truncate", "isr_has_what_is_committed"): (
        "isr_has_what_is_committed",
        "an_isr_members_log_is_complete",
        "somebody_committed_it",
        "an_epochs_log_is_complete",
        "a_leadership_is_well_formed",
        "a_departure_is_of_a_member",
        "epochs_are_elected",
        "a_leader_waits_for_the_isr",
    ),
    ("expand_isr", "isr_has_what_is_committed"): (
        "isr_has_what_is_committed",
        "somebody_committed_it",
        "a_leader_waits_for_the_isr",
        "an_epochs_log_is_complete",
        "what_was_fetched_is_there",
        "fetchers_have_the_epoch",
        "epochs_are_elected",
        "a_leadership_is_well_formed",
        *DEPARTURES,
    ),
    ("truncate", "high_watermarks_are_committed"): (
        "high_watermarks_are_committed",
        "somebody_committed_it",
        "an_epochs_log_is_complete",
        "a_leader_waits_for_the_isr",
        "high_watermarks_are_within_logs",
        "epochs_are_elected",
        "a_leadership_is_well_formed",
        *DEPARTURES,
    ),
    ("advance_high_watermark", "high_watermarks_are_committed"): (
        "high_watermarks_are_committed",
        "leaders_were_elected",
        "a_leader_is_its_leadership",
        "a_leader_has_the_log_of_its_epoch",
        "a_leadership_is_well_formed",
        "a_leader_waits_for_the_isr",
        "an_epochs_log_is_complete",
        "somebody_committed_it",
        "a_departure_is_of_a_member",
    ),
    ("follower_high_watermark", "high_watermarks_are_committed"): (
        "high_watermarks_are_committed",
        "what_an_epoch_committed_is_committed",
        "epoch_logs_share_a_prefix",
        "replica_logs_share_a_prefix",
    ),
    ("fetch_request", "what_was_fetched_is_there"): (
        "what_was_fetched_is_there",
        "epoch_logs_share_a_prefix",
        "replica_logs_share_a_prefix",
        *DEPARTURES,
    ),
    ("truncate", "what_was_fetched_is_there"): (
        "what_was_fetched_is_there",
        "fetchers_have_the_epoch",
        *DEPARTURES,
    ),
    ("fetch_response", "replica_logs_share_a_prefix"): (
        "replica_logs_share_a_prefix",
        "epoch_logs_share_a_prefix",
        "records_come_from_their_epoch",
    ),
    ("follower_high_watermark", "high_watermarks_are_within_logs"): (
        "high_watermarks_are_within_logs",
        "what_an_epoch_committed_is_committed",
        "a_leadership_is_well_formed",
        *DEPARTURES,
    ),
    ("elect", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "epochs_are_elected",
        *DEPARTURES,
    ),
    ("expand_isr", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "a_leader_waits_for_the_isr",
        "an_epochs_log_is_complete",
        "what_was_fetched_is_there",
        "fetchers_have_the_epoch",
        "nobody_is_ahead_of_the_controller",
    ),
    ("shrink_isr", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "epochs_are_elected",
    ),
    ("elect_nobody", "an_isr_members_log_is_complete"): (
        "an_isr_members_log_is_complete",
        "epochs_are_elected",
    ),
    ("truncate", "high_watermarks_are_within_logs"): (
        "high_watermarks_are_within_logs",
        "high_watermarks_are_committed",
        "somebody_committed_it",
        "an_epochs_log_is_complete",
        "a_leadership_is_well_formed",
        "a_leader_waits_for_the_isr",
        "a_departure_is_of_a_member",
        "what_was_fetched_is_there",
        "fetchers_have_the_epoch",
    ),
}
