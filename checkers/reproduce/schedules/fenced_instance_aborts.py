"""KIP-360: a fenced instance of a producer aborts the transaction of the newer instance.

1. The old instance of a transactional id gets producer epoch 0.
2. A newer instance gets epoch 1, which fences the old instance. It sends a record in a transaction.
3. The old instance requests its next epoch, with its producer id and epoch 0, as clients do to
   continue after an error. The coordinator compares the producer id, but not the epoch. It raises
   the epoch, aborts the transaction, and answers that the old instance must repeat its request.
4. The old instance repeats its request. Now the coordinator compares the epoch, and refuses it.
5. The newer instance commits its transaction, and is refused.

The control has step 3 before the transaction of step 2. Then the old instance is refused, and the
newer instance commits. All requests are those of transaction version 1: Java clients of version 2
do not request the next epoch.

Source: KIP-360; TransactionCoordinator.prepareInitProducerIdTransit;
TransactionMetadata.prepareFenceProducerEpoch.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, produce, transaction
from checkers.reproduce.checks import is_noted, partition
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.transactions import BUSY_FOR_S
from checkers.systems.system import Layout

LAYOUT: Final = Layout(brokers=1)
OLD_EPOCH: Final = 0  # the first epoch of a producer id

_START: Final = (
    Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
    Step("the old instance gets an epoch", transaction(lambda it: it.begin()), is_noted("NONE")),
    Step(
        "a newer instance gets the next epoch, which fences the old instance",
        transaction(lambda it: it.begin()),
        is_noted("NONE"),
    ),
)
_TRANSACTION: Final = (
    Step(
        "the newer instance adds the partition to its transaction",
        transaction(lambda it: it.add_partition()),
        is_noted("NONE"),
    ),
    Step(
        "the newer instance sends a",
        produce("a"),
        is_noted("NONE"),
    ),
)


def _commit(answer: str, text: str) -> Step:
    return Step(text, transaction(lambda it: it.end(commit=True)), is_noted(answer))


def _old_instance(answer: str, text: str, busy_for_s: float = 0.0) -> Step:
    request = transaction(lambda it: it.next_epoch(OLD_EPOCH, busy_for_s=busy_for_s))
    return Step(text, request, is_noted(f"{answer}, epoch -1"))


REPRODUCTION: Final = Reproduction(
    name="fenced-instance-aborts",
    promise=(
        "Always: an instance that a newer instance has fenced cannot end a transaction of the newer"
        " instance."
    ),
    because=(
        "If a transaction is open, the coordinator aborts it before it compares the epoch of the"
        " request with its own."
    ),
    case=Case(
        about="the old instance requests its next epoch during the transaction",
        layout=LAYOUT,
        steps=(
            *_START,
            *_TRANSACTION,
            _old_instance(
                "CONCURRENT_TRANSACTIONS",
                "the old instance requests its next epoch, and must wait",
            ),
            _old_instance(
                "PRODUCER_FENCED",
                "the old instance repeats its request, and is refused",
                busy_for_s=BUSY_FOR_S,
            ),
            _commit(
                "PRODUCER_FENCED", "the newer instance commits its transaction, and is refused"
            ),
        ),
        breaks=True,
    ),
    control=Case(
        about="the old instance requests its next epoch before the transaction",
        layout=LAYOUT,
        steps=(
            *_START,
            _old_instance(
                "PRODUCER_FENCED",
                "the old instance requests its next epoch, and is refused",
            ),
            *_TRANSACTION,
            _commit("NONE", "the newer instance commits its transaction"),
        ),
        breaks=False,
    ),
    page="fenced-instance-aborts",
)
