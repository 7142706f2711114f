"""Actions on members of a consumer group, for reproductions on real brokers."""

from __future__ import annotations

from checkers.reproduce.actions import TRANSACTION_STATE, Do
from checkers.reproduce.checks import Check
from checkers.reproduce.group_member import GROUP, GroupMember, GroupProtocol
from checkers.reproduce.reproduction import Seen
from checkers.reproduce.stage import Stage
from checkers.reproduce.topics import CONSUMER_OFFSETS, create
from reference_impl.wire.messages.apis import Api


def create_group_coordinator(*brokers: int) -> Do:
    """Returns an action that creates the topic `__consumer_offsets` with one partition, which has
    its replicas on `brokers`. The first of them is the group coordinator.
    """
    return create(CONSUMER_OFFSETS, *brokers, cleanup_policy="compact")


def create_transaction_coordinator(*brokers: int) -> Do:
    """Returns an action that creates the topic `__transaction_state` with one partition, which has
    its replicas on `brokers`. The first of them is the transaction coordinator.
    """
    return create(TRANSACTION_STATE, *brokers, cleanup_policy="compact")


def coordinates_group(broker: int, *, at: int) -> Check:
    """Returns a check that succeeds if the metadata of the broker `at` has `broker` as the
    coordinator of the group.
    """

    def check(stage: Stage) -> Seen:
        body = {"key_type": 0, "coordinator_keys": (GROUP,)}
        found = stage.call(Api.FIND_COORDINATOR, 4, body, at)["coordinators"][0]
        text = f"group coordinator {found['node_id']}, {found['error_code']}"
        return Seen(reached=found["node_id"] == broker, text=text)

    return check


def commit_in_transaction(name: str) -> Do:
    """Returns an action in which a consumer commits its position in a transaction."""
    return lambda stage: stage.group_members[name].commit_in_transaction(stage.servers)


def join_group(name: str, instance: str | None = None, protocol: GroupProtocol = "consumer") -> Do:
    """Returns an action that starts a consumer, which joins the group. `instance` is its
    group.instance.id, or None for a dynamic member. `protocol` is its group.protocol.
    """

    def do(stage: Stage) -> None:
        stage.group_members[name] = GroupMember.join(
            stage.servers, stage.topic.name, instance, protocol
        )

    return do


def leave_group(name: str) -> Do:
    """Returns an action that closes a consumer, which leaves the group."""
    return lambda stage: stage.group_members.pop(name).close()


def commit(name: str) -> Do:
    """Returns an action that commits the position of a consumer, and waits for the response."""
    return lambda stage: stage.group_members[name].commit()


def consume(name: str) -> Do:
    """Returns an action that polls until the consumer receives a record or fails, for at most 30 s.
    It stores the record, the fatal error, or `no record` in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = stage.group_members[name].poll()

    return do
