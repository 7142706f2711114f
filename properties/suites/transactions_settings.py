"""The settings of the suite `transactions`: under which condition a run stands.

Inside the condition of a claim no run may break it; outside some run does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.histories import Isolation
from reference_impl.protocol.transactions import TransactionVersion

V1, V2 = TransactionVersion.V1, TransactionVersion.V2


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The producers', the readers' and the cluster's configuration: a condition, or its opposite.

    Some requests may be late: they are given up, sent again, and arrive behind what was sent after
    them.
    """

    says: str
    version: TransactionVersion = V2
    isolation: Isolation = "read_committed"  # of the readers that are judged
    late: tuple[str, ...] = ("records", "verifications", "ends", "markers")
    verifies: bool = True  # transaction.partition.verification.enable
    replicas: int = 3  # of the coordinator's log
    isolates_leaders: bool = True


SETTINGS: Final = {
    "V2": Setting(says="KIP-890: each transaction has its own epoch; anything may be late"),
    "read at the leader": Setting(
        says="as V2, and no leader is cut off from the controller but not from its clients",
        isolates_leaders=False,
    ),
    "read_uncommitted": Setting(
        says="as V2, and readers do not wait", isolation="read_uncommitted"
    ),
    "V1": Setting(
        says="one epoch for a session, partitions are verified; only records may be late",
        version=V1,
        late=("records", "verifications"),
    ),
    "V1, late ends": Setting(
        says="one epoch for a session, and a commit or an abort may be late",
        version=V1,
        late=("ends",),
    ),
    "V1, not verified": Setting(
        says="one epoch for a session, and leaders believe every producer; records may be late",
        version=V1,
        late=("records",),
        verifies=False,
    ),
    "one replica": Setting(says="as V2, and one broker has the coordinator's log", replicas=1),
}
