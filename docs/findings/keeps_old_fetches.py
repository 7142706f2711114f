"""Variants of the proved replication spec: an elected leader keeps its followers' fetched offsets.

    KeepsOldFetches              Kafka's rule: the offsets of any earlier leader epoch that it led
    KeepsFetchesOfTheLastEpoch   a safe rule: only those of the leader epoch just before

urteil check docs/findings/keeps_old_fetches.py --set replicas=3 \
    --property isr_has_what_is_committed
"""

from __future__ import annotations

from model.language import Bool, ite
from model.replication_abstract.state import LeaderEpoch, Replica
from model.replication_abstract.versions import ReplicationProof


class KeepsFetchesOfTheLastEpoch(ReplicationProof):
    """A leader that is elected again keeps what its followers fetched in the epoch just before."""

    def on_leading(s, r: Replica, newer: LeaderEpoch) -> None:
        own = s.replica[r].leader_epoch
        keeps = s.replica[r].is_leader & s.may_keep(own, newer)
        for f in Replica:
            kept, forgotten = s.led[own].fetched[f], s.led[newer].fetched[f]
            s.led[newer].fetched[f] = ite(keeps, kept, forgotten)

    def may_keep(s, own: LeaderEpoch, newer: LeaderEpoch) -> Bool:
        """True if `newer` is the next epoch after `own`: no other replica led between them."""
        return newer.is_next_after(own)


class KeepsOldFetches(KeepsFetchesOfTheLastEpoch):
    """A leader that is elected again keeps the fetch offsets of its followers, of any epoch in
    which it led before.
    """

    def may_keep(s, own: LeaderEpoch, newer: LeaderEpoch) -> Bool:
        return own < newer
