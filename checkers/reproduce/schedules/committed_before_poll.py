"""A Java consumer commits the offset of a record before its application has the record. If the
application crashes, no other member of the group gets the record.

1. The application calls poll, and the interval of automatic commits has ended. The application's
   thread enqueues an event for the background thread, and does not wait for it.
2. The application's thread takes the next record of the buffer, and moves its position past it.
3. The background thread handles the event, and commits the position.
4. poll returns the record. The application crashes before it has processed it.

Step 3 may also come before step 2, which is right. So the application works on several records,
until the committed offset is too high.

Source: KAFKA-18641; KAFKA-18376; AsyncKafkaConsumer.collectFetch;
ApplicationEventProcessor.process.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, send
from checkers.reproduce.checks import acknowledged, done, partition
from checkers.reproduce.java_group_actions import (
    in_work,
    kill_consumer,
    poll,
    start_consumer,
    takes_over,
    work,
)
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Layout

LAYOUT: Final = Layout(brokers=1)
WORK_S: Final = 6.0  # longer than auto.commit.interval.ms, which is 5 s by default
RECORDS: Final = tuple(f"r{number}" for number in range(24))


def _steps(protocol: str, *, worked: str, then: str, loses: bool) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step("r0 to r23 are acknowledged", send(*RECORDS), acknowledged(*RECORDS)),
        Step("m1 starts", start_consumer("m1", group_protocol=protocol), done),
        Step(
            worked,
            work("m1", records=20, for_s=WORK_S),
            in_work("m1", committed=loses),
            within_s=1,
        ),
        Step("m1 is killed", kill_consumer("m1"), done),
        Step(
            then,
            all_of(start_consumer("m2", group_protocol=protocol), poll("m2")),
            takes_over("m2", "m1", skips=loses),
            within_s=1,
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="committed-before-poll",
    promise=(
        "Always: if an application processes the records of a poll before its next poll, then each"
        " record is processed, also if the application crashes and commits are automatic."
    ),
    because=(
        "The background thread commits the consumer's position while the application's thread moves"
        " it past the records that poll is about to return."
    ),
    case=Case(
        about="group.protocol=consumer",
        layout=LAYOUT,
        steps=_steps(
            "consumer",
            worked="m1 works 6 s on each record: a commit includes a record in work",
            then="m2 gets the record after it",
            loses=True,
        ),
        breaks=True,
    ),
    control=Case(
        about="group.protocol=classic",
        layout=LAYOUT,
        steps=_steps(
            "classic",
            worked="m1 works 6 s on each of 20 records: no commit includes a record in work",
            then="m2 gets this record again",
            loses=False,
        ),
        breaks=False,
    ),
    model=(
        Instance(
            spec="group-offsets",
            variant="commits-unprocessed",
            claim="no_input_is_skipped",
        ),
    ),
    since=(4, 2),
    page="committed-before-poll",
)
