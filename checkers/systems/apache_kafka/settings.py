"""The settings of nodes: `EVERY_NODE` for all clusters, and two sets of settings to compare, `SAFE`
and `UNSAFE`.

`SAFE` has the settings that Kafka's documentation recommends, together with acks=all, to prevent
data loss. `UNSAFE`, which is used with acks=1, prefers availability, and the documentation promises
less for these settings. The controller has the same settings as the brokers, because it decides
elections, and because topics inherit the settings of the controller.

Source: Kafka documentation, "Broker Configs"; KIP-966 for the settings of the controller.
"""

from __future__ import annotations

from typing import Final

from checkers.systems.system import SESSION, SESSION_MS, Settings

EVERY_NODE: Final[Settings] = {
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    SESSION: str(SESSION_MS),
    "replica.lag.time.max.ms": "4000",
    "replica.fetch.wait.max.ms": "100",
    "controller.quorum.request.timeout.ms": "2000",
    # all nodes share one machine: few threads, small buffers, small index files
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.index.size.max.bytes": "4096",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
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


def replicated(brokers: int) -> Settings:
    factor = str(min(brokers, 3))
    return {
        "default.replication.factor": factor,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": str(min(brokers, 2)),
    }


def properties(settings: Settings) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())
