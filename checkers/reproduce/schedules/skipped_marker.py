"""KAFKA-20734: a transaction that ends while a partition has no leader stays open there.

The coordinator sends a marker to the leader of each partition. Since 4.3.0, the coordinator's
metadata has the same result for a partition without a leader and for a deleted partition. So the
coordinator sends no marker, and completes the transaction. When the partition has a leader again,
the transaction is still open in its log. The marker of the producer's next transaction ends both
transactions. If the first transaction was aborted and the next transaction commits, readers at
read_committed receive aborted records.

Source: KAFKA-20734; KRaftMetadataCache.getPartitionLeaderEndpoint;
TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, begin, coordinate_at, create_topic, pause_for, to
from checkers.reproduce.checks import coordinates, log_has, partition
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.reproduce.unmarked_transactions import ABORTED, Unmarked
from checkers.systems.apache_kafka.settings import replicated
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=2, settings=replicated(1))


def without_leader(end: Step) -> tuple[Step, ...]:
    """Returns the steps of a transaction with the record `a`. The leader of the record's partition
    is killed, the step `end` ends the transaction, and the leader starts again.
    """
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step("broker 2 coordinates the transactions", coordinate_at(2), coordinates(2)),
        Step("a transaction appends a", all_of(begin("a"), pause_for(1)), log_has(1, 1)),
        Step(
            "broker 1 is killed, and the partition has no leader",
            to(Ability.KILL, 1),
            partition(leader=-1, at=2),
        ),
        end,
        Step(
            "broker 1 starts again, and leads",
            to(Ability.START, 1),
            partition(leader=1, at=1),
        ),
    )


def reproduction(name: str, unmarked: Unmarked) -> Reproduction:
    """Returns a reproduction whose two cases run the same steps on two versions of Kafka.

    The anomaly must occur on the tested version, which is 4.3.0 or newer. It must not occur on
    4.2.0.
    """
    steps = (*without_leader(unmarked.end), *unmarked.later)
    return Reproduction(
        name=name,
        promise=unmarked.promise,
        because=(
            "The coordinator takes a partition without a leader for a deleted one, and sends no"
            " marker."
        ),
        case=Case(about="since 4.3.0", layout=LAYOUT, steps=steps),
        control=Case(about="before 4.3.0", layout=LAYOUT, steps=steps, version="4.2.0"),
        anomalies=(unmarked.anomaly,),
        model=(Instance(spec="transactions-abstract", variant="skips-marker", claim="faithful"),),
        since=(4, 3),
        page="skipped-marker",
    )


REPRODUCTION: Final = reproduction("skipped-marker", ABORTED)
