"""The settings of the suite `replication`, by name. A setting is the configuration of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reference_impl.protocol.messages import ACKS_LEADER, ACKS_NONE
from reference_impl.simulation.client_libraries import JAVA
from reference_impl.simulation.producer_config import ProducerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration of a run: the producer, the topic, and the faults that may happen."""

    condition: str
    producer: ProducerConfig
    min_insync_replicas: int = 2
    session_lasts: bool = False  # an error that ends the producer session is a failure
    isolates_leaders: bool = True  # a leader may lose the controller but keep its clients
    splits: bool = True  # links between brokers may be cut
    unclean_leader_election: bool = False
    loses_power: bool = False  # machines lose power, and with it what they had not flushed
    restarts_brokers: bool = False  # all brokers may restart at the same moment
    reassigns: bool = False  # replicas move to other brokers
    failures: int = 3  # brokers that may be down or out of sync at the same time


SETTINGS: Final = {
    "idempotent": Setting(
        condition="idempotence, acks=all, endless retries, five in flight, clean elections",
        producer=ProducerConfig(),
        session_lasts=True,
    ),
    "new epoch": Setting(
        condition="as idempotent; a client that takes a new epoch when a batch is out of order",
        producer=ProducerConfig(library=JAVA),
        session_lasts=True,
        restarts_brokers=True,
    ),
    "new epoch, one in flight": Setting(
        condition="as new epoch, and one batch in flight",
        producer=ProducerConfig(library=JAVA, max_in_flight=1),
        session_lasts=True,
        restarts_brokers=True,
    ),
    # With min.insync.replicas=2 records may be lost: docs/findings/stale-elr-member.md.
    "reassigned": Setting(
        condition="as idempotent, min.insync.replicas=1; replicas are reassigned",
        producer=ProducerConfig(),
        min_insync_replicas=1,
        session_lasts=True,
        reassigns=True,
    ),
    # A leader that was cut off does not learn that it was replaced, and still answers requests:
    # Kafka has no lease that would stop it. Such a response is not a read at the leader.
    "read at the leader": Setting(
        condition="as idempotent; a leader never loses the controller while clients still reach it",
        producer=ProducerConfig(),
        session_lasts=True,
        isolates_leaders=False,
    ),
    "not idempotent": Setting(
        condition="no idempotence, acks=all, endless retries, five requests in flight",
        producer=ProducerConfig(idempotent=False),
    ),
    "no retries": Setting(
        condition="no idempotence, acks=all, no retries, five requests in flight",
        producer=ProducerConfig(idempotent=False, retries=False),
    ),
    "acks=0": Setting(
        condition="no idempotence, acks=0: no responses, no retries",
        producer=ProducerConfig(acks=ACKS_NONE, idempotent=False),
    ),
    "acks=1": Setting(
        condition="idempotence, acks=1, endless retries, five requests in flight",
        producer=ProducerConfig(acks=ACKS_LEADER),
    ),
    "acks=1, no retries": Setting(
        condition="no idempotence, acks=1, no retries, five requests in flight",
        producer=ProducerConfig(acks=ACKS_LEADER, idempotent=False, retries=False),
    ),
    "unclean": Setting(
        condition="no idempotence, acks=all, no retries, unclean elections, min.insync.replicas=1",
        producer=ProducerConfig(idempotent=False, retries=False),
        min_insync_replicas=1,
        unclean_leader_election=True,
    ),
}
