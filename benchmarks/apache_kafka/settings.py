"""Server settings: those of every node, and the two configurations that are compared.

`SAFE` has the settings that the documentation recommends for data that must not be lost, with
acks=all. `UNSAFE` prefers availability, with acks=1, for which the documentation promises less. The
controller gets these settings too, because it decides elections, and topics inherit its settings.

Source: Kafka documentation, "Broker Configs"; KIP-966 for the settings of the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Settings = Mapping[str, str]

EVERY_NODE: Final[Settings] = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    # short timeouts: a fault takes effect within two seconds, and a campaign takes minutes
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "1500",
    "replica.lag.time.max.ms": "1500",
    "replica.fetch.wait.max.ms": "100",
    "controller.quorum.request.timeout.ms": "1000",
    # all nodes share two cores: few threads, small buffers, small index files
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.index.size.max.bytes": "4096",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",  # no record expires, so a missing record is lost
}
SAFE: Final[Settings] = {
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
}
UNSAFE: Final[Settings] = {
    "min.insync.replicas": "1",
    "unclean.leader.election.enable": "true",
}


def written(settings: Settings) -> str:
    """Returns the settings in the format of a properties file."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())
