"""The bugs of the spec `replication-abstract`. Each class changes a version of the spec, so that a
claim breaks.
"""

from __future__ import annotations

from model.language import Bool, true
from model.releases import UNRELEASED, kafka
from model.replication_abstract.state import LeaderEpoch, Offset, Replica
from model.replication_abstract.versions import ReplicationProof, WithLosses
from model.variants import bug


@bug(
    "truncates-at-hw",
    breaks="isr_has_what_is_committed",
    steps=6,
    at={"leader_epochs": 2},
    in_force=kafka("0.8", "0.10"),
)
class CutsAtHighWatermark(ReplicationProof):
    """A new follower truncates its log to its own high watermark, and no fetch compares epochs (the
    protocol before KIP-101).

    The follower's high watermark may be too low, so the truncated records may be committed. The
    action `become_follower` breaks the claim `isr_has_what_is_committed`.
    """

    def on_following(s, r: Replica) -> None:
        s.replica[r].end_offset = s.replica[r].high_watermark

    def may_fetch(s, r: Replica, latest: Offset) -> Bool:
        return s.replica[r].end_offset <= s.led[s.replica[r].leader_epoch].end_offset


@bug(
    "joins-at-hw",
    breaks="isr_has_what_is_committed",
    steps=9,
    at={"leader_epochs": 2},
    in_force=kafka("0.8", "2.0.0"),
)
class JoinsAtHighWatermark(ReplicationProof):
    """A follower joins the ISR when it reaches the leader's high watermark, even if the leader's
    epoch starts at a higher offset.

    A new leader's high watermark may be too low, so the follower may lack committed records
    (KAFKA-7128). The action `expand_isr` breaks the claim `isr_has_what_is_committed`.
    """

    def may_join(s, f: Replica, own: LeaderEpoch) -> Bool:
        return s.led[own].high_watermark <= s.led[own].fetched[f]


@bug(
    "loses-its-tail",
    breaks="isr_has_what_is_committed",
    steps=5,
    at={"leader_epochs": 2},
    in_force=kafka(None, "4.0", "and later with eligible.leader.replicas.version=0"),
)
class LosesItsTail(ReplicationProof):
    """A crash removes the last records of a replica's log, and the replica stays in the ISR.

    The controller may then elect a replica that lacks committed records. The action `restart`
    breaks the claim `isr_has_what_is_committed`. KIP-966 is the fix.
    """

    def on_restart(s, r: Replica, mark: Offset) -> None:
        s.replica[r].end_offset = mark


@bug(
    "lost-tail-in-isr",
    breaks="isr_has_what_is_committed",
    steps=5,
    at={"leader_epochs": 2},
    fixed_by="with-losses",
    in_force=UNRELEASED,
)
class LostTailInIsr(WithLosses):
    """A replica loses its log and stays in the ISR, although the ISR has other members.

    So the controller may elect this replica as if it had every committed record. The action
    `lose_disk` breaks the claim `isr_has_what_is_committed`.
    """

    def may_lose(s, r: Replica) -> Bool:
        return true


@bug(
    "old-broker-epoch",
    breaks="isr_has_what_is_committed",
    steps=9,
    at={"leader_epochs": 2},
    fixed_by="with-losses",
    issue="KIP-903",
    in_force=kafka(None, "3.4"),
)
class OldBrokerEpoch(WithLosses):
    """The controller accepts a proposal to change the ISR, although a replica lost its log after
    the proposal was made.

    This replica is the leader that made the proposal, or the follower that the proposal adds.
    Before KIP-903, the proposal did not carry the replicas' broker epochs. The action `expand_isr`
    breaks the claim `isr_has_what_is_committed`.
    """

    def forget_proposals(s, r: Replica) -> None:
        pass


@bug(
    "high-watermark-beyond-log",
    breaks="high_watermarks_are_committed",
    steps=7,
    at={"leader_epochs": 2},
    fixed_by="with-losses",
    in_force=UNRELEASED,
)
class HighWatermarkBeyondLog(WithLosses):
    """A replica whose log becomes shorter keeps its high watermark, which is then beyond the end of
    the log.

    If this replica becomes the leader and appends records below its high watermark, consumers read
    these records before they are committed. The action `become_leader_without` breaks the claim
    `high_watermarks_are_committed`.
    """

    def mark_after(s, r: Replica, end: Offset) -> Offset:
        return s.replica[r].high_watermark
