"""The broker settings of a cluster for trials (test runs), and the pace of the trials.

The pace is the number of real milliseconds in one virtual millisecond. The timeouts of the suites
are multiplied by the pace. Even then, Kafka would refuse them as too short, so these settings
permit shorter timeouts. Each internal topic has one partition, so there is one group coordinator
and one transaction coordinator.

Source: Kafka documentation, "Broker Configs" and "Group Configs".
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from checkers.systems.opening import KafkaSystem, PeerSystem, ServedSystem, SystemName, opened
from checkers.systems.system import Layout, Settings, System
from checkers.trials.powers import RETENTION_CHECK
from model.faults import InputFault

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
        "offsets.retention.check.interval.ms": "1000",
        RETENTION_CHECK: "500",  # only the suite `retention` has topics that expire
    }
)

REFERENCE: Final = Layout(
    settings={
        "group.min.session.timeout.ms": "100",
        "group.consumer.assignment.interval.ms": "100",
        "group.consumer.session.timeout.ms": "2400",
        "group.consumer.heartbeat.interval.ms": "200",
    }
)
KFAKE: Final = Layout(settings={"group.min.session.timeout.ms": "500"})
NO_SETTINGS: Final[Settings] = {}


def layout_for(name: SystemName) -> Layout:
    """Returns the description of the cluster to start for trials. If the system accepts no broker
    settings, the described cluster has three brokers without settings.
    """
    match name:
        case KafkaSystem():
            return KAFKA
        case ServedSystem():
            return REFERENCE
        case PeerSystem(name="kfake"):
            return KFAKE
        case _:
            return Layout()


@contextmanager
def started(
    name: SystemName,
    folder: Path,
    settings: Settings = NO_SETTINGS,
    *,
    proxied: bool = False,
    traced: bool = False,
) -> Generator[System]:
    """Starts a system for trials (test runs), with additional broker settings. Stops the system
    when the `with` block ends. With `traced`, the nodes of Apache Kafka write traces.

    Raises InputFault in two cases: `settings` are passed for a system that accepts no settings, or
    `proxied` is True for another system than Apache Kafka. Urteil cannot cut the links between the
    brokers of any other system.
    """
    if proxied and not isinstance(name, KafkaSystem):
        raise InputFault(
            f"--proxied: Urteil cannot cut links of {name.name}; use --on apache-kafka"
        )
    layout = layout_for(name)
    if settings and not layout.settings:
        raise InputFault(f"--broker-config: {name.name} takes no settings of brokers: leave it out")
    # With `traced`, Apache Kafka writes traces that show the states of replicas.
    traced = traced and isinstance(name, KafkaSystem)
    both = {**layout.settings, **settings}
    layout = replace(layout, settings=both, proxied=proxied, traced=traced)
    with opened(name, folder, layout) as system:
        yield system


def pace_for(name: SystemName) -> int:
    """Returns the number of real milliseconds in one virtual millisecond of a trial on
    this system.
    """
    return SERVED_PACE if isinstance(name, ServedSystem) else PACE
