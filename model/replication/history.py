"""Replication with a history variable: how far the log was ever committed.

No replica knows it: a follower takes over the high watermark of a leader that lags behind, and then
every mark is lower than one that was. What is committed is kept all the same; to say so, a spec has
to remember.

Source: Abadi and Lamport, The Existence of Refinement Mappings; the true high watermark of public
specifications of KIP-966.
"""

from __future__ import annotations

from model.language import action, ite
from model.replication.actions import TruncateToHighWatermark
from model.replication.state import Offset, Replica
from model.replication.versions import FetchDivergence


class RemembersWhatIsCommitted(TruncateToHighWatermark):
    """The largest high watermark that any leader ever had; of any version, as its first base."""

    true_high_watermark: Offset

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The high watermark advances, and is remembered if none was as high."""
        reached = s.replica[leader].high_watermark + 1
        known = s.true_high_watermark
        super().leader_inc_high_watermark(leader)
        s.true_high_watermark = ite(known < reached, reached, known)


class Replication(RemembersWhatIsCommitted, FetchDivergence):
    """Today's replication, which remembers."""
