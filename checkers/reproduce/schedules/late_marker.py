"""KIP-1228: a commit marker that arrives twice also commits the producer's next transaction.

In transactions of version 2 (KIP-890), the producer epoch increases when a transaction ends. The
marker of the first transaction has the increased epoch. The records of the second transaction have
this epoch, too.

1. The first transaction commits, and its marker is appended to the partition.
2. The second transaction sends b, and stays open.
3. A second copy of the first marker arrives. Up to Kafka 4.1 the partition accepts this copy,
   because its epoch equals the producer's current epoch in the partition. So the partition
   commits b.
4. A reader at read_committed receives b. After that, the second transaction aborts.

Source: KIP-1228; KIP-890; ProducerAppendInfo.checkProducerEpoch.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    create_topic,
    end_transaction,
    read,
    send_in_transaction,
    transaction,
)
from checkers.reproduce.checks import is_noted, partition, was_read
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Layout

LAYOUT: Final = Layout(brokers=1, features={"transaction.version": 2})


def _steps(marker_version: int) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step(
            "a transactional producer gets an epoch",
            transaction(lambda it: it.begin(), version=2),
            is_noted("NONE"),
        ),
        Step("the first transaction sends a", send_in_transaction("a"), is_noted("NONE")),
        Step("the first transaction commits", end_transaction(commit=True), is_noted("NONE")),
        Step("the second transaction sends b", send_in_transaction("b"), is_noted("NONE")),
        Step(
            "the marker of the first transaction arrives again",
            transaction(lambda it: it.marker(commit=True, version=marker_version)),
            is_noted(),
        ),
        Step("a consumer reads the partition", read, was_read),
        Step("the second transaction aborts", end_transaction(commit=False), is_noted()),
    )


REPRODUCTION: Final = Reproduction(
    name="late-marker",
    promise="Always: a reader at read_committed receives no record of an aborted transaction.",
    because=(
        "A partition accepts a marker with the epoch of the transaction that is open, so a repeated"
        " marker ends the next transaction."
    ),
    case=Case(
        about="WriteTxnMarkers v1, as brokers up to 4.1 send it",
        layout=LAYOUT,
        steps=_steps(1),
    ),
    control=Case(
        about="WriteTxnMarkers v2 with KIP-1228", layout=LAYOUT, steps=_steps(2), version="4.3.0"
    ),
    anomalies=("G1a",),
    model=(Instance(spec="transactions-abstract", variant="lax-markers", claim="faithful"),),
    since=(4, 0),
    until=(4, 1),
    shown_on="4.1.0",
)
