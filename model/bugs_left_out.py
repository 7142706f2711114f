"""The list of reported Kafka bugs that no spec models. Each bug has the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    issue: str  # of Kafka, or of a system like it
    what: str
    reason: str


BUGS_LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        issue="KAFKA-2729",
        what="A leader with a stale ZooKeeper version never retries: its ISR is frozen.",
        reason="Kafka no longer uses ZooKeeper; AlterPartition returns the present state.",
    ),
    LeftOut(
        issue="KAFKA-5793",
        what="If only a marker of a producer remains, its next sequence is reported as a loss.",
        reason="No spec has both markers and deletion; `kip-98` shows the case without any record.",
    ),
    LeftOut(
        issue="KAFKA-7298",
        what="If only a marker of a producer remains, its next batch is reported as a loss.",
        reason="The spec `idempotence` has no markers, and the spec `transactions` no sequences.",
    ),
    LeftOut(
        issue="KAFKA-9539",
        what="A StopReplica request of an older epoch stops a live replica.",
        reason="KRaft has no StopReplica; `obeys-old-requests` is the same bug of LeaderAndIsr.",
    ),
    LeftOut(
        issue="KAFKA-9835",
        what="A reader passes the high watermark, because the size of a file is read twice.",
        reason="No spec has files, or a fetch in two steps.",
    ),
    LeftOut(
        issue="KAFKA-15021",
        what="The high watermark waits for a replica that is shutting down and cannot rejoin.",
        reason="The wait ends after replica.lag.time.max.ms; the specs have no time.",
    ),
    LeftOut(
        issue="redpanda#28360",
        what="The last stable offset is computed while a transaction begins, and is too high.",
        reason=(
            "A race inside one broker; `reads-high-watermark-twice` has the same effect on readers."
        ),
    ),
)
