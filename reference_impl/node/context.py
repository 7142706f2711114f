"""What a role of a broker sees around it during one step.

The roles (leader or follower of a topic partition) are pure functions of their own state and of
this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from model.vocabulary import BrokerEpoch, BrokerId, ProducerId, TopicPartition
from reference_impl.node.bugs import Bugs
from reference_impl.node.step import Reply
from reference_impl.node.timeouts import Timeouts
from reference_impl.protocol.controller import BrokerState
from reference_impl.protocol.coordinators import NO_COORDINATORS, TRANSACTION_STATE, Coordinators
from reference_impl.protocol.messages import ErrorCode, NodeId
from reference_impl.protocol.requests import Response
from reference_impl.protocol.truncation import Truncation

STEPS_PER_LIFE: Final = 2**32


def no_append_error(topic_partition: TopicPartition, correlation: int) -> ErrorCode:
    """No coordinator of this broker waits for that append."""
    del topic_partition, correlation
    return ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The time, the broker that the role belongs to, and what it knows of the others."""

    now_ms: int
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    brokers: Mapping[BrokerId, BrokerState]  # as of the metadata that this broker has applied
    correlation: int  # for what a role sends in this step; grows from step to step
    timeouts: Timeouts
    bugs: Bugs
    truncation: Truncation = Truncation.IN_FETCH
    verifies_transactions: bool = True  # transaction.partition.verification.enable
    coordinators: Coordinators = NO_COORDINATORS
    # Against an append of a coordinator's own, under that correlation, which had to wait.
    append_error: Callable[[TopicPartition, int], ErrorCode] = no_append_error

    def coordinator_of_transaction(self, transactional_id: str | None) -> NodeId | None:
        """The broker to ask about a transaction; None while there is none."""
        if transactional_id is None:
            return None
        return self.coordinators.leader(TRANSACTION_STATE, transactional_id)

    @property
    def new_producer_id(self) -> ProducerId:
        """A producer id that nobody has: the broker epoch and the step tell it from all others."""
        return ProducerId(self.broker_epoch * STEPS_PER_LIFE + self.correlation % STEPS_PER_LIFE)

    def may_be_in_sync(self, broker_id: BrokerId) -> bool:
        """The broker is registered and not fenced, as far as this one knows."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.fenced


class Requester(NamedTuple):
    """To whom an answer is owed, and for which of its requests."""

    node_id: NodeId
    correlation: int

    def reply(self, response: Response) -> Reply:
        """The effect that answers."""
        return Reply(self.node_id, self.correlation, response)
