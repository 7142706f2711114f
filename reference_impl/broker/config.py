"""The settings of one broker."""

from __future__ import annotations

from dataclasses import dataclass

from model.vocabulary import BrokerId
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.settings import KAFKA_SETTINGS, BrokerSettings
from reference_impl.protocol.truncation import Truncation


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    broker_id: BrokerId
    broker_settings: BrokerSettings = KAFKA_SETTINGS
    bugs: Bugs = NO_BUGS
    truncation: Truncation = Truncation.IN_FETCH
    verifies_transactions: bool = True  # transaction.partition.verification.enable
    coordinator_partitions: int = 3  # of each internal topic; Kafka's default is 50
