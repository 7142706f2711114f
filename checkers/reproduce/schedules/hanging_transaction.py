"""KAFKA-14402: a produce request that arrives after an abort opens a transaction without an end.

The leader appends the records of a delayed produce request, because it does not verify that their
transaction is still open. The coordinator does not know that these records exist, so it never ends
their transaction. The last stable offset stays at the first of these records, and a reader at
read_committed never passes it.

Source: KAFKA-14402; KIP-890.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, produce, send, to, transaction
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=1)
STEPS: Final = (
    Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
    Step(
        "a transactional producer gets an epoch",
        transaction(lambda it: it.begin()),
        is_noted("NONE"),
    ),
    Step(
        "its transaction adds the partition",
        transaction(lambda it: it.add_partition()),
        is_noted("NONE"),
    ),
    Step(
        "record a is appended",
        produce("a"),
        is_noted("NONE"),
    ),
    Step(
        "the transaction aborts",
        transaction(lambda it: it.end(commit=False)),
        is_noted("NONE"),
    ),
    Step(
        "a produce request of the transaction arrives late",
        produce("late", after_s=1.0),
        is_noted(),
    ),
    Step("b is acknowledged outside transactions", send("b"), acknowledged("b")),
    Step("broker 1 stops cleanly", to(Ability.STOP, 1), done),
)
REPRODUCTION: Final = Reproduction(
    name="hanging-transaction",
    promise="Always: every open transaction can still be committed or aborted.",
    because="The leader does not verify that the transaction of a batch is still open.",
    case=Case(about="transactions without verification", layout=LAYOUT, steps=STEPS),
    control=Case(about="KIP-890 in 4.3.0", layout=LAYOUT, steps=STEPS, version="4.3.0"),
    model=(Instance(spec="transactions-abstract", variant="v1", claim="no_hanging_transaction"),),
    log_anomalies=("hanging-transaction",),
    until=(3, 5),
    shown_on="3.5.2",
)
