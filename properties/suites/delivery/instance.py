"""One process of a consumer application, with a consumer, producers and databases.

The process can be interrupted only at a `yield`. The suite may kill or pause the process at each
call of `step()`. A paused process does not notice that its consumer group removes it, and continues
later as a zombie.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Final

from model.vocabulary import Offset, TopicPartition
from properties.claims.delivery import Rewind
from properties.suites.delivery.stores import store
from properties.suites.delivery.stores.store import Store
from reference_impl.protocol.requests import Response
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION
from reference_impl.simulation.programs import Application, Call, Pause, Program
from reference_impl.simulation.subscription import OffsetReset, Subscription
from reference_impl.simulation.transactional_producer import TransactionalProducer

GROUP: Final = "billing"
OUTPUT: Final = TopicPartition("invoices", 0)
STEP_MS: Final = 2
HELD_MS: Final = 20
TRANSACTION_MS: Final = 400  # transaction.timeout.ms
AUTO_COMMIT_MS: Final = 50  # auto.commit.interval.ms, a hundredth of Kafka's

Steps = Generator[Call | Pause, Response | None, None]
ProgramFactory = Callable[["Instance"], Program]


@dataclass(slots=True, kw_only=True)
class Instance:
    """One process of an application. Its two databases survive the death of the process."""

    app: Application
    database: Store
    elsewhere: Store  # a second database, for positions that are not stored with the output
    brokers: BrokerClient = field(init=False)
    consumer: Subscription = field(init=False)
    steps: int = 0
    is_held: bool = False
    waiting: list[str] = field(default_factory=list[str])  # polled, and not yet processed
    rewind_to: Offset | None = None
    rewinds: list[Rewind] = field(default_factory=list[Rewind])

    def __post_init__(self) -> None:
        self.brokers = BrokerClient(app=self.app)
        self.consumer = self.subscribed()

    def subscribed(self, offset_reset: OffsetReset = "earliest") -> Subscription:
        self.consumer = Subscription(
            app=self.app,
            brokers=self.brokers,
            group=GROUP,
            topic=TOPIC_PARTITION.topic,
            offset_reset=offset_reset,
        )
        return self.consumer

    def producer(self, transactional_id: str | None = None) -> TransactionalProducer:
        """Returns a transactional producer. If `transactional_id` is None, each process has its
        own transactional id.
        """
        return TransactionalProducer(
            app=self.app,
            brokers=self.brokers,
            transactional_id=transactional_id or f"billing-{self.app.client_id}",
            timeout_ms=TRANSACTION_MS,
        )

    def step(self) -> Steps:
        """Marks a place at which the suite may kill or pause the application, and then sends a
        heartbeat if it is due.
        """
        self.steps += 1
        yield Pause(STEP_MS)
        while self.is_held:
            yield Pause(HELD_MS)
        yield from self.consumer.member.heartbeat()

    def seek_to_stored(self, database: Store) -> None:
        for place in self.consumer.positions:
            self.consumer.seek(place, Offset(store.position(database, str(place))))

    def store_positions(self, database: Store) -> None:
        for place, offset in self.consumer.positions.items():
            store.set_position(database, str(place), offset)
