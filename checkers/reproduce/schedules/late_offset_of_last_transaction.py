"""A late copy of a request to commit offsets takes the place of a request of the next transaction.

The client does not use the protocol of KIP-890, so all its transactions have the same producer
epoch. An application sends its offsets once in each transaction.

Source: OffsetMetadataManager.replay; KAFKA-17754; KIP-890.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.checks import is_noted
from checkers.reproduce.pipeline_actions import command
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.schedules.late_offset_commit import LAYOUT, steps
from checkers.reproduce.schedules.late_offset_commit import REPRODUCTION as IN_ONE_TRANSACTION

IN_NEXT_TRANSACTION: Final = (
    Step("the transaction of a commits", command("commit"), is_noted("done")),
    Step(
        "it reads b, and sends its result in the next transaction",
        command("process"),
        is_noted("b"),
    ),
)

REPRODUCTION: Final = Reproduction(
    name="late-offset-of-last-transaction",
    promise=IN_ONE_TRANSACTION.promise,
    because=(
        "A request to commit offsets does not name its transaction, so a late copy changes the next"
        " transaction. The protocol of KIP-890 names it by its epoch, if the client uses it."
    ),
    case=Case(
        about="the first request to commit offsets is delayed; librdkafka",
        layout=LAYOUT,
        steps=steps("librdkafka", IN_NEXT_TRANSACTION, delayed=True),
        breaks=True,
    ),
    control=Case(
        about="no request is delayed; librdkafka",
        layout=LAYOUT,
        steps=steps("librdkafka", IN_NEXT_TRANSACTION, delayed=False),
        breaks=False,
    ),
    since=(3, 9),
    page="late-offset-commit",
)
