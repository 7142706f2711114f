"""Server settings: what every node has, and the two ways to run a cluster that are compared.

`SAFE` is what the documentation recommends for data that must not be lost, with the producer's
acks=all. `UNSAFE` prefers availability, with acks=1: Kafka promises less then, and says so. The
settings hold for the controller too, which decides elections, and for topics, which inherit them.

Source: Apache Kafka 4.3 documentation, "Broker Configs"; KIP-966 for the controller's share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Settings = Mapping[str, str]

EVERY_NODE: Final[Settings] = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    # faults bite within a second or two, so that a campaign takes minutes
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "1500",
    "replica.lag.time.max.ms": "1500",
    "replica.fetch.wait.max.ms": "100",
    "controller.quorum.request.timeout.ms": "1000",
    # one machine of two cores carries all: few threads, small buffers, small index files
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
    "log.retention.ms": "-1",  # what is gone is lost, not expired
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
    """The settings as a file that Kafka reads."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())
