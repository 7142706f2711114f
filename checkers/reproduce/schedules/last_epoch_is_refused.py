"""KIP-360: a producer that repeats its request for the last epoch of its producer id gets an error.

A producer id has the epochs 0 to 32766. After an error, a producer with epoch 32765 requests the
next epoch, and the response with epoch 32766 is lost. The producer repeats its request. The
coordinator should detect the retry, but it first finds that all epochs are used, and throws an
IllegalStateException.

Source: KIP-360; TransactionCoordinator.prepareInitProducerIdTransit;
TransactionMetadata.prepareIncrementProducerEpoch.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, transaction, use_epochs
from checkers.reproduce.checks import is_noted, partition
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.system import Layout

LAST: Final = 32_766
LAYOUT: Final = Layout(brokers=1)


def _steps(epoch: int, repeated: str) -> tuple[Step, ...]:
    def request(text: str, answer: str) -> Step:
        return Step(text, transaction(lambda it: it.next_epoch(epoch)), is_noted(answer))

    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step(
            "an instance gets an epoch",
            transaction(lambda it: it.begin()),
            is_noted("NONE"),
        ),
        Step(f"newer instances get the epochs up to {epoch}", use_epochs(epoch), is_noted("NONE")),
        request("the newest instance requests its next epoch", f"NONE, epoch {epoch + 1}"),
        request("the answer is lost: it repeats the request", repeated),
    )


REPRODUCTION: Final = Reproduction(
    name="last-epoch-is-refused",
    promise="Always: an instance that repeats its request for the next epoch gets the same epoch.",
    because=(
        "The coordinator refuses a request once the epochs are used up, before it looks whether the"
        " request is a repeated one."
    ),
    case=Case(
        about="the next epoch is the last one, 32766",
        layout=LAYOUT,
        steps=_steps(LAST - 1, "UNKNOWN_SERVER_ERROR, epoch -1"),
        breaks=True,
    ),
    control=Case(
        about="the next epoch is not the last one",
        layout=LAYOUT,
        steps=_steps(5, "NONE, epoch 6"),
        breaks=False,
    ),
    page="last-epoch-is-refused",
)
