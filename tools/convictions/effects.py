"""The anomalies that a seeded bug or a fault can cause in a simulation, each with the reason.

`reference_impl.node.seeded_bugs` lists the anomalies of a bug that the checks must find. With
random faults of brokers and links, a bug can also cause the anomalies in `EFFECTS`. The faults in
`FAULT_EFFECTS` cause anomalies without a bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_impl.node.bugs import Bug

EFFECTS: Final[Mapping[Bug, Mapping[str, str]]] = {
    Bug.DEDUP_LOST_ON_FAILOVER: {
        "open-transaction-read": "a new leader knows no open transaction",
        "G1a": "a new leader knows neither open nor aborted transactions",
    },
    Bug.LOST_APPEND: {
        "inconsistent-offsets": "the next batch gets the offset of the lost one",
        "G1a": "the lost batch can be the marker of an abort",
        "open-transaction-read": "the lost batch can begin a transaction",
        "stale-group-offset": "the lost batch can have a group's offsets",
        "group-offset-went-backwards": "the lost batch can have a group's offsets",
        "output-without-offset": "the lost batch can have a group's offsets",
        "input-processed-twice": "the lost batch can have a group's offsets",
    },
    Bug.ACK_BEFORE_REPLICATION: {
        "stale-end-offset": "the log ends at the high watermark, below what was acknowledged",
        "inconsistent-offsets": "the next leader gives the offset of a lost record again",
        "offset-order-inversion": "the next leader gives the offset of a lost record again",
        "G1a": "the lost record can be an abort marker; the next marker then commits its records",
        "stale-group-offset": "the lost record can have a group's offsets",
        "group-offset-went-backwards": "the lost record can have a group's offsets",
        "output-without-offset": "the lost record can have a group's offsets",
        "input-processed-twice": "the lost record can have a group's offsets",
    },
    Bug.READ_ABOVE_HIGH_WATERMARK: {
        "stale-end-offset": "a reader received records above the end that was returned",
        "nonmonotonic-poll": "a position above the next leader's log end is reset to the start",
        "open-transaction-read": "the fetch ignores the last stable offset too",
        "G1a": "the fetch ignores the last stable offset too",
    },
    Bug.TRUNCATE_TO_HIGH_WATERMARK: {
        "nonmonotonic-poll": "a position above the truncated log's end is reset to the start",
    },
    Bug.OFFSETS_LOST_AT_COMMIT: {
        "group-offset-went-backwards": "the group keeps the offset from before the transaction",
        "output-without-offset": "the transaction has its output, and the offset is dropped",
    },
    Bug.DELAYED_END_ACCEPTED: {
        "open-transaction-read": "the delayed request commits a transaction before its producer",
    },
    Bug.LATE_MARKER_ACCEPTED: {
        "open-transaction-read": "the late marker commits a transaction before its producer",
        "G1a": "the late marker commits a transaction that its producer then aborts",
    },
    Bug.MARKER_ON_ONE_PARTITION: {
        "G1a": "the next commit marker of the partition commits records of an aborted transaction",
        "lost-write": "the next abort marker of the partition aborts records that were committed",
    },
    Bug.ABORTED_NOT_LISTED: {
        "open-transaction-read": "the reader cannot tell aborted records from open ones",
    },
}

FAULT_EFFECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "isolate": {
        "stale-end-offset": "clients still reach the isolated broker; until it learns of its "
        "successor, it answers ListOffsets with its old high watermark, as in Kafka",
    },
}
