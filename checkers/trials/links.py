"""Converts faults of the simulation to fault rules of proxies. The faults concern single requests
between brokers.

Source: Kafka documentation, "Protocol Guide"; `reference_impl.simulation.faults`.
Simplified: a proxy that delays a request also delays everything after it on the connection, and
does not read the topic partition of a request.
"""

from __future__ import annotations

from typing import Final

from checkers.systems.proxies import rules
from checkers.trials.pace import Pace
from reference_impl.protocol.messages import CONTROLLER, FIRST_CLIENT, NodeId
from reference_impl.simulation.faults import Hold, Lose, On
from reference_impl.wire.messages.apis import Api

SYSTEM_CONTROLLER: Final = 0
APIS: Final = {
    "WriteTxnMarker": Api.WRITE_TXN_MARKERS,
    "AddPartitionsToTxn": Api.ADD_PARTITIONS_TO_TXN,
    "Fetch": Api.FETCH,
}
OF_BROKERS: Final = frozenset({"WriteTxnMarker"})  # requests that no client sends


def is_between_brokers(fault: On) -> bool:
    return fault.api in OF_BROKERS or (fault.source is not None and fault.source < FIRST_CLIENT)


def proxied(fault: On, pace: Pace) -> rules.Rule:
    """Returns the fault rule of a proxy that has the same effect as a fault of the simulation. The
    fault concerns requests between brokers. `pace` converts the virtual duration of a delay to a
    real duration.
    """
    assert fault.api in APIS, f"no proxy knows the request {fault.api}"
    of = rules.Match(
        sender=None if fault.source is None else node(fault.source),
        receiver=None if fault.target is None else node(fault.target),
        api=APIS[fault.api],
        first=fault.occurrence,
        count=fault.count,
    )
    match fault.does, fault.moment:
        case Hold(for_ms), "before":
            return rules.Hold(of=of, part="request", for_ms=for_ms * pace.real_per_virtual)
        case Hold(for_ms), _:
            return rules.Hold(of=of, part="response", for_ms=for_ms * pace.real_per_virtual)
        case Lose(), "before":
            return rules.DropRequest(of=of)
        case Lose(), _:
            return rules.DropResponse(of=of)
        case does, _:
            raise AssertionError(f"no proxy makes a broker {does}")


def node(number: NodeId) -> int:
    """Returns the number that a simulated node has in the system under test. A broker has the same
    number as in the simulation, but the controller has a different one.
    """
    return SYSTEM_CONTROLLER if number == CONTROLLER else int(number)
