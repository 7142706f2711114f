"""The lemmas that suffice for the hard conditions of `with-late-requests` and `with-failover`.

A condition is a pair of an action and a claim: the action must not break the claim. It is proved
with the listed lemmas first. If they do not suffice, all lemmas are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DECISIONS: Final = ("one_decision", "one_transaction", "ends_raise_the_epoch")
CONTENT: Final = (*DECISIONS, "content_is_of_the_latest_transaction", "markers_are_seen")
REQUESTS: Final = ("commits_are_acknowledged", "no_request_is_newer")
STAMPS: Final = ("the_next_epoch_is_unused", "one_instance_has_an_epoch")
PENDING: Final = ("one_offset_is_pending", "pending_offsets_match_effects")
READERS: Final = (
    "only_the_reader_commits",
    "only_the_reader_sends_offsets",
    "sent_is_below_position",
)
POSITIONS: Final = ("readers_begin_at_the_committed_offset", "readers_skip_nothing")
MOVES_A_CLIENT: Final = (
    "init_transactions",
    "process",
    "receive_end",
    "request_commit",
    "commit",
    "abort",
)

SLICES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("commit", "position_is_exact"): ("position_is_exact", *PENDING, *CONTENT, *REQUESTS),
    ("write_output_marker", "position_is_exact"): ("position_is_exact", *CONTENT),
    ("write_offset_marker", "position_is_exact"): ("position_is_exact", *PENDING, *CONTENT),
    ("commit", "the_next_epoch_is_unused"): (
        "the_next_epoch_is_unused",
        "no_request_is_newer",
        *DECISIONS,
    ),
    ("accept_offset", "one_offset_is_pending"): (
        "one_offset_is_pending",
        *READERS,
        *CONTENT,
        *REQUESTS,
    ),
    ("accept_offset", "pending_offsets_match_effects"): (
        "pending_offsets_match_effects",
        *READERS,
        *POSITIONS,
        *CONTENT,
        *REQUESTS,
    ),
    ("accept_offset", "only_the_reader_commits"): (
        "only_the_reader_commits",
        *CONTENT,
        *REQUESTS,
    ),
    **{
        (action, "only_the_reader_commits"): (*READERS, *CONTENT, *REQUESTS, *STAMPS)
        for action in MOVES_A_CLIENT
    },
}

LOG: Final = "an_append_follows_the_log"
WITH_FAILOVER: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    **SLICES,
    **{
        (action, "only_the_reader_commits"): (LOG, *READERS, *CONTENT, *REQUESTS, *STAMPS)
        for action in ("commit_end", "commit_init")
    },
    ("commit_end", "position_is_exact"): (LOG, "position_is_exact", *PENDING, *CONTENT, *REQUESTS),
    ("commit_end", "the_next_epoch_is_unused"): (
        LOG,
        "the_next_epoch_is_unused",
        "no_request_is_newer",
        *DECISIONS,
    ),
    ("commit_end", "readers_begin_at_the_committed_offset"): (
        LOG,
        "readers_begin_at_the_committed_offset",
        "the_next_epoch_is_unused",
        "one_instance_has_an_epoch",
        *READERS,
        *PENDING,
        *CONTENT,
        *REQUESTS,
    ),
}
