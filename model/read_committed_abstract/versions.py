"""The two versions of the spec `read-committed-abstract`. They differ in what the leader remembers
after a restart.

- `kafka-4.3`: the leader forgets which markers are not replicated, so the last stable offset may go
  back. The page docs/findings/last-stable-offset-goes-back.md shows this run on real brokers.
- `restores-unreplicated`: the leader still knows which markers are not replicated. No release of
  Kafka has this rule.
"""

from __future__ import annotations

from model.language import Bool, false
from model.read_committed_abstract.claims import AbstractReadCommitted
from model.read_committed_abstract.state import Transaction
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version(
    "restores-unreplicated",
    in_force=unreleased("proposed: a snapshot of Kafka has the open transactions only"),
    default=True,
)
class ReadCommitted(AbstractReadCommitted):
    """Kafka 4.3 with a rule that no release has: after a restart, a leader knows which markers are
    not replicated.
    """


@version(
    "kafka-4.3",
    breaks="stable_offset_never_goes_back",
    steps=8,
    in_force=kafka("0.11", LATEST, "reproduced on 4.3.0"),
)
class Kafka43(ReadCommitted):
    """Kafka 4.3: after a restart, a leader does not know which markers are not replicated.

    A reader passes a transaction whose marker is not replicated. The next leader does not have this
    marker, so the last stable offset goes back. The action `restart` breaks the lemma
    `memory_is_the_log`. No reader receives a wrong record, because the coordinator writes the same
    marker again.
    """

    def is_restored(s, x: Transaction) -> Bool:
        return false
