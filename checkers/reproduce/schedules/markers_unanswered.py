"""A broker never answers a request with two transaction markers, although it has handled both.

A coordinator sends the markers of several transactions in one request. The broker counts the
markers that are not handled yet, and answers when the count is 0. It decrements the count without
an answer for a marker whose partitions it does not have. If this marker is the last one to be
handled, no later marker sends the answer. The coordinator waits for its request timeout of 30 s,
and sends no other marker to this broker meanwhile.

Source: KafkaApis.handleWriteTxnMarkersRequest; KAFKA-17877 for the other direction, an answer that
comes too early.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, nothing, produce, transaction
from checkers.reproduce.checks import is_noted, log_has, partition
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.transactions import NO_ANSWER
from checkers.systems.system import Layout

LAYOUT: Final = Layout(brokers=1)


def _steps(*, unknown_first: bool, answer: str) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step("a producer gets an epoch", transaction(lambda it: it.begin()), is_noted("NONE")),
        Step(
            "its transaction adds the partition",
            transaction(lambda it: it.add_partition()),
            is_noted("NONE"),
        ),
        Step(
            "its transaction sends a",
            produce("a"),
            is_noted("NONE"),
        ),
        Step("the log has a", nothing, log_has(1, 1)),
        Step(
            "one request has its marker and a marker for a partition that the broker does not have",
            transaction(lambda it: it.two_markers(unknown_first=unknown_first)),
            is_noted(answer),
        ),
        Step(f"its marker is in the log ({answer})", nothing, log_has(2, 1)),
    )


REPRODUCTION: Final = Reproduction(
    name="markers-unanswered",
    promise="Always: a broker answers a request with transaction markers.",
    because=(
        "A marker without a partition on the broker takes the last count of the request, and only a"
        " marker that is appended looks whether the count is 0."
    ),
    case=Case(
        about="the partition that the broker does not have comes last",
        layout=LAYOUT,
        steps=_steps(unknown_first=False, answer=NO_ANSWER),
        breaks=True,
    ),
    control=Case(
        about="the partition that the broker does not have comes first",
        layout=LAYOUT,
        steps=_steps(unknown_first=True, answer="NONE, UNKNOWN_TOPIC_OR_PARTITION"),
        breaks=False,
    ),
    page="markers-unanswered",
)
