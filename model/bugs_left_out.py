"""The list of reported Kafka bugs that no spec models, each with the reason, sorted by id."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A reported bug of Kafka that Urteil does not look for, with the reason."""

    id: str
    issue: str
    what: str
    reason: str


_QUORUM = "The metadata quorum is one controller here: no spec has its voters or its log."

BUGS_LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        id="I3",
        issue="KAFKA-5793",
        what="If only a marker of a producer remains, its next sequence is reported as a loss.",
        reason="No spec has both markers and deletion; `kip-98` shows the case without any record.",
    ),
    LeftOut(
        id="I3",
        issue="KAFKA-7298",
        what="If only a marker of a producer remains, its next batch is reported as a loss.",
        reason="The spec `idempotence` has no markers, and the spec `transactions` no sequences.",
    ),
    LeftOut(
        id="R15",
        issue="KAFKA-15021",
        what="The high watermark waits for a replica that is shutting down and cannot rejoin.",
        reason="The wait ends after replica.lag.time.max.ms; the specs have no time.",
    ),
    LeftOut(
        id="R17",
        issue="KAFKA-9835",
        what="A reader passes the high watermark, because the size of a file is read twice.",
        reason="No spec has files, or a fetch in two steps.",
    ),
    LeftOut(
        id="R18",
        issue="KAFKA-9539",
        what="A StopReplica request of an older epoch stops a live replica.",
        reason="KRaft has no StopReplica; `obeys-old-requests` is the same bug of LeaderAndIsr.",
    ),
    LeftOut(
        id="R21",
        issue="KAFKA-2729",
        what="A leader with a stale ZooKeeper version never retries: its ISR is frozen.",
        reason="Kafka no longer uses ZooKeeper; AlterPartition returns the present state.",
    ),
    LeftOut(
        id="R22",
        issue="KAFKA-15489",
        what="A KRaft leader that is partitioned from the majority does not resign.",
        reason=_QUORUM,
    ),
    LeftOut(
        id="R23",
        issue="KAFKA-17333",
        what="A restarted KRaft leader leads in its old epoch, after it lost unflushed records.",
        reason=_QUORUM,
    ),
    LeftOut(
        id="R24",
        issue="KAFKA-17332",
        what="An observer that becomes a voter acknowledges records that it has not flushed.",
        reason=_QUORUM,
    ),
    LeftOut(
        id="T19",
        issue="Redpanda 28360",
        what="The last stable offset is read while a transaction begins, and is too high.",
        reason=(
            "A race inside one broker; `reads-high-watermark-twice` has the same effect on readers."
        ),
    ),
    LeftOut(
        id="T19",
        issue="Redpanda 28360",
        what="The last stable offset is computed while a transaction begins, and is too high.",
        reason="A missing lock inside one broker; in the specs that code is one step.",
    ),
)
