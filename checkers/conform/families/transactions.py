"""Generates requests on transactions: producers, zombies, markers, and reads of the log.

Each sequence is about one transactional id. The transaction protocol has two versions. Each line
below has a version, and the requests with which a client uses this version:

    version 1              AddPartitionsToTxn, Produce up to version 11, TxnOffsetCommit and EndTxn
                           up to version 4
    version 2 (KIP-890)    Produce version 12, TxnOffsetCommit and EndTxn version 5

In version 2, the partition leaders add the partitions to the transaction, and the answer to EndTxn
contains the next producer epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.group_requests import committed
from checkers.conform.requests import (
    READ_COMMITTED,
    add_offsets,
    add_partitions,
    end,
    fetch,
    init,
    list_offsets,
    produce,
    producer,
    txn_commit_offsets,
)
from checkers.conform.steps import Topic, now
from reference_impl.wire.messages.apis import Api

TOPIC: Final = "~t"
ID: Final = "~x"
GROUP: Final = "~g"
NAME: Final = "p"


@dataclass(slots=True)
class _Transactions:
    draw: Draw
    second: bool  # the protocol of KIP-890
    next: tuple[int, int] = (0, 0)  # sequence numbers of both partitions
    added: frozenset[int] = frozenset()
    open: bool = False

    @property
    def end_version(self) -> int:
        return 5 if self.second else self.draw.one((0, 1, 2, 3, 3, 4, 4))

    def init(self, note: str = "init", **options: Any) -> None:
        version = 5 if self.second else self.draw.version(Api.INIT_PRODUCER_ID, 0, 5)
        if "own" in options:
            version = max(version, 3)
        self.draw.add(init(note, NAME, ID, version=version, **options))
        self.ended(restarts=True)

    def ended(self, *, restarts: bool) -> None:
        self.open, self.added = False, frozenset()
        if restarts:
            self.next = (0, 0)

    # ------------------------------------------------------------ the work of a transaction

    def batch(self, partition: int, sequence: int, epoch: int = 0, **cells: Any) -> dict[str, Any]:
        return {
            **producer(NAME, epoch=epoch),
            "base_sequence": sequence,
            "records": 2,
            "value": "t",
            "timestamp": now(),
            "transactional": True,
            **cells,
        }

    def send(self, note: str, partition: int, batch: Any, **options: Any) -> None:
        version = 12 if self.second else self.draw.one((7, 9, 11))
        options = {"version": version, "retries": False, "transaction": ID, **options}
        self.draw.add(produce(note, TOPIC, batch, partition=partition, **options))

    def produce(self) -> None:
        partition = self.draw.one((0, 0, 1))
        if not self.second and partition not in self.added:
            self.add(partition)
        self.send(
            "in sequence", partition, self.batch(partition, self.next[partition]), retries=True
        )
        moved = list(self.next)
        moved[partition] += 2
        self.next = (moved[0], moved[1])
        self.open, self.added = True, self.added | {partition}

    def add(self, partition: int) -> None:
        version = self.draw.version(Api.ADD_PARTITIONS_TO_TXN, 0, 3)
        self.draw.add(
            add_partitions(
                "add partition", ID, TOPIC, NAME, version=version, partitions=(partition,)
            )
        )
        self.open, self.added = True, self.added | {partition}

    def commit_offsets(self) -> None:
        if not self.second:
            version = self.draw.version(Api.ADD_OFFSETS_TO_TXN)
            self.draw.add(add_offsets("add group", ID, GROUP, NAME, version=version))
        version = 5 if self.second else self.draw.version(Api.TXN_OFFSET_COMMIT, 0, 4)
        offset = self.draw.random.randrange(10)
        self.draw.add(
            txn_commit_offsets("commit offset", ID, GROUP, TOPIC, NAME, offset, version=version)
        )
        self.open = True

    def end(self) -> None:
        commit = self.draw.chance(55)
        note = f"{'commit' if commit else 'abort'}{'' if self.open else ', nothing open'}"
        version = self.end_version
        binds = NAME if version == 5 else None
        self.draw.add(end(note, ID, NAME, commit=commit, version=version, binds=binds))
        if self.draw.chance(35):
            same = self.draw.chance(50)
            again = commit if same else not commit
            note = f"end again, {'same' if same else 'other'} result"
            producer_name = f"{NAME} before" if version == 5 else NAME
            self.draw.add(end(note, ID, producer_name, commit=again, version=version))
        if self.open or (self.second and not commit):
            self.ended(restarts=self.second)

    # ------------------------------------------------------------ requests to refuse

    def not_added(self) -> None:
        if not self.second and 1 not in self.added and not self.next[1]:
            self.send("partition was not added", 1, self.batch(1, 0))

    def await_markers(self) -> None:
        """Adds an AddPartitionsToTxn request that only verifies a partition. The request is
        repeated until the markers of the previous transaction are written.
        """
        note = "verify until the markers are written"
        self.draw.add(add_partitions(note, ID, TOPIC, NAME, version=4, verify_only=True))

    def stale_epoch(self) -> None:
        self.await_markers()  # until then a leader accepts the former epoch
        partition = self.draw.one((0, 1))
        self.send("stale epoch", partition, self.batch(partition, 0, epoch=-1))

    def gap(self) -> None:
        if self.next[0] and self.open and 0 in self.added:
            self.send("sequence gap", 0, self.batch(0, self.next[0] + 5))

    def plain_batch(self) -> None:
        if self.next[0] and self.open and 0 in self.added:
            batch = self.batch(0, self.next[0], transactional=False)
            self.send("non-transactional batch of the producer", 0, batch, transaction=None)

    def wrong_end(self) -> None:
        note, options = self.draw.case(
            ("end, stale epoch", {"epoch": -1}),
            ("end, future epoch", {"epoch": 1}),
            ("end, other producer id", {"producer_id": 1_000_003}),
            ("end, wrong coordinator", {"to": f"not-transaction {ID}", "retries": False}),
        )
        commit = self.draw.chance(50)
        version = self.end_version
        self.draw.add(end(note, ID, NAME, commit=commit, version=version, **options))

    def wrong_add(self) -> None:
        note, options = self.draw.case(
            ("add partition, stale epoch", {"epoch": -1}),
            ("add partition, future epoch", {"epoch": 1}),
            ("add partition, other producer id", {"producer_id": 1_000_003}),
            ("add unknown topic", {"topic": "~nowhere"}),
            ("add unknown partition", {"partitions": (9,)}),
        )
        version = self.draw.version(Api.ADD_PARTITIONS_TO_TXN, 0, 3)
        topic = options.pop("topic", TOPIC)
        self.draw.add(add_partitions(note, ID, topic, NAME, version=version, **options))

    def add_nothing(self) -> None:
        """Adds three requests. The first one only verifies a partition. The second one, an
        AddPartitionsToTxn request that names no partitions, begins a transaction. The third one
        commits it.

        The first request is repeated until the markers of the previous transaction are written.
        """
        version = self.draw.version(Api.ADD_PARTITIONS_TO_TXN, 0, 3)
        binds = NAME if self.end_version == 5 else None
        self.draw.add(
            add_partitions(
                "verify before adding nothing", ID, TOPIC, NAME, version=4, verify_only=True
            ),
            add_partitions("add nothing", ID, TOPIC, NAME, version=version, partitions=()),
            end(
                "commit after adding nothing",
                ID,
                NAME,
                commit=True,
                version=5 if binds else 4,
                binds=binds,
            ),
        )
        self.ended(restarts=self.second)

    def verify(self) -> None:
        version = self.draw.version(Api.ADD_PARTITIONS_TO_TXN, 4, 5)
        note = "verify partition"
        self.draw.add(add_partitions(note, ID, TOPIC, NAME, version=version, verify_only=True))

    def wrong_offsets(self) -> None:
        note, options = self.draw.case(
            ("commit offset, stale epoch", {"epoch": -1}),
            ("commit offset, unknown member", {"generation": 4, "member": "~nobody"}),
        )
        self.await_markers()  # until then the group's partition may be in the former transaction
        least = 3 if "generation" in options else 0
        version = 5 if self.second else self.draw.version(Api.TXN_OFFSET_COMMIT, least, 4)
        self.draw.add(
            txn_commit_offsets(
                note, ID, GROUP, TOPIC, NAME, 3, version=version, retries=False, **options
            )
        )
        self.open = self.open or self.second

    def wrong_init(self) -> None:
        note, options = self.draw.case(
            ("init, future epoch", {"own": producer(NAME, epoch=2)}),
            ("init, other producer id", {"own": producer(NAME, producer_id=1_000_003)}),
            ("init, timeout of 12 days", {"timeout_ms": 10**9}),
            ("init, timeout 0", {"timeout_ms": 0}),
            ("init, wrong coordinator", {"to": f"not-transaction {ID}", "retries": False}),
        )
        version = self.draw.version(Api.INIT_PRODUCER_ID, 3, 5)
        self.draw.add(init(note, "unused", ID, version=version, **options))

    def restart(self) -> None:
        self.init("init of a new instance")

    def bump(self) -> None:
        self.init("init with its own id and epoch", own=producer(NAME))

    # ------------------------------------------------------------ reads

    def read(self) -> None:
        partition = self.draw.one((0, 0, 1))
        self.draw.add(
            fetch("read committed", TOPIC, 0, isolation=READ_COMMITTED, partition=partition),
            list_offsets(
                "last stable offset", TOPIC, -1, isolation=READ_COMMITTED, partition=partition
            ),
            fetch("read uncommitted", TOPIC, 0, partition=partition),
        )

    def read_offsets(self) -> None:
        version = self.draw.version(Api.OFFSET_FETCH, 5, 9)
        stable = version >= 7 and self.draw.chance(50)
        self.draw.add(committed("offsets", GROUP, TOPIC, version=version, stable=stable))


def transactions(draw: Draw) -> tuple[Topic, ...]:
    it = _Transactions(draw, second=draw.chance(55))
    it.init()
    draw.repeat(
        20,
        (
            (30, it.produce),
            (18, it.end),
            (3, it.not_added),
            (3, it.stale_epoch),
            (2, it.gap),
            (2, it.plain_batch),
            (5, it.wrong_end),
            (5, it.wrong_add),
            (1, it.add_nothing),
            (2, it.verify),
            (4, it.wrong_offsets),
            (3, it.wrong_init),
            (4, it.restart),
            (4, it.bump),
            (6, it.commit_offsets),
            (5, it.read_offsets),
            (6, it.read),
        ),
    )
    it.read()
    it.read_offsets()
    return (Topic(name=TOPIC, partitions=2),)
