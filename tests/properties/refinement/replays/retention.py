"""Counterexamples of buggy retention, replayed on two replicas with the same bug.

Each row has the spec and its variant (the spec with a seeded bug), the bug of the broker, and the
claim that the counterexample violates. The dots stand for `retention`:

    spec and variant                   bug of the broker            claim
    retention expires-uncommitted      deletes-uncommitted          log_start_is_committed
    ... leaves-high-watermark-behind   high-watermark-left-behind   log_start_is_committed
    ... answers-alone                  deletion-answered-alone      deleted_stays_deleted
    ... cleans-past-hw                 compacts-uncommitted         latest_values_are_kept

The harness is one topic partition on two brokers, a leader and a follower, and the fetches between
them. When a broker with the bug `deletes-uncommitted` deletes uncommitted records, its high
watermark moves up with its log start. The spec's high watermark does not move. So the harness reads
the high watermark that the broker had before the deletion.

Simplified: the broker deletes in one step all records that it may delete; the model deletes one
record at a time. A broker does not compact the active segment, so the harness appends one more
record before a compaction.

For `cleans-past-hw`, one record must stay uncommitted. In the counterexample, the follower has left
the ISR. In the harness, a leader without a follower in the ISR would commit the record at once. So
in the harness the follower stays in the ISR, but does not fetch the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from model.language.interpreter import Cell, Value
from model.retention.versions import Retention
from model.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    TopicPartition,
)
from reference_impl.log.partition_log import FIRST_OFFSET, PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.node.step import Reply, Send
from reference_impl.partition.follower import Follower, fetch_again, on_fetched
from reference_impl.partition.leader import Leader
from reference_impl.partition.roles import (
    REQUEST_HANDLERS,
    LeaderRequest,
    Replica,
    apply_state,
)
from reference_impl.partition.upkeep import compact, retain
from reference_impl.protocol.controller import BrokerState, PartitionState
from reference_impl.protocol.deletion import DeletedRecords, DeleteRecords
from reference_impl.protocol.messages import (
    ACKS_LEADER,
    FIRST_CLIENT,
    ErrorCode,
    Fetch,
    Fetched,
    Produce,
)
from reference_impl.protocol.requests import Response
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig
from tests.properties.refinement.replays.replay import Defect, Effect, Reading, Replay, with_bug

TOPIC_PARTITION: Final = TopicPartition("orders", 0)
BROKERS: Final = (BrokerId(1), BrokerId(2))  # the replicas of the spec
KEYS: Final = (b"k0", b"k1")
CLIENT: Final = Requester(FIRST_CLIENT, 0)
RETENTION_MS: Final = 3_600_000
DELETES: Final = LogConfig(retention_ms=RETENTION_MS, segment_bytes=1)  # one record per segment
COMPACTS: Final = LogConfig(
    cleanup_policy=CleanupPolicy.COMPACT, segment_bytes=1, min_cleanable_dirty_ratio=0
)


@dataclass(slots=True, kw_only=True)
class RetentionHarness:
    """The two replicas of a topic partition. The first replica is the initial leader."""

    bugs: Bugs
    state: PartitionState
    now_ms: int = 0
    correlations: int = 0
    replicas: list[Replica] = field(default_factory=list[Replica])
    # the history variables of the spec
    marks: dict[int, Offset] = field(
        default_factory=dict[int, Offset]
    )  # before a deletion moved it
    committed: dict[Offset, int] = field(default_factory=dict[Offset, int])
    true_high_watermark: Offset = FIRST_OFFSET
    asked: Offset = FIRST_OFFSET
    deleted: Offset = FIRST_OFFSET

    @classmethod
    def of(cls, log_config: LogConfig, bugs: Bugs) -> RetentionHarness:
        state = PartitionState(
            replicas=BROKERS,
            isr=BROKERS,
            leader=BROKERS[0],
            leader_epoch=LeaderEpoch(0),
            partition_epoch=PartitionEpoch(0),
            log_config=log_config,
        )
        harness = cls(bugs=bugs, state=state)
        for r in range(len(BROKERS)):
            replica, _ = apply_state(
                TOPIC_PARTITION, None, PartitionLog(), state, harness._context(r)
            )
            harness.replicas.append(replica)
        return harness

    def produce(self, r: int, key: int) -> None:
        record = Record(key=KEYS[key], value=b"v", timestamp_ms=self.now_ms)
        request = Produce(
            topic_partition=TOPIC_PARTITION, batches=encode([record]), acks=ACKS_LEADER
        )
        self._serve(r, request)

    def fetch(self, r: int) -> None:
        """Fetches at most one record from the leader, and delivers the response to follower `r`."""
        follower = self.replicas[r]
        assert isinstance(follower, Follower)
        follower, effects = fetch_again(follower, self._context(r))
        (sent,) = (effect for effect in effects if isinstance(effect, Send))
        assert isinstance(sent.request, Fetch)
        request = replace(sent.request, max_bytes=1, max_wait_ms=0)
        answers = self._serve(BROKERS.index(self.state.leader), request)
        (answer,) = (answer for answer in answers if isinstance(answer, Fetched))
        self.replicas[r], _ = on_fetched(follower, self._context(r), sent.correlation, answer)

    def advance(self, r: int) -> None:
        """Makes each follower in the ISR of leader `r` fetch, until the high watermark is higher
        than before.

        A follower needs at most two fetches: the first one copies the record, and the second one
        reports the follower's new log end.
        """
        for other in range(len(BROKERS)):
            if other != r and BROKERS[other] in self.state.isr:
                before = self.true_high_watermark
                for _ in "fetches the record", "reports its new end":
                    if self.true_high_watermark == before:
                        self.fetch(other)

    def shrink(self, r: int) -> None:
        self.now_ms += KAFKA_SETTINGS.replica_lag_ms + 1
        isr = tuple(broker for broker in self.state.isr if broker != BROKERS[r])
        self._describe(replace(self.state, isr=isr), BROKERS.index(self.state.leader))

    def elect(self, r: int) -> None:
        """Makes replica `r` the leader. The other replica does not receive the new partition
        state.
        """
        epoch = LeaderEpoch(self.state.leader_epoch + 1)
        self._describe(replace(self.state, leader=BROKERS[r], leader_epoch=epoch), r)
        self.asked = self.deleted

    def expire(self, r: int) -> None:
        """Lets the retention time pass, and then makes replica `r` delete its expired records."""
        self.now_ms += RETENTION_MS + 1
        self.marks[r] = self.replicas[r].log.high_watermark
        self._clean(r)

    def compact(self, r: int, _offset: int) -> None:
        """Appends a record to replica `r`, and then compacts the log. An active segment is never
        compacted. The additional record begins a new active segment, so all earlier records can be
        compacted.
        """
        self.produce(r, 1)
        self._clean(r)

    def _clean(self, r: int) -> None:
        context = self._context(r)
        self.replicas[r] = retain(compact(self.replicas[r], context), context)

    def delete(self, r: int, to: int) -> None:
        request = DeleteRecords(topic_partition=TOPIC_PARTITION, before=Offset(to))
        self.asked = max(self.asked, Offset(to))
        self._serve(r, request)

    def _serve(self, r: int, request: LeaderRequest) -> tuple[Response, ...]:
        leader = self.replicas[r]
        assert isinstance(leader, Leader)
        serve = REQUEST_HANDLERS[type(request)]
        self.replicas[r], effects = serve(leader, self._context(r), CLIENT, request)
        self._note_committed(self.replicas[r].log)
        answers = tuple(effect.response for effect in effects if isinstance(effect, Reply))
        for answer in answers:
            if isinstance(answer, DeletedRecords) and answer.error is ErrorCode.NONE:
                self.deleted = max(self.deleted, answer.low_watermark)
        return answers

    def _describe(self, state: PartitionState, r: int) -> None:
        self.state = replace(state, partition_epoch=PartitionEpoch(state.partition_epoch + 1))
        known = self.replicas[r]
        self.replicas[r], _ = apply_state(
            TOPIC_PARTITION, known, known.log, self.state, self._context(r)
        )
        self._note_committed(self.replicas[r].log)

    def _note_committed(self, log: PartitionLog) -> None:
        for offset, (key, _) in records(log).items():
            if self.true_high_watermark <= offset < log.high_watermark:
                self.committed[offset] = key
        self.true_high_watermark = max(self.true_high_watermark, log.high_watermark)

    def _context(self, r: int) -> Context:
        self.correlations += 1
        return Context(
            now_ms=self.now_ms,
            broker_id=BROKERS[r],
            broker_epoch=BrokerEpoch(0),
            brokers={
                broker: BrokerState(broker_id=broker, broker_epoch=BrokerEpoch(0), fenced=False)
                for broker in BROKERS
            },
            correlation=self.correlations,
            broker_settings=KAFKA_SETTINGS,
            bugs=self.bugs,
        )


def records(log: PartitionLog) -> Mapping[Offset, tuple[int, LeaderEpoch]]:
    return {
        offset: (KEYS.index(record.key or b""), batch.header.leader_epoch)
        for batch in log.batches()
        for offset, record in decode(batch.data)
        if offset >= log.log_start
    }


EFFECTS: Final[Mapping[str, Effect]] = {
    "produce": RetentionHarness.produce,
    "fetch": RetentionHarness.fetch,
    "truncate_fully": RetentionHarness.fetch,
    "advance_high_watermark": RetentionHarness.advance,
    "shrink_isr": RetentionHarness.shrink,
    "elect": RetentionHarness.elect,
    "expire": RetentionHarness.expire,
    "compact": RetentionHarness.compact,
    "delete_records": RetentionHarness.delete,
}
BY_THEMSELVES: Final = frozenset({"init", "answer_delete_records"})


def spec_of(harness: RetentionHarness) -> Retention:
    """Returns the spec `retention` with constants that are large enough for the logs of the
    harness.
    """
    end = max(replica.log.end_offset for replica in harness.replicas)
    return Retention(
        keys=len(KEYS), log_size=max(end, 1), max_leader_epoch=harness.state.leader_epoch
    )


def cells(harness: RetentionHarness) -> Mapping[Cell, Value]:
    """Returns the value of each variable of the spec.

    Most values are read from the two replicas. The harness itself stores the values of the history
    variables: the committed records, and the requested and confirmed deletions.
    """
    offsets = range(spec_of(harness).log_size + 1)
    read: dict[Cell, Value] = {
        ("leader", ()): BROKERS.index(harness.state.leader),
        ("leader_epoch", ()): harness.state.leader_epoch,
        ("true_high_watermark", ()): harness.true_high_watermark,
        ("requested", ()): harness.asked,
        ("deleted", ()): harness.deleted,
    }
    for r, replica in enumerate(harness.replicas):
        log, held = replica.log, records(replica.log)
        read |= {
            ("log.log_start", (r,)): log.log_start,
            ("log.end_offset", (r,)): log.end_offset,
            ("log.high_watermark", (r,)): harness.marks.get(r, log.high_watermark),
            ("epoch", (r,)): replica.state.leader_epoch,
            ("isr", (r,)): BROKERS[r] in harness.state.isr,
        }
        for offset in map(Offset, offsets):
            key, leader_epoch = held.get(offset, (None, 0))
            read["log.record.key", (r, offset)] = key
            read["log.record.leader_epoch", (r, offset)] = leader_epoch
    for offset in map(Offset, offsets):
        read["committed", (offset,)] = harness.committed.get(offset)
    return read


def _start(defect: Defect, log_config: LogConfig) -> RetentionHarness:
    return RetentionHarness.of(log_config, defect.bugs)


_replay = partial(
    Replay[RetentionHarness],
    spec="retention",
    start=partial(_start, log_config=DELETES),
    effects=EFFECTS,
    by_itself=BY_THEMSELVES,
    read=lambda harness: Reading(spec_of(harness), cells(harness)),
)
RETENTION_REPLAYS: Final = (
    _replay(
        variant="expires-uncommitted",
        claim="log_start_is_committed",
        defect=with_bug(Bug.DELETES_UNCOMMITTED),
    ),
    _replay(
        variant="leaves-high-watermark-behind",
        claim="log_start_is_committed",
        defect=with_bug(Bug.HIGH_WATERMARK_LEFT_BEHIND),
    ),
    _replay(
        variant="answers-alone",
        claim="deleted_stays_deleted",
        defect=with_bug(Bug.DELETION_ANSWERED_ALONE),
    ),
    _replay(
        variant="cleans-past-hw",
        claim="latest_values_are_kept",
        defect=with_bug(Bug.COMPACTS_UNCOMMITTED),
        start=partial(_start, log_config=COMPACTS),
        effects={**EFFECTS, "shrink_isr": ()},  # the follower is one record behind instead
    ),
)
