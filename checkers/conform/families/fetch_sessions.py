"""Generates Fetch requests in fetch sessions. In a sequence, partitions join and leave the session,
sessions end, and some requests have a wrong session epoch.

Every partition has a single replica, which is on broker 1. One session can therefore contain all
partitions, and no high watermark depends on followers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.requests import delete_records, produce
from checkers.conform.steps import Pause, Send, Topic, bound, now, topic_id
from reference_impl.wire.messages.apis import Api

TOPIC, BROKER = "~t", "node 1"
PARTITIONS: Final = (0, 1, 2)
MISSING: Final = 9
APPLIED_WITHIN_MS: Final = 1_500
FIRST, LAST_BY_NAME, FIRST_BY_ID, LAST = 7, 12, 13, 18
FULL, FINAL = 0, -1
A_LOT: Final = 1 << 20


@dataclass(slots=True)
class _Sessions:
    draw: Draw
    version: int = LAST_BY_NAME
    epoch: int = FULL
    sent: int = 0
    named: set[int] = field(default_factory=set[int])

    def create(self) -> None:
        new = {
            "name": TOPIC,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": at, "broker_ids": [1]} for at in PARTITIONS],
            "configs": [],
        }
        body = {"topics": [new], "timeout": 10_000, "validate_only": False}
        binds = {"t.id": "topics.0.topic_id"}
        create = Send(
            api=Api.CREATE_TOPICS, version=7, body=body, to="controller", note="create", binds=binds
        )
        described = {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": False}
        leaders = Send(api=Api.METADATA, version=9, body=described, to=BROKER, note="the leaders")
        self.draw.add(create, leaders, Pause(ms=APPLIED_WITHIN_MS), leaders)
        for partition in PARTITIONS:
            self.append(partition)

    def append(self, partition: int | None = None) -> None:
        at = self.draw.one(PARTITIONS) if partition is None else partition
        described = {"records": self.draw.random.randint(1, 3), "timestamp": now(self.sent)}
        self.sent += 1
        note = f"records for partition {at}"
        self.draw.add(produce(note, TOPIC, described, partition=at, to=BROKER))

    def delete(self) -> None:
        partition, offset = self.draw.one(PARTITIONS), self.draw.one((1, -1))
        note = f"delete records of partition {partition}"
        self.draw.add(delete_records(note, TOPIC, offset, partition=partition, to=BROKER))

    # ------------------------------------------------------------ fetches

    def begin(self) -> None:
        self.version = self.draw.random.randint(FIRST, LAST)
        named = self.draw.random.sample((*PARTITIONS, MISSING), self.draw.random.randint(1, 4))
        ends_other = self.draw.chance(50)
        session_id = bound("f.session", otherwise=0) if ends_other else 0
        note = "a new session instead of the last one" if ends_other else "a new session"
        self._fetch(note, session_id, FULL, dict.fromkeys(named, 0), (), binds=True)
        self.epoch, self.named = 1, set(named)

    def continue_session(self) -> None:
        choose = self.draw.random
        offsets = {
            at: self.draw.one((0, 0, 1, 2, 99))
            for at in choose.sample((*PARTITIONS, MISSING), choose.choice((0, 0, 1, 2)))
        }
        leaving = min(len(self.named), choose.choice((0, 0, 1)))
        forgotten = choose.sample(sorted(self.named), leaving)
        max_bytes = self.draw.one((A_LOT, A_LOT, 1))
        note = f"epoch {self.epoch}, offsets {offsets}, forgets {forgotten}"
        self._fetch(note, _session(), self.epoch, offsets, tuple(forgotten), max_bytes=max_bytes)
        self.epoch += 1
        self.named = {*self.named, *offsets} - {*forgotten}
        if not self.named:
            self._fetch("after the session's last partition", _session(), self.epoch, {}, ())
            self.begin()

    def refuse(self) -> None:
        note, session_id, epoch = self.draw.one(
            (
                ("a later epoch", _session(), self.epoch + 3),
                ("a negative epoch", _session(), -7),
                ("an earlier epoch", _session(), max(1, self.epoch - 1)),
                ("no session", 0, 1),
            )
        )
        if epoch == self.epoch and session_id:
            self.epoch += 1  # it is the right one
        self._fetch(note, session_id, epoch, {}, ())

    def mix(self) -> None:
        other = FIRST_BY_ID if self.version <= LAST_BY_NAME else LAST_BY_NAME
        self._fetch("names instead of ids, or ids", _session(), self.epoch, {}, (), version=other)

    def end(self) -> None:
        self._fetch("the end of the session", _session(), FINAL, {0: 0}, ())
        self._fetch("after the end", _session(), self.epoch, {}, ())
        self.begin()

    def _fetch(
        self,
        note: str,
        session_id: Any,
        epoch: int,
        offsets: dict[int, int],
        forgotten: tuple[int, ...],
        *,
        binds: bool = False,
        version: int | None = None,
        max_bytes: int = A_LOT,
    ) -> None:
        topic = {"topic": TOPIC, "topic_id": bound("t.id", otherwise=topic_id(TOPIC))}
        wanted = [
            {
                "partition": index,
                "current_leader_epoch": -1,
                "fetch_offset": offset,
                "last_fetched_epoch": -1,
                "log_start_offset": -1,
                "partition_max_bytes": A_LOT,
            }
            for index, offset in offsets.items()
        ]
        body = {
            "replica_id": -1,
            "max_wait": 50,
            "min_bytes": 1,
            "max_bytes": max_bytes,
            "isolation_level": self.draw.one((0, 1)),
            "session_id": session_id,
            "session_epoch": epoch,
            "topics": [{**topic, "partitions": wanted}] if wanted else [],
            "forgotten_topics_data": [{**topic, "partitions": [*forgotten]}] if forgotten else [],
        }
        self.draw.add(
            Send(
                api=Api.FETCH,
                version=version or self.version,
                body=body,
                to=BROKER,
                note=note,
                binds={"f.session": "session_id"} if binds else {},
                retries=False,
            )
        )


def _session() -> dict[str, Any]:
    return bound("f.session", otherwise=12345)


def fetch_sessions(draw: Draw) -> tuple[Topic, ...]:
    it = _Sessions(draw)
    it.create()
    it.begin()
    rare = ((1, it.delete), (1, it.mix), (1, it.end))
    draw.repeat(18, ((9, it.continue_session), (4, it.append), (2, it.refuse), *rare))
    return ()
