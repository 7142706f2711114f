"""The settings of the suite `transactions`, by name. A setting is the configuration of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.histories import Isolation
from reference_impl.protocol.transactions import TransactionVersion

V1, V2 = TransactionVersion.V1, TransactionVersion.V2


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration of a run: the producers, the readers and the cluster.

    `late` lists the kinds of requests that a fault may delay, so that later requests overtake them.
    """

    condition: str
    version: TransactionVersion = V2
    isolation: Isolation = "read_committed"  # of the judged readers
    late: tuple[str, ...] = ("records", "verifications", "ends", "markers")
    verifies: bool = True  # transaction.partition.verification.enable
    replicas: int = 3  # of `__transaction_state` and `__consumer_offsets`
    isolates_leaders: bool = True


SETTINGS: Final = {
    "V2": Setting(condition="KIP-890: each transaction has its own epoch; any request may be late"),
    "read at the leader": Setting(
        condition="as V2; a leader never loses the controller while clients still reach it",
        isolates_leaders=False,
    ),
    "read_uncommitted": Setting(
        condition="as V2; readers at read_uncommitted", isolation="read_uncommitted"
    ),
    "V1": Setting(
        condition="one epoch per session, partitions are verified; only records may be late",
        version=V1,
        late=("records", "verifications"),
    ),
    "V1, late ends": Setting(
        condition="one epoch per session; a commit or an abort may be late",
        version=V1,
        late=("ends",),
    ),
    "V1, not verified": Setting(
        condition="one epoch per session, no partition verification; records may be late",
        version=V1,
        late=("records",),
        verifies=False,
    ),
    "one replica": Setting(
        condition="as V2; `__transaction_state` and `__consumer_offsets` have one replica",
        replicas=1,
    ),
}
