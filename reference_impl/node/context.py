"""The context of one step of a leader, a follower or a coordinator: the time, the broker, the
metadata and the settings.

The result of the step depends only on the state, the input and this context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from model.vocabulary import BrokerEpoch, BrokerId, ProducerId, TopicPartition
from reference_impl.node.bugs import Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import Reply
from reference_impl.protocol.controller import BrokerState
from reference_impl.protocol.coordinators import NO_COORDINATORS, TRANSACTION_STATE, Coordinators
from reference_impl.protocol.messages import ErrorCode, NodeId
from reference_impl.protocol.requests import Response
from reference_impl.protocol.truncation import Truncation

STEPS_PER_LIFE: Final = 2**32


def no_append_error(topic_partition: TopicPartition, correlation: int) -> ErrorCode:
    """Returns NONE. This is the default of `Context.append_error`: no append is rejected."""
    del topic_partition, correlation
    return ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    now_ms: int
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    brokers: Mapping[BrokerId, BrokerState]  # from the applied metadata
    correlation: int  # of the requests that a role sends in this step; grows with each step
    broker_settings: BrokerSettings
    bugs: Bugs
    truncation: Truncation = Truncation.IN_FETCH
    verifies_transactions: bool = True  # transaction.partition.verification.enable
    coordinators: Coordinators = NO_COORDINATORS
    # Returns the error of a coordinator's waiting append, by the append's correlation id.
    append_error: Callable[[TopicPartition, int], ErrorCode] = no_append_error

    def coordinator_of_transaction(self, transactional_id: str | None) -> NodeId | None:
        if transactional_id is None:
            return None
        return self.coordinators.leader(TRANSACTION_STATE, transactional_id)

    @property
    def new_producer_id(self) -> ProducerId:
        """A unique producer id. It is computed from the broker epoch and a number that increases
        with each step.
        """
        return ProducerId(self.broker_epoch * STEPS_PER_LIFE + self.correlation % STEPS_PER_LIFE)

    def may_be_in_sync(self, broker_id: BrokerId) -> bool:
        """Returns True if the broker is registered and is not fenced."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.fenced


class Requester(NamedTuple):
    node_id: NodeId
    correlation: int

    def reply(self, response: Response) -> Reply:
        return Reply(self.node_id, self.correlation, response)
