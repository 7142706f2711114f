"""Counterexamples of buggy retention, run on two replicas with that bug: the same claim breaks.

    retention expires-uncommitted    deletes-uncommitted       log_start_is_committed
    ... leaves-mark-behind           mark-left-behind          log_start_is_committed
    ... answers-alone                deletion-answered-alone   deleted_stays_deleted
    ... cleans-past-hw               compacts-uncommitted      latest_values_are_kept

As in `plans`, an action of the counterexample is something done; but the stage is no cluster. It is
one topic partition on two brokers, its leader and its follower, and the fetches between them. The
cells of the spec are read from both in full, and the claim is the spec's own formula.

A log that deletes what is not committed takes its high watermark along, so that it looks committed:
the high watermark is read as it was before.

Simplified: retention takes every record that it may, the model one at a time. A log that is
compacted needs one more record, since its last segment is left alone. Where a follower lags so that
less is committed than the leader has, it leaves the ISR in the model, and is a record behind here:
a leader alone commits what it has at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from model.language.interpreter import Cell, Interpreter, Value
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
from reference_impl.log.record_batch import Record, decode, encode
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Reply, Send
from reference_impl.node.timeouts import KAFKA_TIMEOUTS
from reference_impl.partition.follower import Follower, fetch_again, on_fetched
from reference_impl.partition.leader import Leader
from reference_impl.partition.roles import (
    REQUEST_HANDLERS,
    LeaderRequest,
    Replica,
    apply_state,
    cleaned,
)
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

TOPIC_PARTITION: Final = TopicPartition("orders", 0)
BROKERS: Final = (BrokerId(1), BrokerId(2))  # the replicas of the model
KEYS: Final = (b"k0", b"k1")
CLIENT: Final = Requester(FIRST_CLIENT, 0)
RETENTION_MS: Final = 3_600_000
DELETES: Final = LogConfig(retention_ms=RETENTION_MS, segment_bytes=1)  # a segment a record
COMPACTS: Final = LogConfig(
    cleanup_policy=CleanupPolicy.COMPACT, segment_bytes=1, min_cleanable_dirty_ratio=0
)


@dataclass(slots=True, kw_only=True)
class Stage:
    """The two replicas, on which a plan is carried out; the first leads to begin with."""

    bugs: Bugs
    state: PartitionState
    now_ms: int = 0
    told: int = 0  # correlations
    replicas: list[Replica] = field(default_factory=list[Replica])
    # what happened
    marks: dict[int, Offset] = field(default_factory=dict[int, Offset])  # before they were moved
    committed: dict[Offset, int] = field(default_factory=dict[Offset, int])
    true_high_watermark: Offset = FIRST_OFFSET
    asked: Offset = FIRST_OFFSET
    deleted: Offset = FIRST_OFFSET

    @classmethod
    def of(cls, log_config: LogConfig, bugs: Bugs) -> Stage:
        """Both are in sync, and have nothing."""
        state = PartitionState(
            replicas=BROKERS,
            isr=BROKERS,
            leader=BROKERS[0],
            leader_epoch=LeaderEpoch(0),
            partition_epoch=PartitionEpoch(0),
            log_config=log_config,
        )
        stage = cls(bugs=bugs, state=state)
        for r in range(len(BROKERS)):
            replica, _ = apply_state(
                TOPIC_PARTITION, None, PartitionLog(), state, stage._context(r)
            )
            stage.replicas.append(replica)
        return stage

    def produce(self, r: int, key: int) -> None:
        """The leader has one more record."""
        record = Record(key=KEYS[key], value=b"v", timestamp_ms=self.now_ms)
        request = Produce(
            topic_partition=TOPIC_PARTITION, batches=encode([record]), acks=ACKS_LEADER
        )
        self._serve(r, request)

    def fetch(self, r: int) -> None:
        """The follower asks for one more record, and hears the answer."""
        follower = self.replicas[r]
        assert isinstance(follower, Follower)
        follower, effects = fetch_again(follower, self._context(r))
        (sent,) = (effect for effect in effects if isinstance(effect, Send))
        assert isinstance(sent.request, Fetch)
        request = replace(sent.request, max_bytes=1, max_wait_ms=0)
        answers = self._serve(BROKERS.index(self.state.leader), request)
        (answer,) = (told for told in answers if isinstance(told, Fetched))
        self.replicas[r], _ = on_fetched(follower, self._context(r), sent.correlation, answer)

    def advance(self, r: int) -> None:
        """The leader knows that one more record is on all of the ISR."""
        for other in range(len(BROKERS)):
            if other != r and BROKERS[other] in self.state.isr:
                before = self.true_high_watermark
                for _ in "to get the record", "to tell so":
                    if self.true_high_watermark == before:
                        self.fetch(other)

    def shrink(self, r: int) -> None:
        """The replica has long been silent, and the controller takes it out of the ISR."""
        self.now_ms += KAFKA_TIMEOUTS.replica_lag_ms + 1
        isr = tuple(broker for broker in self.state.isr if broker != BROKERS[r])
        self._describe(replace(self.state, isr=isr), BROKERS.index(self.state.leader))

    def elect(self, r: int) -> None:
        """The controller has the replica lead; the other has not heard of it."""
        epoch = LeaderEpoch(self.state.leader_epoch + 1)
        self._describe(replace(self.state, leader=BROKERS[r], leader_epoch=epoch), r)
        self.asked = self.deleted

    def expire(self, r: int) -> None:
        """Time passes, and the replica deletes what is too old."""
        self.now_ms += RETENTION_MS + 1
        self.marks[r] = self.replicas[r].log.high_watermark
        self.replicas[r] = cleaned(self.replicas[r], self._context(r))

    def compact(self, r: int, _offset: int) -> None:
        """The replica compacts all but its last segment, which is a record of another key."""
        self.produce(r, 1)
        self.replicas[r] = cleaned(self.replicas[r], self._context(r))

    def delete(self, r: int, to: int) -> None:
        """A client has the leader delete."""
        request = DeleteRecords(topic_partition=TOPIC_PARTITION, before=Offset(to))
        self.asked = max(self.asked, Offset(to))
        self._serve(r, request)

    def _serve(self, r: int, request: LeaderRequest) -> tuple[Response, ...]:
        """What a leader answers to whom, once it has a request."""
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
        """A replica hears what the controller decided."""
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
        self.told += 1
        return Context(
            now_ms=self.now_ms,
            broker_id=BROKERS[r],
            broker_epoch=BrokerEpoch(0),
            brokers={
                broker: BrokerState(broker_id=broker, broker_epoch=BrokerEpoch(0), fenced=False)
                for broker in BROKERS
            },
            correlation=self.told,
            timeouts=KAFKA_TIMEOUTS,
            bugs=self.bugs,
        )


def records(log: PartitionLog) -> Mapping[Offset, tuple[int, LeaderEpoch]]:
    """The key and the leader epoch of each record that has not been deleted."""
    return {
        offset: (KEYS.index(record.key or b""), batch.header.leader_epoch)
        for batch in log.batches()
        for offset, record in decode(batch.data)
        if offset >= log.log_start
    }


DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    "init": lambda _: None,
    "produce": Stage.produce,
    "fetch": Stage.fetch,
    "start_anew": Stage.fetch,
    "advance_high_watermark": Stage.advance,
    "shrink_isr": Stage.shrink,
    "elect": Stage.elect,
    "expire": Stage.expire,
    "compact": Stage.compact,
    "delete_records": Stage.delete,
    "answer_delete_records": lambda _, _r: None,  # the leader does when it will
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionReplay:
    """A variant of `retention`, the switch of the broker, and the claim that both break."""

    variant: str
    bug: Bug
    claim: str
    log_config: LogConfig = DELETES
    deeds: Mapping[str, Callable[..., None]] = field(default_factory=lambda: DEEDS)

    def carried_out(
        self, actions: Iterable[tuple[str, tuple[Any, ...]]], *, with_bug: bool
    ) -> Stage:
        """The replicas at the end of the plan that the actions make."""
        stage = Stage.of(self.log_config, frozenset({self.bug}) if with_bug else NO_BUGS)
        for action, values in actions:
            self.deeds[action](stage, *values)
        return stage

    def holds(self, stage: Stage) -> bool:
        """Whether the claim is true there."""
        spec = spec_of(stage)
        (formula,) = (c.formula for c in spec.claims if c.name == self.claim)
        return Interpreter.of(spec).holds(formula, cells(stage))


def spec_of(stage: Stage) -> Retention:
    """The spec at a scope that has room for what the stage has."""
    end = max(replica.log.end_offset for replica in stage.replicas)
    return Retention(
        keys=len(KEYS), log_size=max(end, 1), max_leader_epoch=stage.state.leader_epoch
    )


def cells(stage: Stage) -> Mapping[Cell, Value]:
    """The state of the spec, as the two replicas have it, and what has happened."""
    offsets = range(spec_of(stage).log_size + 1)
    read: dict[Cell, Value] = {
        ("leader", ()): BROKERS.index(stage.state.leader),
        ("leader_epoch", ()): stage.state.leader_epoch,
        ("true_high_watermark", ()): stage.true_high_watermark,
        ("asked", ()): stage.asked,
        ("deleted", ()): stage.deleted,
    }
    for r, replica in enumerate(stage.replicas):
        log, held = replica.log, records(replica.log)
        read |= {
            ("log.log_start", (r,)): log.log_start,
            ("log.end_offset", (r,)): log.end_offset,
            ("log.high_watermark", (r,)): stage.marks.get(r, log.high_watermark),
            ("epoch", (r,)): replica.state.leader_epoch,
            ("isr", (r,)): BROKERS[r] in stage.state.isr,
        }
        for offset in map(Offset, offsets):
            key, leader_epoch = held.get(offset, (None, 0))
            read["log.record.key", (r, offset)] = key
            read["log.record.leader_epoch", (r, offset)] = leader_epoch
    for offset in map(Offset, offsets):
        read["committed", (offset,)] = stage.committed.get(offset)
    return read


RETENTION_REPLAYS: Final = (
    RetentionReplay(
        variant="expires-uncommitted",
        bug=Bug.DELETES_UNCOMMITTED,
        claim="log_start_is_committed",
    ),
    RetentionReplay(
        variant="leaves-mark-behind",
        bug=Bug.MARK_LEFT_BEHIND,
        claim="log_start_is_committed",
    ),
    RetentionReplay(
        variant="answers-alone",
        bug=Bug.DELETION_ANSWERED_ALONE,
        claim="deleted_stays_deleted",
    ),
    RetentionReplay(
        variant="cleans-past-hw",
        bug=Bug.COMPACTS_UNCOMMITTED,
        claim="latest_values_are_kept",
        log_config=COMPACTS,
        deeds={**DEEDS, "shrink_isr": lambda _, _r: None},  # it is a record behind instead
    ),
)
