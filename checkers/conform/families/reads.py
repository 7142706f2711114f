"""Generates requests that read a growing log: Fetch, ListOffsets and OffsetForLeaderEpoch. Some
sequences also delete records with DeleteRecords.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.requests import (
    delete_records,
    epoch_end,
    fetch,
    list_offsets,
    produce,
)
from checkers.conform.steps import Topic, now
from reference_impl.wire.messages.apis import Api

TOPIC: Final = "~t"
HOUR_MS: Final = 3_600_000
OFFSETS: Final = (0, 0, 0, 1, 2, 3, 5, 8, 12, -1, 1_000_000)


@dataclass(slots=True)
class _Reads:
    draw: Draw
    sent: int = 0

    def append(self) -> None:
        records = self.draw.random.randint(1, 5)
        described = {"records": records, "timestamp": now(self.sent * 1_000)}
        version = self.draw.version(Api.PRODUCE, 3)
        self.draw.add(produce("valid batch", TOPIC, described, version=version))
        self.sent += records

    def receiver(self) -> tuple[str, str | None, int]:
        return self.draw.weighted(
            (
                (12, ("", None, 0)),
                (1, (", at a follower", f"follower {TOPIC} 0", 0)),
                (1, (", unknown partition", None, 9)),
            )
        )

    # ------------------------------------------------------------ fetches

    def fetch(self) -> None:
        place, to, partition = self.receiver()
        offset = self.draw.one(OFFSETS)
        self.draw.add(
            fetch(
                f"offset {offset}{place}",
                TOPIC,
                offset,
                version=self.draw.version(Api.FETCH, 4),
                isolation=self.draw.one((0, 1)),
                partition=partition,
                to=to,
            )
        )

    def fetch_some(self) -> None:
        name = self.draw.one(("partition_max_bytes", "max_bytes"))
        most = self.draw.one((0, 1, 70, 90, 150, 300))
        limits: dict[str, Any] = {name: most}
        version = self.draw.version(Api.FETCH, 4)
        offset = self.draw.one((0, 1, 2, 3, 5))
        self.draw.add(fetch(f"{name} {most}", TOPIC, offset, version=version, **limits))

    def fetch_waiting(self) -> None:
        version = self.draw.version(Api.FETCH, 4)
        self.draw.add(fetch("min_bytes 1 MB", TOPIC, 0, version=version, min_bytes=1_000_000))

    def fetch_epoch(self) -> None:
        place, to, partition = self.receiver()
        epoch = self.draw.one((0, 0, 1, 5))
        self.draw.add(
            fetch(
                f"leader epoch {epoch}{place}",
                TOPIC,
                0,
                version=self.draw.version(Api.FETCH, 9),
                current_leader_epoch=epoch,
                partition=partition,
                to=to,
            )
        )

    def fetch_last_epoch(self) -> None:
        epoch, offset = self.draw.one((0, 3)), self.draw.one((0, 1, 2))
        version = self.draw.version(Api.FETCH, 12)
        note = f"last fetched epoch {epoch}"
        self.draw.add(fetch(note, TOPIC, offset, version=version, last_fetched_epoch=epoch))

    def fetch_session(self) -> None:
        version = self.draw.version(Api.FETCH, 7)
        note, session = self.draw.case(
            ("unknown session", {"session_id": 12345, "session_epoch": 3}),
            ("session epoch without a session", {"session_id": 0, "session_epoch": 7}),
        )
        self.draw.add(fetch(note, TOPIC, 0, version=version, **session))

    def fetch_unknown(self) -> None:
        version = self.draw.version(Api.FETCH, 4)
        to = f"leader {TOPIC} 0"
        self.draw.add(fetch("unknown topic", "~nowhere", 0, version=version, to=to))

    # ------------------------------------------------------------ offsets

    def list(self) -> None:
        place, to, partition = self.receiver()
        note, timestamp = self.draw.case(
            *((f"timestamp {time}", time) for time in (-1, -1, -2, -2, -3, -4, -5, -6, -7, 0)),
            ("time before the records", now(-10_000)),
            ("time of the first record", now()),
            ("time between records", now(1)),
            ("time of a later record", now(2_000)),
            ("time after the records", now(HOUR_MS)),
        )
        self.draw.add(
            list_offsets(
                f"{note}{place}",
                TOPIC,
                timestamp,
                version=self.draw.version(Api.LIST_OFFSETS, 1),
                isolation=self.draw.one((0, 1)),
                partition=partition,
                to=to,
            )
        )

    def list_epoch(self) -> None:
        epoch = self.draw.one((0, 4))
        version = self.draw.version(Api.LIST_OFFSETS, 4)
        timestamp = self.draw.one((-1, -2))
        note = f"leader epoch {epoch}"
        self.draw.add(list_offsets(note, TOPIC, timestamp, version=version, leader_epoch=epoch))

    def list_as_replica(self) -> None:
        replica = self.draw.one((-2, 1, 99))
        to = self.draw.one((None, f"follower {TOPIC} 0"))
        note = f"replica id {replica}"
        version = self.draw.version(Api.LIST_OFFSETS, 1)
        self.draw.add(list_offsets(note, TOPIC, -1, replica=replica, version=version, to=to))

    def epoch(self) -> None:
        place, to, partition = self.receiver()
        epoch, current = self.draw.one((0, 0, 1, -1, 7)), self.draw.one((-1, 0, 3))
        self.draw.add(
            epoch_end(
                f"epoch {epoch}, current {current}{place}",
                TOPIC,
                epoch,
                version=self.draw.version(Api.OFFSET_FOR_LEADER_EPOCH),
                current=current,
                partition=partition,
                to=to,
            )
        )

    # ------------------------------------------------------------ deletion

    def delete(self) -> None:
        place, to, partition = self.receiver()
        offset = self.draw.one((-1, -2, 0, 1, 2, 4, 1_000_000))
        self.draw.add(
            delete_records(
                f"before {offset}{place}",
                TOPIC,
                offset,
                version=self.draw.version(Api.DELETE_RECORDS),
                partition=partition,
                to=to,
            ),
            fetch("from 0 after a deletion", TOPIC, 0),
            list_offsets("log start after a deletion", TOPIC, -2),
        )


def fetches(draw: Draw) -> tuple[Topic, ...]:
    it = _Reads(draw)
    it.append()
    draw.repeat(
        24,
        (
            (5, it.append),
            (12, it.fetch),
            (5, it.fetch_some),
            (1, it.fetch_waiting),
            (4, it.fetch_epoch),
            (2, it.fetch_last_epoch),
            (1, it.fetch_session),
            (1, it.fetch_unknown),
        ),
    )
    return (Topic(name=TOPIC),)


def offsets(draw: Draw) -> tuple[Topic, ...]:
    it = _Reads(draw)
    if draw.chance(80):
        it.append()
    draw.repeat(
        24,
        (
            (4, it.append),
            (12, it.list),
            (2, it.list_epoch),
            (2, it.list_as_replica),
            (6, it.epoch),
        ),
    )
    return (Topic(name=TOPIC),)


def deletions(draw: Draw) -> tuple[Topic, ...]:
    it = _Reads(draw)
    it.append()
    draw.repeat(11, ((4, it.append), (6, it.delete), (2, it.fetch), (2, it.list), (1, it.epoch)))
    return (Topic(name=TOPIC, configs=draw.one(({}, {}, {"cleanup.policy": "delete"}))),)
