"""KIP-320 with one of its rules left out: each rule was found by verifying what is lost without it.

All three lose a committed record with three brokers and leader epochs 0..2.

Source: KIP-320; KAFKA-7128; hachikuji/kafka-specification d68782b: the rules above Kip320.
"""

from __future__ import annotations

from model.language import Bool, all_of
from model.replication.spec import LeaderEpoch, Offset, Replica
from model.replication.versions import Kip320


class CountsOldEpochs(Kip320):
    """The high watermark advances on a follower that is still in an older epoch.

    That follower may cut the record when it meets the leader of an epoch in between. Fails
    strong_isr.
    """

    def acknowledges(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        return s.is_following(follower, leader) & s.log[follower].has_offset(offset)


class TruncatesEarly(Kip320):
    """A follower cuts its log against a leader that does not know yet that it leads the epoch.

    The leader may cut its own log before it begins: what they shared is gone. Fails strong_isr.
    """

    def answers_truncation(s, leader: Replica, leader_epoch: LeaderEpoch) -> Bool:
        return all_of()


class JoinsBeforeEpoch(Kip320):
    """A follower joins the ISR at a high watermark that has not reached the leader's epoch.

    A new leader's mark lags behind what its predecessor committed (KAFKA-7128). Fails strong_isr.
    """

    def has_reached_its_epoch(s, leader: Replica) -> Bool:
        return all_of()
