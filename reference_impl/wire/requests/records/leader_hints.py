"""Leader hints: a broker that does not lead a topic partition names the leader in its response.

So the client needs no Metadata request.

Source: KIP-951; KafkaApis.handleProduceRequest, KafkaApis.handleFetchRequest.
Simplified: The hint is the leader in the applied metadata. In Kafka, the leader that the replica
itself knows comes first.
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
    """The leaders of some topic partitions. The broker refused requests for these partitions,
    because it does not lead them.
    """

    call: Call
    states: Mapping[TopicPartition, PartitionState]
    addresses: Mapping[BrokerId, Address]

    @classmethod
    async def of(
        cls, broker: ServedBroker, call: Call, places: Collection[TopicPartition]
    ) -> LeaderHints:
        """Returns the hints for `places`, from the metadata that the broker has applied."""
        known = (await image(broker)).topic_partitions if places else ()
        states = {place: state for place, state in known if place in places}
        return cls(call, states, broker.addresses)

    def beside(self, place: TopicPartition) -> dict[str, Any]:
        """Returns the response field `current_leader` of a topic partition, or {} if there is no
        hint for it.
        """
        state = self.states.get(place)
        if state is None:
            return {}
        leader = self.call.make(
            "LeaderIdAndEpoch", leader_id=state.leader, leader_epoch=state.leader_epoch
        )
        return {"current_leader": leader}

    def endpoints(self) -> dict[str, Any]:
        """Returns the response field `node_endpoints` with the leaders whose address is known.
        Returns {} if there is none.
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
