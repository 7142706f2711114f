"""Explains a simulated run of the reference broker as actions of each proved spec, event by event.

The specs cover the replication of each topic partition, the idempotent producers of each topic
partition, and the transactions of the cluster. A spec rejects a run at an event that the spec does
not have, such as a power loss, a reassignment or an unclean election. Such a rejection does not
mean that the broker has a defect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from model.vocabulary import TopicPartition
from properties.refinement.behaviour import Taken
from properties.refinement.broker_idempotence import BrokerIdempotence
from properties.refinement.broker_replication import BrokerReplication
from properties.refinement.broker_transactions import BrokerTransactions
from properties.refinement.trace_validation import Refinement, Rejected, attempt
from reference_impl.broker.broker import Broker
from reference_impl.simulation.trace import Traced

INTERNAL: Final = "__"  # topics of coordinators


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRun:
    """The events of a run as actions of one spec, up to the first event that the spec rejects."""

    subject: str  # a topic partition, or `transactions`
    spec: str
    mapping: Refinement
    after: tuple[Taken | None, ...]  # the last action after each event that the spec allows
    rejected: Rejected | None

    @property
    def is_accepted(self) -> bool:
        return self.rejected is None


def explained_runs(events: Sequence[Traced]) -> Iterator[ExplainedRun]:
    """Yields the run as actions of each spec, up to the first event that the spec rejects.

    For each topic partition, the run is explained by `replication-abstract` first, and then by
    `idempotence-abstract`. The last item explains the run by `transactions-abstract`, if some
    producer has a transactional id. Internal topics are skipped.
    """
    for topic_partition in _topic_partitions(events):
        subject = str(topic_partition)
        replication = BrokerReplication.of(topic_partition, events)
        yield _explained(subject, "replication-abstract", replication, events)
        idempotence = BrokerIdempotence.of(topic_partition, events)
        yield _explained(subject, "idempotence-abstract", idempotence, events)
    transactions = BrokerTransactions.of(events)
    if transactions.numbers.producers:
        yield _explained("transactions", "transactions-abstract", transactions, events)


def _explained(
    subject: str, spec: str, mapping: Refinement, events: Sequence[Traced]
) -> ExplainedRun:
    after, rejected = list[Taken | None](), None
    for traced in events:
        step = mapping.expected_step(traced)
        rejected = None if step is None else attempt(mapping.behaviour, step)
        if rejected is not None:
            break
        after.append(mapping.behaviour.last)
    return ExplainedRun(
        subject=subject, spec=spec, mapping=mapping, after=tuple(after), rejected=rejected
    )


def _topic_partitions(events: Sequence[Traced]) -> list[TopicPartition]:
    found = {
        topic_partition
        for traced in events
        if isinstance(traced.after, Broker)
        for topic_partition in traced.after.replicas
        if not topic_partition.topic.startswith(INTERNAL)
    }
    return sorted(found)
