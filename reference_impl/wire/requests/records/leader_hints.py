"""Leader hints: a broker that does not lead a topic partition names the leader in its response.

The hint comes with the error for this topic partition. So the client finds the leader without a
Metadata request. The response also has the address of each named leader.

Source: KIP-951; KafkaApis.handleProduceRequest, KafkaApis.handleFetchRequest.
Simplified: the hint always names the leader in the metadata that the broker has applied. In Kafka,
a broker with a replica of the topic partition names the leader that this replica knows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.controller import PartitionState
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import ServedBroker, image


@dataclass(frozen=True, slots=True)
class LeaderHints:
    """The leaders that one response names: the leader of each partition in `states`.

    The broker has refused the requests for these partitions with an error such as
    NOT_LEADER_OR_FOLLOWER.
    """

    call: Call
    states: Mapping[TopicPartition, PartitionState]
    addresses: Mapping[BrokerId, Address]

    @classmethod
    async def of(
        cls, broker: ServedBroker, call: Call, places: Collection[TopicPartition]
    ) -> LeaderHints:
        """Returns the leaders of the topic partitions `places`.

        The leaders are those in the metadata that the broker has applied.
        """
        known = (await image(broker)).topic_partitions if places else ()
        states = {place: state for place, state in known if place in places}
        return cls(call, states, broker.addresses)

    def beside(self, place: TopicPartition) -> dict[str, Any]:
        """Returns the response field `current_leader` of a topic partition.

        Returns {} if the topic partition has no hint, for example because its request succeeded.
        """
        state = self.states.get(place)
        if state is None:
            return {}
        leader = self.call.make(
            "LeaderIdAndEpoch", leader_id=state.leader, leader_epoch=state.leader_epoch
        )
        return {"current_leader": leader}

    def endpoints(self) -> dict[str, Any]:
        """Returns the response field `node_endpoints`, with the address of each named leader.

        Returns {} if no leader is named, or if no address of a named leader is known.
        """
        if not self.states:
            return {}
        leaders = sorted({state.leader for state in self.states.values()} & self.addresses.keys())
        endpoints = tuple(
            self.call.make(
                "NodeEndpoint",
                node_id=leader,
                host=self.addresses[leader][0],
                port=self.addresses[leader][1],
                rack=None,
            )
            for leader in leaders
        )
        return {"node_endpoints": endpoints} if endpoints else {}
