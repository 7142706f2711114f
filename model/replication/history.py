"""Replication with a history variable: the largest high watermark that any leader ever had.

No replica knows that value. A follower takes over the high watermark of a leader that lags, and
then every replica's high watermark is lower than an earlier one. The records below the largest are
committed all the same, so a claim about them needs this variable.

Source: Abadi and Lamport, The Existence of Refinement Mappings; the true high watermark of public
specifications of KIP-966.
"""

from __future__ import annotations

from model.language import action, ite
from model.replication.actions import TruncateToHighWatermark
from model.replication.state import Offset, Replica
from model.replication.versions import FetchDivergence


class RemembersWhatIsCommitted(TruncateToHighWatermark):
    """Any version of replication, with the largest high watermark that a leader ever had."""

    true_high_watermark: Offset

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark, and the history variable follows if it was
        lower.
        """
        reached = s.replica[leader].high_watermark + 1
        known = s.true_high_watermark
        super().leader_inc_high_watermark(leader)
        s.true_high_watermark = ite(known < reached, reached, known)


class Replication(RemembersWhatIsCommitted, FetchDivergence):
    """Today's replication with the history variable."""
