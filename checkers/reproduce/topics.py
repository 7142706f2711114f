"""Actions and checks on topics other than the topic of a reproduction, such as the internal topic
`__transaction_state`. Each of these topics has one partition.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from typing import Final

from checkers.record.processes import Topic
from checkers.reproduce.actions import TRANSACTION_STATE, Do, create_on
from checkers.reproduce.checks import Check
from checkers.reproduce.partition_state import partition_state
from checkers.reproduce.reproduction import Seen
from checkers.reproduce.stage import Stage
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.log.record_batch import decode, header

CONSUMER_OFFSETS: Final = "__consumer_offsets"
STATES: Final = (
    "EMPTY",
    "ONGOING",
    "PREPARE_COMMIT",
    "PREPARE_ABORT",
    "COMPLETE_COMMIT",
    "COMPLETE_ABORT",
)  # TransactionState, by its number
STATE: Final = struct.Struct(">hqhib")  # version, producer id and epoch, timeout, state


def create(name: str, *replicas: int, **configs: str) -> Do:
    """Returns an action that creates a topic with one partition on the brokers `replicas`. If the
    topic is internal, the first broker coordinates all groups or transactional ids of the topic.

    In the names of `configs`, `_` stands for `.`.
    """
    return lambda stage: create_on(stage, Topic(name, 1), replicas, configs)


def reorder(name: str, *replicas: int) -> Do:
    """Returns an action that makes the first of the brokers `replicas` the preferred leader of the
    topic's partition.
    """
    return lambda stage: stage.administration().reassign({(name, 0): replicas})


def elect(name: str, at: int) -> Do:
    """Returns an action that requests a preferred leader election for the topic's partition. The
    request goes to the broker `at`.
    """
    return lambda stage: stage.administration(at).elect([(name, 0)])


def led(
    name: str,
    leader: int,
    *,
    isr: Collection[int] | None = None,
    preferred: int | None = None,
    at: int = 1,
) -> Check:
    """Returns a check that succeeds if the metadata of the broker `at` has this leader of the
    topic's partition, this ISR and this preferred leader.
    """

    def check(stage: Stage) -> Seen:
        state = partition_state(stage.cluster.address(at), name)
        if state is None:
            return Seen(reached=False, text=f"broker {at} does not know {name}")
        reached = (
            state.leader == leader
            and (isr is None or state.isr == frozenset(isr))
            and preferred in (None, state.replicas[0])
        )
        return Seen(reached=reached, text=str(state))

    return check


def stored_states(states: Mapping[int, str]) -> Check:
    """Returns a check that succeeds if the newest record of `__transaction_state` in the log of
    each broker has the state `states[broker]`. Only one transactional id may be in use.
    """

    def check(stage: Stage) -> Seen:
        found = {broker: _newest_state(stage, broker) for broker in states}
        text = ", ".join(f"broker {broker} {state}" for broker, state in found.items())
        return Seen(reached=found == states, text=text)

    return check


def _newest_state(stage: Stage, broker: int) -> str:
    newest = "nothing"
    for batch in _batches(stage, broker, TRANSACTION_STATE):
        for _, record in decode(batch):
            newest = (
                "nothing"  # a tombstone
                if record.value is None
                else STATES[STATE.unpack_from(record.value)[-1]]
            )
    return newest


def has_marker(name: str, broker: int) -> Check:
    """Returns a check that succeeds if the broker's log of the topic ends with a transaction
    marker.
    """

    def check(stage: Stage) -> Seen:
        batches = _batches(stage, broker, name)
        ends = bool(batches) and header(batches[-1]).is_control
        kind = "a marker" if ends else "no marker"
        return Seen(reached=ends, text=f"the log of {name} on broker {broker} ends with {kind}")

    return check


def _batches(stage: Stage, broker: int, name: str) -> list[bytes]:
    segments = sorted((stage.log_dirs_of(broker)[0] / f"{name}-0").glob("*.log"))
    return [bytes(batch) for one in segments for batch in whole_batches(one.read_bytes())]
