"""A committed record is lost, because its topic was deleted and created again under its name.

A transaction identifies its partitions by name. The broker of the coordinator learns later than the
leader that a topic was deleted and created again.

1. Broker 2 coordinates, and still knows the old topic. So it adds the partition to the transaction
   by its name, and broker 1 appends a record to the new topic.
2. Broker 2 learns that the topic was deleted, but not yet that it was created again.
3. The transaction commits. Broker 2 finds no leader of the partition, and sends no marker. The
   transaction is complete, but it is still open in the partition's log.
4. The next transaction of the producer aborts. Its marker ends both transactions, so every reader
   at read_committed skips the committed record.

Source: KAFKA-5202; KafkaApis.handleAddPartitionsToTxnRequest;
TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    begin,
    coordinate_at,
    create_topic,
    delete_topic,
    lift,
    nothing,
    pause_for,
    rules,
)
from checkers.reproduce.checks import acted, coordinates, deleted, log_has, partition
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.reproduce.unmarked_transactions import COMMITTED, Unmarked
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.apache_kafka.settings import replicated
from checkers.systems.proxies.rules import Hold, Match
from checkers.systems.system import Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(
    brokers=2,
    proxied=True,
    settings={
        **replicated(1),
        # broker 2 waits for late metadata, instead of asking the controller again
        "controller.quorum.request.timeout.ms": "60000",
        "controller.quorum.fetch.timeout.ms": "60000",
    },
)


def _metadata_fetch(first: int, count: int | None) -> Match:
    return Match(sender=2, receiver=CONTROLLER, api=Api.FETCH, first=first, count=count)


DELETED: Final = (
    Step(
        "broker 1 leads the topic, which has a replica on broker 2",
        create_topic(1, 2),
        partition(leader=1, isr=(1, 2), at=2),
    ),
    Step("broker 2 coordinates the transactions", coordinate_at(2), coordinates(2)),
    Step(
        "the next fetch of metadata by broker 2 is late",
        rules(
            answer=Hold(of=_metadata_fetch(1, 1), part="response"),
            later=Hold(of=_metadata_fetch(2, None), part="request"),
            fetch=Hold(of=_metadata_fetch(1, 1), part="request"),
        ),
        acted("fetch", 1),
    ),
    Step("the topic is deleted", delete_topic, deleted(at=1)),
    Step(
        "the controller answers broker 2, and the answer is late",
        lift("fetch"),
        acted("answer", 1),
    ),
    Step(
        "the topic is created again, and broker 1 leads it",
        create_topic(1),
        partition(leader=1, replicas=(1,), at=1),
    ),
    Step(
        "a transaction appends a: broker 2 still knows the old topic",
        all_of(begin("a"), pause_for(1)),
        partition(leader=1, replicas=(1, 2), at=2),
    ),
    Step("broker 1 has a in the new topic", nothing, log_has(1, 1)),
    Step("broker 2 learns that the topic was deleted", lift("answer"), deleted(at=2)),
)
LEARNS: Final = Step(
    "broker 2 learns that the topic was created again",
    lift("later"),
    partition(leader=1, replicas=(1,), at=2),
)


def reproduction(name: str, unmarked: Unmarked) -> Reproduction:
    """Returns a reproduction in which the transaction ends before broker 2 learns of the new topic.
    In the control experiment, broker 2 learns of the new topic first.
    """
    return Reproduction(
        name=name,
        promise=unmarked.promise,
        because=(
            "The coordinator confirms a partition by the name of a deleted topic, and then sends no"
            " marker to the new topic of this name, which it does not know yet."
        ),
        case=Case(
            about="broker 2 learns of the new topic after the end of the transaction",
            layout=LAYOUT,
            steps=(*DELETED, unmarked.end, LEARNS, *unmarked.later),
        ),
        control=Case(
            about="broker 2 learns of the new topic before the end of the transaction",
            layout=LAYOUT,
            steps=(*DELETED, LEARNS, unmarked.end, *unmarked.later),
        ),
        anomalies=(unmarked.anomaly,),
        model=(
            Instance(
                spec="transactions", variant="confirms-by-name", claim="no_hanging_transaction"
            ),
        ),
        since=(3, 9),
        page="recreated-topic",
    )


REPRODUCTION: Final = reproduction("recreated-topic", COMMITTED)
