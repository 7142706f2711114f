"""Replication with a history variable: the largest high watermark that any leader ever had.

A new leader's high watermark may lag, and followers copy it. So all present high watermarks may be
lower than the high watermark of an earlier leader. Records below the largest high watermark stay
committed, so a claim about committed records needs this variable.

Source: Abadi and Lamport, The Existence of Refinement Mappings; the true high watermark of public
specifications of KIP-966.
"""

from __future__ import annotations

from model.language import action, ite
from model.replication.actions import TruncateToHighWatermark
from model.replication.state import Offset, Replica
from model.replication.versions import FetchDivergence


class RemembersWhatIsCommitted(TruncateToHighWatermark):
    """Adds a variable to a version of the spec: the largest high watermark of any leader so far."""

    true_high_watermark: Offset

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark; the history variable keeps the largest one."""
        reached = s.replica[leader].high_watermark + 1
        known = s.true_high_watermark
        super().leader_inc_high_watermark(leader)
        s.true_high_watermark = ite(known < reached, reached, known)


class Replication(RemembersWhatIsCommitted, FetchDivergence):
    """Today's replication protocol, and the largest high watermark that any leader ever had."""
