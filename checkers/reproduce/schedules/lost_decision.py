"""A new transaction coordinator acts on a decision that is not replicated, and the next coordinator
does not have the decision.

1. Broker 1 coordinates the transactions. Broker 3 is in the ISR of `__transaction_state`, but
   copies no more. An application requests a commit. Brokers 1 and 2 have PREPARE_COMMIT. Broker 1
   does not answer, because broker 3 does not have it.
2. Broker 2 is elected. It reads its log to the end, and sends the COMMIT markers of the
   transaction. The marker in the topic of the results arrives, and the marker in
   `__consumer_offsets` is late.
3. Broker 2 dies. Broker 3 is elected cleanly, without PREPARE_COMMIT.
4. The application starts again, and broker 3 aborts the open transaction. So the results are
   committed, and the offsets are aborted. The application processes its input again.

Source: TransactionStateManager.loadTransactionMetadata.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    TRANSACTION_STATE,
    all_of,
    create_topic,
    lift,
    nothing,
    pause_for,
    rules,
    send,
    to,
)
from checkers.reproduce.checks import acknowledged, acted, done, is_noted, partition
from checkers.reproduce.pipeline import OUT
from checkers.reproduce.pipeline_actions import (
    begin_command,
    command,
    kill_pipeline,
    read_results,
    start_pipeline,
)
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.reproduce.topics import (
    CONSUMER_OFFSETS,
    create,
    elect,
    has_marker,
    led,
    reorder,
    stored_states,
)
from checkers.systems.proxies.rules import Hold, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(
    brokers=3,
    proxied=True,
    settings={
        "replica.lag.time.max.ms": "60000",  # no replica leaves the ISR because it is slow
        "transaction.state.log.num.partitions": "1",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
    },
)
FROM_1: Final = Hold(of=Match(sender=3, receiver=1, api=Api.FETCH), part="request")
FROM_2: Final = Hold(of=Match(sender=3, receiver=2, api=Api.FETCH), part="request")
MARKERS: Final = Hold(of=Match(sender=2, receiver=1, api=Api.WRITE_TXN_MARKERS), part="request")


def _steps(*, copied: bool) -> tuple[Step, ...]:
    prepared = {1: "PREPARE_COMMIT", 2: "PREPARE_COMMIT"}
    return (
        Step(
            "broker 1 coordinates the transactions, and all brokers are in the ISR",
            create(TRANSACTION_STATE, 1, 2, 3, min_insync_replicas="2", cleanup_policy="compact"),
            led(TRANSACTION_STATE, 1, isr=(1, 2, 3)),
        ),
        Step(
            "broker 2 becomes the preferred coordinator",
            reorder(TRANSACTION_STATE, 2, 3, 1),
            led(TRANSACTION_STATE, 1, isr=(1, 2, 3), preferred=2),
        ),
        Step(
            "broker 1 stores the committed offsets",
            create(CONSUMER_OFFSETS, 1, cleanup_policy="compact"),
            led(CONSUMER_OFFSETS, 1),
        ),
        Step("broker 3 leads the topic of the results", create(OUT, 3), led(OUT, 3)),
        Step("broker 1 leads the topic of the inputs", create_topic(1), partition(leader=1)),
        Step("a and b are in the topic", send("a", "b"), acknowledged("a", "b")),
        Step(
            "the application reads a, and sends its result in a transaction",
            all_of(start_pipeline("librdkafka"), command("process")),
            is_noted("a"),
        ),
        Step("it sends its offset in the transaction", command("offsets"), is_noted("done")),
        Step(
            "all brokers have the open transaction",
            nothing,
            stored_states(dict.fromkeys((1, 2, 3), "ONGOING")),
        ),
        Step(
            "broker 3 copies no more",
            all_of(rules(three=FROM_1), pause_for(2)),  # requests that wait are answered
            done,
        ),
        Step(
            "the application requests the commit, and broker 2 copies the decision",
            begin_command("commit"),
            stored_states({**prepared, 3: "ONGOING"}),
        ),
        Step("the application is killed", kill_pipeline, done),
        *(
            (
                Step(
                    "broker 3 copies the decision",
                    lift("three"),
                    stored_states({3: "COMPLETE_COMMIT"}),
                ),
            )
            if copied
            else ()
        ),
        Step(
            "broker 2 is elected",
            all_of(rules(fetches=FROM_2, late=MARKERS), elect(TRANSACTION_STATE, 2)),
            led(TRANSACTION_STATE, 2, isr=(1, 2, 3)),
        ),
        *(
            ()
            if copied
            else (
                Step(
                    "it sends the COMMIT markers, of which one is late",
                    nothing,
                    acted("late", 1),
                ),
            )
        ),
        Step("the results have a marker", nothing, has_marker(OUT, 3)),
        Step(
            "broker 2 is killed: broker 3 is elected",
            to(Ability.KILL, 2),
            led(TRANSACTION_STATE, 3, isr=(1, 3)),
        ),
        Step(
            f"the next instance of the application reads {'b' if copied else 'a again'}",
            all_of(start_pipeline("librdkafka"), command("process")),
            is_noted("b" if copied else "a"),
        ),
        Step("it sends its offset", command("offsets"), is_noted("done")),
        Step("its transaction commits", command("commit"), is_noted("done")),
        Step(
            f"a consumer at read_committed reads the results {'a and b' if copied else 'a and a'}",
            all_of(pause_for(2), read_results),  # a marker follows the response
            is_noted("a b" if copied else "a a"),
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="lost-decision",
    promise=(
        "Always: the results and the offsets of one transaction are committed together, or aborted"
        " together."
    ),
    because=(
        "A new transaction coordinator acts on records of its log that are not replicated, and the"
        " next coordinator may not have them."
    ),
    case=Case(
        about="broker 3 does not copy the decision",
        layout=LAYOUT,
        steps=_steps(copied=False),
        breaks=True,
    ),
    control=Case(
        about="broker 3 copies the decision before the election",
        layout=LAYOUT,
        steps=_steps(copied=True),
        breaks=False,
    ),
    model=(
        Instance(
            spec="transactions",
            variant="acts-on-unreplicated",
            settings=(
                "coordinator_failures=2",
                "partitions=2",
                "transactions=1",
                "leader_changes=0",
                "replication_lags=false",
                "records_late=false",
                "ends_late=false",
                "markers_late=false",
                "ids_expire=false",
            ),
            claim="atomic",
        ),
    ),
    since=(3, 9),
    page="lost-decision",
)
