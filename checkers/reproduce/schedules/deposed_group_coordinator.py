"""A deposed group coordinator returns an old committed offset, and an input is processed twice.

Two pipelines process the same partition, one after another. Each pipeline starts its transactional
producer, which fences the producer of the other pipeline. Then it fetches the committed offset.

1. The pipeline x1 processes a, and commits the offset 1. Broker 1 coordinates the group.
2. The link between broker 1 and the controller is cut. Broker 2 takes over the group.
3. The pipeline x2 fences x1, processes b, and commits the offset 2.
4. The pipeline x1 fences x2, and fetches the committed offset from broker 1, which it knows as the
   coordinator. Broker 1 answers from its memory: the offset is 1.
5. The link works again. The pipeline x1 processes b again, and its transaction commits.

Source: KIP-98; KIP-447; in Kafka 4.3: GroupCoordinatorService.fetchOffsets, and the method
waitForPendingWrites in CoordinatorRuntime.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    create_topic,
    fetch_committed,
    lift,
    nothing,
    pause_for,
    rules,
    send,
)
from checkers.reproduce.assigned_pipeline import OUTPUT
from checkers.reproduce.assigned_pipeline_actions import (
    begin_at_committed,
    process,
    start_assigned_pipeline,
)
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.committed_offset import has_offset, refuses_offsets
from checkers.reproduce.group_actions import (
    coordinates_group,
    create_group_coordinator,
    create_transaction_coordinator,
)
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.apache_kafka.settings import replicated
from checkers.systems.proxies.rules import Cut
from checkers.systems.system import Layout

LAYOUT: Final = Layout(
    brokers=2,
    proxied=True,
    settings={
        **replicated(1),
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        # broker 1 waits for late metadata: a new connection would pass by the proxies
        "controller.quorum.request.timeout.ms": "60000",
        "controller.quorum.fetch.timeout.ms": "60000",
    },
)
BEGUN: Final = (
    Step(
        "broker 1 is the group coordinator, and broker 2 has the other replica",
        create_group_coordinator(1, 2),
        coordinates_group(1, at=2),
    ),
    Step("broker 2 is the transaction coordinator", create_transaction_coordinator(2), done),
    Step("broker 2 leads the topic", create_topic(2), partition(leader=2)),
    Step("the inputs a and b are acknowledged", send("a", "b"), acknowledged("a", "b")),
    Step("x1 starts", start_assigned_pipeline("x1"), done),
    Step("x1 begins at the offset 0", begin_at_committed("x1"), is_noted("offset 0")),
    Step("x1 processes a, and commits the offset 1", process("x1"), is_noted("a")),
    Step(
        "broker 1 is cut off from the controller: broker 2 coordinates the group",
        rules(
            there=Cut(sender=1, receiver=CONTROLLER),
            back=Cut(sender=CONTROLLER, receiver=1),
        ),
        coordinates_group(2, at=2),
    ),
    Step("broker 2 has loaded the group", nothing, has_offset(1, at=2)),
    Step("x2 starts, and fences x1", start_assigned_pipeline("x2", at=2), done),
    Step("x2 begins at the offset 1", begin_at_committed("x2"), is_noted("offset 1")),
    Step("x2 processes b, and commits the offset 2", process("x2"), is_noted("b")),
    Step("x1 fences x2", start_assigned_pipeline("x1"), done),
)
HEALED: Final = Step(
    "the link works again: broker 1 does not coordinate the group any more",
    lift("there", "back"),
    refuses_offsets(at=1),
)


def _outputs(last_stable: int, values: str) -> Step:
    return Step(
        f"the committed outputs are {values}",
        all_of(pause_for(2), fetch_committed(2, OUTPUT)),  # a marker follows the response
        is_noted(f"last stable offset {last_stable}, records [{values}]"),
    )


REPRODUCTION: Final = Reproduction(
    name="deposed-group-coordinator",
    promise=(
        "Always: each input has one committed output, if a pipeline fences the others before it"
        " fetches the committed offset."
    ),
    because=(
        "A deposed group coordinator returns committed offsets from its memory, and does not"
        " confirm that it still leads the group's partition of `__consumer_offsets`."
    ),
    case=Case(
        about="x1 fetches the committed offset before the link works again",
        layout=LAYOUT,
        partitions=2,
        steps=(
            *BEGUN,
            Step("x1 begins at the offset 1", begin_at_committed("x1"), is_noted("offset 1")),
            HEALED,
            Step("x1 processes b again", process("x1"), is_noted("b")),
            _outputs(6, "a b b"),
        ),
        breaks=True,
    ),
    control=Case(
        about="x1 fetches the committed offset after the link works again",
        layout=LAYOUT,
        partitions=2,
        steps=(
            *BEGUN,
            HEALED,
            Step("x1 begins at the offset 2", begin_at_committed("x1"), is_noted("offset 2")),
            _outputs(4, "a b"),
        ),
        breaks=False,
    ),
    since=(4, 0),
    page="deposed-group-coordinator",
)
