"""Actions on members of a consumer group, for reproductions on real brokers."""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import TRANSACTION_STATE, Do
from checkers.reproduce.assigned_pipeline import AssignedPipeline
from checkers.reproduce.checks import Check
from checkers.reproduce.group_member import GROUP, GroupMember, GroupProtocol
from checkers.reproduce.reproduction import Seen
from checkers.reproduce.stage import Stage
from checkers.reproduce.topics import CONSUMER_OFFSETS, create
from checkers.systems.administration import accept
from reference_impl.wire.messages.apis import Api

NO_OFFSET: Final = -1  # the committed offset of a group that has none


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


def has_offset(offset: int | None, *, at: int) -> Check:
    """Returns a check that succeeds if the broker `at` returns `offset` as the committed offset of
    the group. If `offset` is None, the group must have no committed offset.
    """
    return _fetches_offset(f"committed offset {NO_OFFSET if offset is None else offset}", at)


def refuses_offsets(*, at: int) -> Check:
    """Returns a check that succeeds if the broker `at` answers a fetch of the committed offset with
    the error that it does not coordinate the group.
    """
    return _fetches_offset("NOT_COORDINATOR", at)


def _fetches_offset(answer: str, at: int) -> Check:
    def check(stage: Stage) -> Seen:
        topics = [{"name": stage.topic.name, "partition_indexes": (stage.index,)}]
        body = {"groups": [{"group_id": GROUP, "topics": topics}], "require_stable": True}
        group = stage.call(Api.OFFSET_FETCH, 8, body, at)["groups"][0]
        found = [each for topic in group["topics"] for each in topic["partitions"]]
        errors = [each["error_code"] for each in (group, *found) if each["error_code"] != "NONE"]
        text = errors[0] if errors else f"committed offset {found[0]['committed_offset']}"
        return Seen(reached=text == answer, text=text)

    return check


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


def fetch_committed_offset(at: int) -> Do:
    """Returns an action that requests the committed offset of the group from the broker `at`, its
    coordinator. It stores the offset in `stage.noted`. It is -1 if the group has none.
    """

    def do(stage: Stage) -> None:
        topic = {"name": stage.topic.name, "partition_indexes": (stage.index,)}
        body = {"group_id": GROUP, "topics": [topic], "require_stable": False}
        answer = stage.call(Api.OFFSET_FETCH, 7, body, at)
        accept(answer)
        (partition,) = answer["topics"][0]["partitions"]
        accept(partition)
        stage.noted = f"committed offset {partition['committed_offset']}"

    return do


def consume(name: str) -> Do:
    """Returns an action that polls until the consumer receives a record or fails, for at most 30 s.
    It stores the record, the fatal error, or `no record` in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = stage.group_members[name].poll()

    return do


def start_pipeline(name: str, at: int | None = None) -> Do:
    """Returns an action that starts a pipeline, which fences the others. Its clients know all
    brokers, or only the broker `at` if it is not None. If the pipeline is already running, it
    fences the others again.
    """

    def do(stage: Stage) -> None:
        if name not in stage.assigned_pipelines:
            host, port = stage.cluster.address(at or 1)
            servers = stage.servers if at is None else f"{host}:{port}"
            stage.assigned_pipelines[name] = AssignedPipeline(
                servers, stage.topic.name, stage.index
            )
        stage.assigned_pipelines[name].fence_others()

    return do


def begin_at_committed(name: str) -> Do:
    """Returns an action in which a pipeline fetches the committed offset, and moves to it. It
    stores the offset in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = f"offset {stage.assigned_pipelines[name].begin_at_committed()}"

    return do


def process(name: str) -> Do:
    """Returns an action in which a pipeline processes its next input in a transaction. It stores
    the input in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = stage.assigned_pipelines[name].process()

    return do
