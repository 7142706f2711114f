"""KIP-890: a fenced instance of a producer receives the newest epoch, and can send again.

1. The old instance of a transactional id has an open transaction in producer epoch 0.
2. A newer instance requests a producer id. The coordinator fences the old instance: it aborts the
   transaction in epoch 1. It stores epoch 1 in the same way as after an abort by the client.
3. The old instance requests an abort of its transaction, in epoch 0. The coordinator takes this for
   a retry of an abort that succeeded, and answers with epoch 1.
4. The old instance begins another transaction, in epoch 1.
5. The newer instance repeats its request. It must wait again, because this transaction is open.

Source: KIP-890; KAFKA-19367; TransactionCoordinator.endTransaction;
TransactionMetadata.prepareAbortOrCommit.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, produce, transaction
from checkers.reproduce.checks import is_noted, partition
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Layout


def _fence(version: int) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step(
            "the old instance gets an epoch",
            transaction(lambda it: it.begin(), version=version),
            is_noted("NONE"),
        ),
        *(
            ()
            if version == 2  # the produce request adds the partition
            else (
                Step(
                    "its transaction adds the partition",
                    transaction(lambda it: it.add_partition(), version=version),
                    is_noted("NONE"),
                ),
            )
        ),
        Step("its transaction sends a", produce("a", version=version), is_noted("NONE")),
        Step(
            "a newer instance requests a producer id, which aborts the transaction",
            transaction(lambda it: it.newer_instance(), version=version),
            is_noted("CONCURRENT_TRANSACTIONS"),
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="fenced-instance-returns",
    promise="Always: an instance that a newer instance has fenced receives no other epoch.",
    because=(
        "The coordinator stores the epoch of a fence as it stores the epoch of a transaction's end,"
        " and takes the late request to abort for a retry."
    ),
    case=Case(
        about="transaction.version=2, as in a new cluster",
        layout=Layout(brokers=1, features={"transaction.version": 2}),
        steps=(
            *_fence(2),
            Step(
                "the old instance aborts its transaction, and gets a new epoch",
                transaction(lambda it: it.end(commit=False), version=2),
                is_noted("NONE"),
            ),
            Step(
                "the old instance sends b in a new transaction",
                produce("b", version=2, after_s=1.0),
                is_noted("NONE"),
            ),
            Step(
                "the newer instance repeats its request, and must wait again",
                transaction(lambda it: it.newer_instance(), version=2),
                is_noted("CONCURRENT_TRANSACTIONS"),
            ),
        ),
        breaks=True,
    ),
    control=Case(
        about="transaction.version=1",
        layout=Layout(brokers=1, features={"transaction.version": 1}),
        steps=(
            *_fence(1),
            Step(
                "the request of the old instance to abort is refused",
                transaction(lambda it: it.end(commit=False), version=1),
                is_noted("PRODUCER_FENCED"),
            ),
        ),
        breaks=False,
    ),
    model=(
        Instance(
            spec="transactions", variant="fence-looks-like-an-end", claim="the_fenced_get_no_epoch"
        ),
    ),
    since=(4, 0),  # 4.0.1, by the fix of KAFKA-19367
    page="fenced-instance-returns",
)
