"""Bugs of the spec `read-committed-abstract`. Each class changes the spec so that a claim no longer
holds.
"""

from __future__ import annotations

from model.language import Bool, all_of, exists, false, implies, true
from model.read_committed_abstract.state import Offset, Transaction
from model.read_committed_abstract.versions import ReadCommitted
from model.releases import LATEST, UNRELEASED, kafka, unreleased
from model.variants import bug


@bug(
    "ignores-high-watermark",
    breaks="only_committed_is_delivered",
    steps=3,
    in_force=UNRELEASED,
)
class IgnoresHighWatermark(ReadCommitted):
    """The last stable offset may be above the high watermark.

    A reader receives a record that the next leader does not have. The action `read` breaks the
    lemma `passed_is_decided`.
    """

    def is_replicated(s, o: Offset) -> Bool:
        return o < s.end_offset


@bug(
    "stable-at-first-open",
    breaks="stable_offset_never_goes_back",
    steps=7,
    issue="KAFKA-5121",
    in_force=unreleased("0.11.0.0, the first with transactions, waits for the replicas"),
)
class StableAtFirstOpen(ReadCommitted):
    """The last stable offset passes a transaction whose marker is not replicated (KAFKA-5121).

    If the next leader does not have the marker, the last stable offset goes back. The action
    `change_leader` breaks the claim `stable_offset_never_goes_back`.
    """

    def is_unstable(s, x: Transaction) -> Bool:
        return s.is_open(x)


@bug(
    "stable-at-last-open",
    breaks="stable_offset_stops_at_open",
    steps=5,
    at={"producers": 2, "offsets": 3},
    in_force=UNRELEASED,
)
class StableAtLastOpen(ReadCommitted):
    """The last stable offset stops at the last open transaction in the log, not at the first open
    transaction.

    A reader passes an open transaction of another producer. The action `append_first` breaks the
    claim `stable_offset_stops_at_open`, and `read` breaks `only_committed_is_delivered`.
    """

    def is_stable(s, o: Offset) -> Bool:
        unstable = exists(s.is_unstable(x) for x in Transaction)
        below = exists(s.is_unstable(x) & (o < s.first_offset[x]) for x in Transaction)
        return all_of(s.is_replicated(o), implies(unstable, below))


@bug(
    "ignores-aborted-list",
    breaks="only_committed_is_delivered",
    steps=6,
    in_force=UNRELEASED,
)
class IgnoresAbortedList(ReadCommitted):
    """The reader ignores the list of aborted transactions in the fetch response.

    So the action `read` delivers aborted records.
    """

    def is_dropped(s, o: Offset) -> Bool:
        return false


@bug(
    "lists-from-fetch-offset",
    breaks="only_committed_is_delivered",
    steps=8,
    in_force=UNRELEASED,
)
class ListsFromFetchOffset(ReadCommitted):
    """A fetch response lists only the aborted transactions that begin at or after the fetch offset.

    The reader drops the first record of an aborted transaction. The next fetch response does not
    list this transaction, so the action `read` delivers the transaction's next record.
    """

    def is_listed(s, x: Transaction, o: Offset) -> Bool:
        return super().is_listed(x, o) & (s.position <= s.first_offset[x])


@bug(
    "late-markers",
    breaks="only_committed_is_delivered",
    steps=7,
    in_force=kafka("0.11", "4.1"),
)
class LateMarkers(ReadCommitted):
    """A partition accepts the late marker of an earlier transaction (KIP-1228).

    The marker ends the producer's next transaction, with the outcome of the earlier transaction.
    The action `write_marker` breaks the lemma `closed_as_decided`.
    """

    def may_mark(s, x: Transaction) -> Bool:
        return true


@bug(
    "unclean-election",
    breaks="only_committed_is_delivered",
    steps=4,
    in_force=kafka(None, LATEST, needs="unclean.leader.election.enable=true"),
)
class UncleanElection(ReadCommitted):
    """A replica outside the ISR becomes leader, and does not have records that a reader has
    received.

    The action `change_leader` breaks the lemma `replicated_is_written`, and the claims
    `only_committed_is_delivered` and `stable_offset_never_goes_back`.
    """

    def may_lead_with(s, end: Offset) -> Bool:
        return true
