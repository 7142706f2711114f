"""A late copy of a request to commit offsets takes the place of a newer request of the same
transaction.

1. An application reads a, and sends its result in a transaction. Its TxnOffsetCommit request with
   offset 1 is late. The client sends the request again, and the group coordinator accepts it.
2. The application reads b, and sends its result in the same transaction. The group coordinator
   accepts offset 2.
3. The late request arrives. The group coordinator accepts it, because the transaction is open.
4. The transaction commits, and the committed offset of the group is 1. The next instance of the
   application processes b again.

Source: OffsetMetadataManager.replay; KAFKA-17754 for a late request that ends a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checkers.reproduce.actions import (
    all_of,
    create_topic,
    lift,
    nothing,
    pause_for,
    rules,
    send,
)
from checkers.reproduce.checks import acknowledged, acted, done, is_noted, partition
from checkers.reproduce.committed_offset import has_offset
from checkers.reproduce.pipeline import OUT, Library
from checkers.reproduce.pipeline_actions import (
    await_result,
    begin_command,
    command,
    start_pipeline,
)
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.topics import create, led
from checkers.systems.apache_kafka.settings import replicated
from checkers.systems.proxies.rules import CLIENT, Hold, Match
from checkers.systems.system import Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(brokers=1, proxied=True, settings=replicated(1))
FIRST: Final = Hold(of=Match(sender=CLIENT, api=Api.TXN_OFFSET_COMMIT, count=1))


def steps(library: Library, then: Sequence[Step], *, delayed: bool) -> tuple[Step, ...]:
    """Returns the steps of an application that uses the client library. If `delayed` is true, the
    first request to commit offset 1 is late, and the client sends it again. The steps `then` are
    between the response for offset 1 and the request to commit offset 2.
    """
    first = (
        (
            Step(
                "the request to commit offset 1 is late",
                all_of(rules(late=FIRST), begin_command("offsets")),
                acted("late", 1),
            ),
            Step("the client repeats it, and gets a response", await_result, is_noted("done")),
        )
        if delayed
        else (Step("offset 1 is accepted", command("offsets"), is_noted("done")),)
    )
    return (
        Step(
            "broker 1 leads the topic of the inputs", create_topic(1), partition(leader=1, isr=(1,))
        ),
        Step("broker 1 leads the topic of the results", create(OUT, 1), led(OUT, 1)),
        Step("a, b and c are in the topic", send("a", "b", "c"), acknowledged("a", "b", "c")),
        Step(
            "the application reads a, and sends its result in a transaction",
            all_of(start_pipeline(library), command("process")),
            is_noted("a"),
        ),
        *first,
        *then,
        Step("offset 2 is accepted", command("offsets"), is_noted("done")),
        Step("the late request arrives", all_of(lift("late"), pause_for(2)), done)
        if delayed
        else Step("no late request arrives", pause_for(2), done),
        Step("the transaction of b commits", command("commit"), is_noted("done")),
        Step(
            f"the group's committed offset is {1 if delayed else 2}",
            nothing,
            has_offset(1 if delayed else 2, at=1),
            within_s=20,  # the marker of the transaction follows the response
        ),
        Step("the application stops", command("close"), is_noted("done")),
        Step(
            f"the next instance of the application reads {'b again' if delayed else 'c'}",
            all_of(start_pipeline(library), command("process")),
            is_noted("b" if delayed else "c"),
        ),
    )


IN_SAME_TRANSACTION: Final = (
    Step(
        "it reads b, and sends its result in the same transaction",
        command("process"),
        is_noted("b"),
    ),
)

REPRODUCTION: Final = Reproduction(
    name="late-offset-commit",
    promise=(
        "Always: a pipeline that commits its results and its offsets in one transaction processes"
        " each input once."
    ),
    because=(
        "A request to commit offsets in a transaction has no sequence number, so the group"
        " coordinator takes a late copy for the newest one."
    ),
    case=Case(
        about="the first request to commit offsets is delayed",
        layout=LAYOUT,
        steps=steps("java", IN_SAME_TRANSACTION, delayed=True),
        breaks=True,
    ),
    control=Case(
        about="no request is delayed",
        layout=LAYOUT,
        steps=steps("java", IN_SAME_TRANSACTION, delayed=False),
        breaks=False,
    ),
    since=(4, 0),
    page="late-offset-commit",
)
