"""Generates Produce requests with valid and invalid batches, and requests that read the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from checkers.conform.batches import DAMAGES
from checkers.conform.families.draw import Draw
from checkers.conform.requests import fetch, init, list_offsets, produce, producer
from checkers.conform.steps import Send, Topic, now
from reference_impl.wire.messages.apis import Api

TOPIC: Final = "~t"
CONFIGS: Final[tuple[dict[str, str], ...]] = (
    {},
    {},
    {},
    {"cleanup.policy": "compact"},
    {"min.insync.replicas": "3"},
    {"min.insync.replicas": "1"},
)
LAST_SEQUENCE: Final = 2**31 - 1
HOUR_MS: Final = 3_600_000


@dataclass(slots=True)
class _Producer:
    name: str
    next: int = 0
    epoch: int = 0
    sent: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


@dataclass(slots=True)
class _Appends:
    draw: Draw
    key: str | None
    producers: list[_Producer] = field(default_factory=list[_Producer])

    def version(self, *, first: int = 3) -> int:
        return self.draw.version(Api.PRODUCE, first)

    def plain(self, **cells: Any) -> dict[str, Any]:
        records = self.draw.random.randint(1, 4)
        return {"records": records, "timestamp": now(), "key": self.key, **cells}

    def send(self, note: str, *described: Any, **options: Any) -> None:
        self.draw.add(produce(note, TOPIC, *described, version=self.version(), **options))

    # ------------------------------------------------------------ idempotent producers

    def new_producer(self) -> None:
        made = _Producer(f"p{len(self.producers)}")
        version = self.draw.version(Api.INIT_PRODUCER_ID, 0, 5)
        self.draw.add(init("idempotent producer", made.name, version=version))
        self.producers.append(made)

    def known(self) -> _Producer:
        if not self.producers:
            self.new_producer()
        return self.draw.one(self.producers)

    def of(self, one: _Producer, sequence: int, records: int, epoch: int = 0) -> dict[str, Any]:
        return {
            **producer(one.name, epoch=one.epoch + epoch),
            "base_sequence": sequence,
            "records": records,
            "timestamp": now(),
            "key": self.key,
        }

    def in_sequence(self) -> None:
        one, records = self.known(), self.draw.random.randint(1, 4)
        self.send("next sequence", self.of(one, one.next, records))
        one.sent.append((one.next, records))
        one.next += records

    def duplicate(self) -> None:
        one = self.known()
        if one.sent:
            sequence, records = self.draw.one(one.sent[-5:])
            self.send("duplicate of a recent batch", self.of(one, sequence, records))

    def old_duplicate(self) -> None:
        one = self.known()
        if len(one.sent) > 5:
            self.send("duplicate of an old batch", self.of(one, *one.sent[0]))

    def gap(self) -> None:
        one = self.known()
        if one.next:
            self.send("sequence gap", self.of(one, one.next + 3, 1))

    def overlap(self) -> None:
        one = self.known()
        if one.sent and one.sent[-1][1] > 1:
            self.send("sequence overlap", self.of(one, one.sent[-1][0] + 1, 4))

    def first_sequence(self) -> None:
        one = _Producer(f"p{len(self.producers)}")
        self.draw.add(init("idempotent producer", one.name))
        self.producers.append(one)
        self.send("first sequence is 7", self.of(one, 7, 2))
        one.next = 9

    def higher_epoch(self) -> None:
        one = self.known()
        sequence = self.draw.one((0, 0, 5))
        self.send(f"higher epoch, sequence {sequence}", self.of(one, sequence, 1, 1))
        if not sequence:
            one.epoch, one.next, one.sent = one.epoch + 1, 1, [(0, 1)]

    def lower_epoch(self) -> None:
        one = self.known()
        if one.epoch:
            sequence = self.draw.one((0, one.next))
            self.send("lower epoch", self.of(one, sequence, 1, -1))

    def wrapped(self) -> None:
        one = _Producer(f"p{len(self.producers)}", next=LAST_SEQUENCE - 1)
        self.draw.add(init("idempotent producer", one.name))
        self.send("first sequence near the largest", self.of(one, one.next, 4))
        self.send("sequence after the wrap", self.of(one, 2, 1))

    # ------------------------------------------------------------ all batches

    def valid(self) -> None:
        codec = self.draw.one(("none", "none", "gzip", "lz4", "zstd", "snappy"))
        older = self.draw.one((0, 0, -5_000, 3_000))
        acks = self.draw.one((-1, -1, 1))
        cells = {"compression": codec, "timestamp": now(older)}
        self.send(f"valid batch, {codec}", self.plain(**cells), acks=acks)

    def damaged(self) -> None:
        damage = self.draw.one(tuple(DAMAGES))
        codec = self.draw.one(("none", "none", "zstd"))
        note = damage if codec == "none" else f"{damage}, {codec}"
        self.send(note, self.plain(damage=damage, compression=codec))

    def unusual(self) -> None:
        note, described = self.draw.case(
            ("no batch", ({"records": 0},)),
            ("two batches", (self.plain(), self.plain())),
            ("time in two hours", (self.plain(timestamp=now(2 * HOUR_MS)),)),
            ("time of a year ago", (self.plain(timestamp=now(-9_000 * HOUR_MS)),)),
            ("record of 1.2 MB", ({**self.plain(), "records": 1, "pad": 1_200_000},)),
            ("no key", (self.plain(key=None),)),
            ("transactional bit alone", (self.plain(transactional=True),)),
        )
        self.send(note, *described)

    def unknown_producer(self) -> None:
        number = self.draw.random.randrange(500_000_000, 900_000_000)
        sequence = self.draw.one((0, 7, -1))
        cells = {"producer_id": number, "producer_epoch": 0, "base_sequence": sequence}
        self.send(f"unknown producer id, sequence {sequence}", self.plain(**cells))

    def acks(self) -> None:
        self.send("acks=2", self.plain(), acks=2)

    def unacknowledged(self) -> None:
        note, cells = self.draw.case(
            ("acks=0", {}),
            ("acks=0, wrong checksum", {"damage": "wrong checksum"}),
            ("acks=0, to a follower", {}),
        )
        place = f"{'follower' if 'follower' in note else 'leader'} {TOPIC} 0"
        self.send(note, self.plain(**cells), acks=0, to=place)
        after = Send(
            api=Api.API_VERSIONS, version=0, body={}, to=place, note=f"after {note}", retries=False
        )
        self.draw.add(after)

    def misdirected(self) -> None:
        note, options = self.draw.case(
            ("to a follower", {"to": f"follower {TOPIC} 0"}),
            ("unknown partition", {"partition": 9}),
        )
        self.send(note, self.plain(), **options)

    def unknown_topic(self) -> None:
        described, to = self.plain(), f"leader {TOPIC} 0"
        self.draw.add(
            produce("unknown topic", "~nowhere", described, version=self.version(), to=to)
        )

    def read(self) -> None:
        version = self.draw.version(Api.FETCH, 4)
        self.draw.add(fetch("what was appended", TOPIC, 0, version=version))
        self.draw.add(list_offsets("end of the log", TOPIC, -1))


def appends(draw: Draw) -> tuple[Topic, ...]:
    configs = draw.one(CONFIGS)
    it = _Appends(draw, key="k" if "cleanup.policy" in configs else None)
    draw.repeat(
        22,
        (
            (3, it.new_producer),
            (24, it.in_sequence),
            (6, it.duplicate),
            (2, it.old_duplicate),
            (4, it.gap),
            (2, it.overlap),
            (3, it.first_sequence),
            (4, it.higher_epoch),
            (3, it.lower_epoch),
            (1, it.wrapped),
            (12, it.valid),
            (9, it.damaged),
            (6, it.unusual),
            (3, it.unknown_producer),
            (1, it.acks),
            (4, it.unacknowledged),
            (3, it.misdirected),
            (2, it.unknown_topic),
            (12, it.read),
        ),
    )
    it.read()
    return (Topic(name=TOPIC, configs=configs),)
