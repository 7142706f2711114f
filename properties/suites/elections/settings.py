"""The settings of the suite `elections`, by name. A setting is the configuration of a run."""

from __future__ import annotations

from typing import Final

from properties.suites.replication.settings import Setting
from reference_impl.protocol.messages import ACKS_LEADER
from reference_impl.simulation.producer_config import ProducerConfig

SETTINGS: Final = {
    "clean": Setting(
        condition="acks=all, min.insync.replicas=2, clean elections; brokers crash, links are cut",
        producer=ProducerConfig(),
    ),
    "min.insync.replicas=1": Setting(
        condition="acks=all, min.insync.replicas=1, clean elections; brokers crash, links are cut",
        producer=ProducerConfig(),
        min_insync_replicas=1,
    ),
    "acks=1": Setting(
        condition="acks=1, min.insync.replicas=2, clean elections; leaders lose their links",
        producer=ProducerConfig(acks=ACKS_LEADER),
    ),
    "unclean": Setting(
        condition="acks=all, min.insync.replicas=1, unclean elections",
        producer=ProducerConfig(),
        min_insync_replicas=1,
        unclean_leader_election=True,
    ),
    "power loss": Setting(
        condition="acks=all, min.insync.replicas=1; any number of machines lose power",
        producer=ProducerConfig(),
        min_insync_replicas=1,
        loses_power=True,
    ),
    "two failures": Setting(
        condition="acks=all, min.insync.replicas=2; two of three machines may lose power at a time",
        producer=ProducerConfig(),
        isolates_leaders=False,
        splits=False,
        loses_power=True,
        failures=2,
    ),
    "three failures": Setting(
        condition="as two failures, but all three machines may lose power at a time",
        producer=ProducerConfig(),
        isolates_leaders=False,
        splits=False,
        loses_power=True,
    ),
}
