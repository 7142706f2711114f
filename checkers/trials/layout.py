"""The cluster that trials start, and their pace.

The sessions of group members and the timeouts of transactions are those of the suites, multiplied
by the pace. Kafka refuses such short ones by default, so the layout permits them. Each internal
topic has one partition, so that the coordinator is the leader of this partition.

Source: Kafka documentation, "Broker Configs" and "Group Configs".
"""

from __future__ import annotations

from typing import Final

from checkers.systems.opening import KafkaSystem, ServedSystem, SystemName
from checkers.systems.system import Layout

PACE: Final = 10  # a broker of Apache Kafka loses its session after 4 s, as after 350 virtual ms
SERVED_PACE: Final = 4
KAFKA: Final = Layout(
    settings={
        "group.min.session.timeout.ms": "500",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": "6000",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "500",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
)


SERVED: Final = Layout(
    settings={
        "group.min.session.timeout.ms": "500",
        "group.consumer.assignment.interval.ms": "100",
    }
)


def layout_for(name: SystemName) -> Layout:
    """Returns the layout of trials on this system; the default one if it takes no settings."""
    if isinstance(name, ServedSystem):
        return SERVED
    return KAFKA if isinstance(name, KafkaSystem) else Layout()


def pace_for(name: SystemName) -> int:
    """Returns the pace of trials on this system: the reference broker answers sooner."""
    return SERVED_PACE if isinstance(name, ServedSystem) else PACE
