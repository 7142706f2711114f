"""Reported bugs that no spec has, each with the reason, sorted by id."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A reported bug that no engine here looks for."""

    id: str
    issue: str
    what: str
    reason: str


_QUORUM = "The metadata quorum is one step of one controller here: no spec has its voters and log."

BUGS_LEFT_OUT: tuple[LeftOut, ...] = (
    LeftOut(
        id="I3",
        issue="KAFKA-5793",
        what="Where only a marker remains of a producer, its next sequence is taken for a loss.",
        reason="No spec has both markers and deletion; `kip-98` is refused where nothing remains.",
    ),
    LeftOut(
        id="I3",
        issue="KAFKA-7298",
        what="Where only a marker of a producer is left, its next batch is taken for a loss.",
        reason="The spec idempotence has no markers, and the spec transactions no sequences.",
    ),
    LeftOut(
        id="R15",
        issue="KAFKA-15021",
        what="The high watermark waits for a replica that is shutting down and may not rejoin.",
        reason="It waits for replica.lag.time.max.ms, then goes on: without time that is no fault.",
    ),
    LeftOut(
        id="R17",
        issue="KAFKA-9835",
        what="A reader passes the high watermark, as the size of a file is read twice.",
        reason="It lies below messages: no spec has files, or a fetch in two steps.",
    ),
    LeftOut(
        id="R18",
        issue="KAFKA-9539",
        what="A StopReplica request of an older epoch stops a live replica.",
        reason="KRaft has no StopReplica; `obeys-old-requests` is the same fault of LeaderAndIsr.",
    ),
    LeftOut(
        id="R21",
        issue="KAFKA-2729",
        what="A leader with a stale ZooKeeper version never retries: its ISR is frozen.",
        reason="ZooKeeper is gone; AlterPartition answers with the state that is in force.",
    ),
    LeftOut(
        id="R22",
        issue="KAFKA-15489",
        what="A quorum leader that is cut from the majority does not resign.",
        reason=_QUORUM,
    ),
    LeftOut(
        id="R23",
        issue="KAFKA-17333",
        what="A restarted quorum leader leads on in its epoch, after losing what was not flushed.",
        reason=_QUORUM,
    ),
    LeftOut(
        id="R24",
        issue="KAFKA-17332",
        what="An observer that becomes a voter acknowledges what it has not flushed.",
        reason=_QUORUM,
    ),
    LeftOut(
        id="T19",
        issue="Redpanda 28360",
        what="The last stable offset is read while a transaction begins, and is too high.",
        reason="A race below messages; what it does to a reader is what `reads-mark-twice` does.",
    ),
    LeftOut(
        id="T19",
        issue="Redpanda 28360",
        what="The last stable offset is computed while a transaction begins, and is too high.",
        reason="A lock inside one broker: here that is one step. `reads-mark-twice` takes two.",
    ),
)
