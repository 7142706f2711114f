"""The versions of the spec `share-group-abstract`. They differ in the start offset that the
coordinator stores with a write.

- `start-offset-grows`: the stored start offset only grows. This is the rule of Kafka's pull request
  23074, which was merged after 4.3.1.
- `kafka-4.3`: a write that arrives late moves the stored start offset back. The page
  docs/findings/accepted-record-returns.md shows this on real brokers.
"""

from __future__ import annotations

from model.releases import LATEST, kafka, unreleased
from model.share_group_abstract.proof import AbstractShareGroupProof
from model.share_group_abstract.state import Offset, Slot
from model.variants import version


@version(
    "start-offset-grows",
    in_force=unreleased("Kafka's pull request 23074, which was merged after 4.3.1"),
    default=True,
)
class AbstractShareGroup(AbstractShareGroupProof):
    """Share groups as of Kafka 4.3, except that the stored start offset only grows."""


@version(
    "kafka-4.3",
    breaks="acknowledgements_last",
    steps=13,
    at={"members": 1, "writes": 2},
    issue="apache/kafka#23074",
    in_force=kafka("4.2", LATEST, "fixed after 4.3.1; reproduced on real brokers"),
)
class Kafka43(AbstractShareGroup):
    """Kafka 4.3: a write that arrives late moves the stored start offset back.

    The coordinator has already forgotten the records between the new and the old start offset. So
    the next leader delivers these records again, although members have the answer that their
    acknowledgements succeeded. The actions `persist` and `lose_answer` break the lemma
    `confirmed_is_stored`.
    """

    def start_to_store(s, w: Slot) -> Offset:
        return s.write[w].start
