"""KAFKA-17754: a delayed request to end a transaction ends the next transaction.

The first request to commit is delayed in the network. The client repeats the request, the
transaction commits, and a second transaction begins. After that, the delayed request arrives and
commits the second transaction. The application aborts the second transaction, but readers have
already received its record.

Source: KAFKA-17754; KIP-890.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    abort,
    all_of,
    begin,
    begin_commit,
    create_topic,
    lift,
    nothing,
    pause_for,
    read,
    rules,
)
from checkers.reproduce.checks import acted, committed, done, is_ended, partition, was_read
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.proxies.rules import CLIENT, Hold, Match
from checkers.systems.system import Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(brokers=1, proxied=True)
FIRST_END: Final = Hold(of=Match(sender=CLIENT, api=Api.END_TXN, count=1))


def _steps(*, delayed: bool) -> tuple[Step, ...]:
    commit = (
        Step(
            "the request to commit the first transaction is late",
            all_of(rules(late=FIRST_END), begin_commit),
            acted("late", 1),
        )
        if delayed
        else Step("the first transaction commits", begin_commit, committed, within_s=60)
    )
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step("the first transaction sends a", begin("a"), done),
        commit,
        Step("the client knows that it is committed", nothing, committed, within_s=60),
        Step("the second transaction sends b", begin("b"), done),
        Step("the late request arrives", all_of(lift("late"), pause_for(2)), done)
        if delayed
        else Step("no late request arrives", pause_for(2), done),
        Step("a consumer reads the partition", read, was_read),
        Step("the application aborts the second transaction", abort, is_ended),
    )


REPRODUCTION: Final = Reproduction(
    name="delayed-end",
    promise="Always: a reader at read_committed receives no record of an aborted transaction.",
    because=(
        "A request to end a transaction does not name the transaction, so a late copy ends the"
        " next one. The protocol of KIP-890 names it by its epoch, if the client uses it."
    ),
    case=Case(
        about="the first request to commit is delayed; librdkafka",
        layout=LAYOUT,
        steps=_steps(delayed=True),
    ),
    control=Case(
        about="no request is delayed; librdkafka", layout=LAYOUT, steps=_steps(delayed=False)
    ),
    anomalies=("G1a",),
    model=(
        Instance(
            spec="transactions",
            variant="verification",
            settings=(
                "coordinator_failures=0",
                "leader_changes=0",
                "replication_lags=false",
                "records_late=false",
                "ends_late=true",
                "markers_late=false",
                "ids_expire=false",
            ),
            claim="the_client_decides",
        ),
    ),
    page="delayed-end",
)
