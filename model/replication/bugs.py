"""The bugs of the spec `replication`. Each class is a version of the spec without one rule, and so
breaks a claim.

KIP-320 introduced several of these rules. The authors of KIP-320 found the rules with a public TLA+
specification. A bug without the argument `issue` was never in Kafka. It is here because no other
variant (version or bug) of the spec breaks its claim.

Source: KIP-101; KIP-320; KAFKA-7128; KAFKA-13141; hachikuji/kafka-specification d68782b.
"""

from __future__ import annotations

from model.language import Bool, action, all_of, exists, first, when
from model.releases import UNRELEASED, kafka
from model.replication.actions import TruncateToHighWatermark
from model.replication.state import LeaderEpoch, Offset, Replica
from model.replication.versions import FetchDivergence, Kip320
from model.variants import bug


@bug(
    "truncates-on-either-side",
    breaks="log_matching",
    steps=14,
    at={"max_leader_epoch": 2, "replicas": 2},
    fixed_by="kip-101",
    issue="KAFKA-1211",
    in_force=kafka("0.8", "0.10"),
)
class TruncatesOnEitherSide(TruncateToHighWatermark):
    """Both replicas truncate to their own high watermarks, and then the replica with the shorter
    log leads.

    The new leader writes another record at an offset that is below the high watermark of the other
    replica (KAFKA-1211).
    """


@bug(
    "counts-old-epochs",
    breaks="strong_isr",
    steps=12,
    at={"max_leader_epoch": 2},
    fixed_by="kip-320",
    issue="KIP-320",
    in_force=UNRELEASED,
)
class CountsOldEpochs(Kip320):
    """To commit a record, the leader also counts followers that are in an older leader epoch.

    Another replica may lead in an epoch between the follower's epoch and the leader's epoch. When
    the follower learns of this replica, the follower may truncate the committed record.
    """

    def acknowledges(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        return s.is_following(follower, leader) & s.log[follower].has_offset(offset)


@bug(
    "truncates-early",
    breaks="strong_isr",
    steps=13,
    at={"max_leader_epoch": 2},
    fixed_by="kip-320",
    issue="KIP-320",
    in_force=UNRELEASED,
)
class TruncatesEarly(Kip320):
    """A follower truncates its log to the log of a new leader before the new leader has learned of
    its election.

    The new leader may still truncate its own log before it begins to lead. In this case, records
    that both logs had are lost.
    """

    def answers_truncation(s, leader: Replica, leader_epoch: LeaderEpoch) -> Bool:
        return all_of()


@bug(
    "joins-before-epoch",
    breaks="strong_isr",
    steps=11,
    at={"max_leader_epoch": 2},
    fixed_by="kip-320",
    issue="KAFKA-7128",
    in_force=kafka("0.8", "2.0.0"),
)
class JoinsBeforeEpoch(Kip320):
    """A follower joins the ISR before the leader's high watermark has reached the offset at which
    the leader's epoch began.

    A new leader's high watermark may be too low, so the follower may lack a committed record
    (KAFKA-7128).
    """

    def has_reached_its_epoch(s, leader: Replica) -> Bool:
        return all_of()


@bug(
    "counts-diverging-fetches",
    breaks="strong_isr",
    steps=8,
    at={"max_leader_epoch": 1, "replicas": 2},
    issue="KAFKA-13141",
    in_force=kafka("2.7", "2.8.0", fixed_in=("2.7.2",)),
)
class CountsDivergingFetches(FetchDivergence):
    """The leader counts a fetch for the high watermark, although the leader answers it with a
    diverging epoch.

    The follower will truncate its record at the fetched offset (KAFKA-13141). This bug breaks the
    claims `weak_isr` and `strong_isr`.
    """

    def acknowledges(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        return all_of(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.replica[follower].leader_epoch == s.replica[leader].leader_epoch,
            s.log[follower].has_offset(offset),
        )


@bug(
    "takes-leaders-high-watermark",
    breaks="high_watermark_in_log",
    steps=9,
    at={"max_leader_epoch": 1, "replicas": 2},
    in_force=UNRELEASED,
)
class TakesLeadersHighWatermark(FetchDivergence):
    """A follower adopts the leader's high watermark, even if this offset is beyond the end of the
    follower's log.
    """

    def follower_high_watermark(s, leader: Replica, end: Offset) -> Offset:
        return s.replica[leader].high_watermark


@bug(
    "obeys-old-requests",
    breaks="leader_epochs_grow",
    steps=4,
    at={"max_leader_epoch": 1, "replicas": 2},
    in_force=UNRELEASED,
)
class ObeysOldRequests(FetchDivergence):
    """A replica obeys a late request of the controller with an older leader epoch."""

    def is_newer(s, replica: Replica, leader_epoch: LeaderEpoch) -> Bool:
        return s.replica[replica].leader_epoch != leader_epoch


@bug(
    "recomputes-high-watermark",
    breaks="a_leaders_high_watermark_grows",
    steps=9,
    at={"max_leader_epoch": 1, "replicas": 2},
    in_force=UNRELEASED,
)
class RecomputesHighWatermark(FetchDivergence):
    """A leader recomputes its high watermark from the offsets of its followers, and may lower the
    high watermark.

    The leader does not know the offset of a follower that has not fetched in the leader's epoch.
    """

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader sets its high watermark to the first offset that some member of its ISR
        lacks.
        """
        when(s.presumes_leadership(leader))
        s.replica[leader].high_watermark = first(
            Offset,
            lambda offset: exists(
                ~s.acknowledges(follower, leader, offset) for follower in s.replica[leader].isr
            ),
            default=s.log[leader].end_offset,
        )


@bug(
    "never-truncates",
    breaks="everything_is_committed",
    steps=7,
    at={"max_leader_epoch": 1, "replicas": 2},
    in_force=UNRELEASED,
)
class NeverTruncates(FetchDivergence):
    """A follower whose log diverges from the leader's log never truncates, so it repeats the same
    fetch for ever.

    While this follower is in the ISR, the leader commits no further record.
    """

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """The follower repeats its fetch, and does not truncate its log, which diverges from the
        leader's log.
        """
        when(s.is_following(follower, leader), s.diverges(follower, leader))
