"""Actions for reproductions of Kafka's defects on real brokers: faults, requests and pauses.

An action is a function of the `Stage`, which has the running cluster and its clients. An action
that stores a text for a later check stores it in `stage.noted`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from checkers.client_config import Acks
from checkers.record.processes import Topic
from checkers.reproduce.stage import Stage
from checkers.reproduce.transactions import RawTransactions
from checkers.systems.administration import BROKER_RESOURCE, accept
from checkers.systems.proxies.rules import Rule
from checkers.systems.requests import connected
from checkers.systems.system import Ability
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.log.record_batch import decode, header
from reference_impl.wire.messages.apis import Api

Do = Callable[[Stage], None]
ALL = -1  # acks=all
READ_UNCOMMITTED = 0
READ_COMMITTED = 1
TRANSACTION_STATE = "__transaction_state"
A_LOT = 1_048_576  # bytes
TIMEOUT_MS = 5_000


def nothing(_: Stage) -> None:
    """Does nothing. This is the action of a step that only waits until its check succeeds."""


def pause_for(seconds: float) -> Do:
    """Returns an action that waits. A check after the pause can show that nothing happened
    during the pause.
    """
    return lambda _: time.sleep(seconds)


def create_topic(*replicas: int, **configs: str) -> Do:
    """Returns an action that creates the topic. Each of its partitions has its replicas on the
    brokers `replicas`.

    In the names of `configs`, `_` stands for `.`.
    """
    return lambda stage: create_on(stage, stage.topic, replicas, configs)


def create_on(
    stage: Stage, topic: Topic, replicas: Sequence[int], configs: Mapping[str, str]
) -> None:
    """Creates a topic, whose partitions all have their replicas on the brokers `replicas`. In the
    names of `configs`, `_` stands for `.`.
    """
    assignments = [
        {"partition_index": index, "broker_ids": tuple(replicas)}
        for index in range(topic.partitions)
    ]
    created = {
        "name": topic.name,
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": assignments,
        "configs": [{"name": k.replace("_", "."), "value": v} for k, v in configs.items()],
    }
    body = {"topics": [created], "timeout": TIMEOUT_MS, "validate_only": False}
    accept(stage.call(Api.CREATE_TOPICS, 5, body)["topics"][0])


def to(action: Ability, *brokers: int) -> Do:
    def do(stage: Stage) -> None:
        for broker in brokers:
            stage.do(action, broker)

    return do


def restart(action: Ability, broker: int) -> Do:
    def do(stage: Stage) -> None:
        stage.do(action, broker)
        start(broker)(stage)

    return do


def start(*brokers: int) -> Do:
    """Returns an action that starts brokers, and waits until all of them respond to clients."""

    def do(stage: Stage) -> None:
        to(Ability.START, *brokers)(stage)
        stage.cluster.await_brokers(*brokers)

    return do


def send(*values: str, acks: Acks = "all", key: bytes | None = None) -> Do:
    """Returns an action that sends records with confluent-kafka, one after another. It sends a
    record after the response to the previous record.
    """
    return lambda stage: stage.send([*values], acks, key)


def begin_send(value: str, acks: Acks = "all") -> Do:
    return lambda stage: stage.begin_send(value, acks)


def send_to(broker: int, value: str) -> Do:
    """Returns an action that sends one produce request with acks=all to a broker, even if the
    broker does not lead the partition.

    The request has a timeout of 1.5 s.
    """
    return lambda stage: stage.send_once(broker, value)


def java_send(value: str, *, joins: bool = False, hours_old: int = 0) -> Do:
    """Returns an action that sends a record with Kafka's Java producer, and does not wait for the
    acknowledgement.

    If `joins` is true, this record and the previous one are one operation in the history. The
    record's timestamp is `hours_old` hours before the time of the action.
    """
    return lambda stage: stage.java_send(value, joins=joins, hours_old=hours_old)


def begin(value: str) -> Do:
    """Returns an action that begins a transaction with confluent-kafka, sends its first record,
    and waits for the acknowledgement.
    """
    return lambda stage: stage.client.begin(value)


def begin_commit(stage: Stage) -> None:
    """Lets the producer of confluent-kafka request the commit of its transaction, and does not wait
    for the response.
    """
    stage.client.begin_commit()


def abort(stage: Stage) -> None:
    stage.client.abort()


def transaction(
    request: Callable[[RawTransactions], str], *, version: int = 1, after_s: float = 0.0
) -> Do:
    """Returns an action that sends one request of a transactional producer, by a call of `request`.
    It stores the error of the response in `stage.noted`.

    `version` is the transaction version. The action waits `after_s` seconds before the request.
    """

    def do(stage: Stage) -> None:
        time.sleep(after_s)
        stage.noted = request(stage.transactions(version))

    return do


def produce(value: str, *, version: int = 1, after_s: float = 0.0) -> Do:
    """Returns an action that sends a record in the transaction. It stores the error of the
    response in `stage.noted`. The parameters are those of `transaction`.
    """

    def request(it: RawTransactions) -> str:
        return str(it.produce(value)["error_code"])

    return transaction(request, version=version, after_s=after_s)


def use_epochs(until: int) -> Do:
    """Returns an action that repeats InitProducerId until the producer epoch is `until`, or
    until a request fails. It stores the error of the last response in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        with connected(stage.cluster.address(stage.up()[0])) as request:
            # It requests a producer id again and again, as a new producer instance does.
            stage.noted = stage.transactions(1).use_epochs(until, request)

    return do


def send_in_transaction(value: str) -> Do:
    """Returns an action that begins a transaction of transaction version 2 (KIP-890), and sends
    a record in it. The transaction is one operation of the history.
    """
    return lambda stage: stage.begin_transaction(value)


def end_transaction(*, commit: bool) -> Do:
    return lambda stage: stage.end_transaction(commit=commit)


def read(stage: Stage) -> None:
    """Reads the partition that all steps use, from its beginning to its end, with confluent-kafka
    at read_committed.
    """
    stage.read()


def reassign(*replicas: int, partition: int | None = None) -> Do:
    """Returns an action that requests a reassignment of a partition to the brokers `replicas`. The
    first of them becomes the preferred leader.

    If `partition` is None, it is the last partition of the topic. The action does not wait until
    the reassignment ends.
    """

    def do(stage: Stage) -> None:
        index = stage.index if partition is None else partition
        stage.administration().reassign({(stage.topic.name, index): replicas})

    return do


def cancel_reassignment(stage: Stage) -> None:
    stage.administration().reassign({stage.place: None})


def coordinate_at(broker: int) -> Do:
    """Returns an action that makes one broker the coordinator of every transactional id."""

    def do(stage: Stage) -> None:
        assert stage.client is not None  # the first access connects it and creates the topic
        administration = stage.administration()
        internal = [it for it in administration.replicas() if it[0] == TRANSACTION_STATE]
        # The broker gets all partitions of `__transaction_state`.
        administration.reassign(dict.fromkeys(internal, (broker,)))

    return do


def set_config(kind: int, resource: str, name: str, value: str) -> Do:
    """Returns an action that sets one configuration of a topic or of a broker. If it is a
    configuration of a broker, the request goes to this broker.
    """
    at = int(resource) if kind == BROKER_RESOURCE else None

    return lambda stage: stage.administration(at).configure(kind, resource, name, value)


def elect_preferred(at: int) -> Do:
    """Returns an action that requests a preferred leader election for the partition that all steps
    use. The request goes to the broker `at`. The preferred leader is the partition's first replica.
    """

    return lambda stage: stage.administration(at).elect([stage.place])


def elect_unclean(stage: Stage) -> None:
    """Requests an unclean election, in which any live replica can be elected. The error that no
    election is needed is ignored.
    """
    stage.administration().elect([stage.place], "unclean", {"ELECTION_NOT_NEEDED"})


def delete_topic(stage: Stage) -> None:
    body = {"topic_names": [stage.topic.name], "timeout": TIMEOUT_MS}
    accept(stage.call(Api.DELETE_TOPICS, 4, body)["responses"][0])


def prefer_disk(broker: int, disk: int) -> Do:
    """Returns an action that chooses the disk on which the broker will create its replica. Disks
    are numbered from 1.
    """

    def do(stage: Stage) -> None:
        topics = [{"name": stage.topic.name, "partitions": [stage.index]}]
        path = str(stage.log_dirs_of(broker)[disk - 1])
        body = {"dirs": [{"path": path, "topics": topics}]}
        answer = stage.call(Api.ALTER_REPLICA_LOG_DIRS, 2, body, broker)["results"][0]
        # The request comes before the topic exists. The broker answers with this error, but
        # remembers the disk.
        if answer["partitions"][0]["error_code"] != "UNKNOWN_TOPIC_OR_PARTITION":
            accept(answer["partitions"][0])

    return do


def fail_disk(broker: int) -> Do:
    """Returns an action that renames the last directory in the log.dirs of a running broker. The
    broker's next checkpoint in this directory fails.
    """
    return lambda stage: stage.fail_disk(broker)


def lose_disk(broker: int, *, listed: bool) -> Do:
    """Returns an action that deletes the last directory in the log.dirs of a broker that is down,
    with all its data.

    If `listed` is true, log.dirs still lists this directory, which is empty after the action.
    """
    return lambda stage: stage.lose_disk(broker, listed=listed)


def delete_records(before: int, at: int) -> Do:
    """Returns an action that deletes the records before an offset. It sends the request to the
    broker `at`, which must be the leader. A timeout is not a failure.
    """

    # The leader deletes its own records at once, and answers after its followers have deleted
    # theirs.
    return lambda stage: stage.administration(at).delete_records(stage.place, before)


def delete_all(before: int, at: int) -> Do:
    """Returns an action that requests the deletion of all records below the offset `before`. The
    request goes to the broker `at`. The action stores the response in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        partitions = [{"partition_index": stage.index, "offset": before}]
        topics = [{"name": stage.topic.name, "partitions": partitions}]
        body = {"topics": topics, "timeout": TIMEOUT_MS}
        answer = stage.call(Api.DELETE_RECORDS, 2, body, at)["topics"][0]["partitions"][0]
        stage.noted = f"{answer['error_code']}, low watermark {answer['low_watermark']}"

    return do


def list_offsets(timestamp: int, at: int) -> Do:
    """Returns an action that queries an offset of the partition's log on the broker `at`, and
    stores it in `stage.noted`. The offset is the log start offset if `timestamp` is -2, and the
    high watermark if `timestamp` is -1.
    """

    def do(stage: Stage) -> None:
        partition = {"partition_index": stage.index, "timestamp": timestamp}
        topic = {"name": stage.topic.name, "partitions": [partition]}
        body = {"replica_id": -1, "isolation_level": READ_UNCOMMITTED, "topics": [topic]}
        answer = stage.call(Api.LIST_OFFSETS, 5, body, at)["topics"][0]["partitions"][0]
        accept(answer)
        stage.noted = f"offset {answer['offset']}"

    return do


def fetch_committed(at: int, index: int | None = None) -> Do:
    """Returns an action that fetches a partition from the broker `at`, at read_committed. It
    stores the last stable offset and the values of the records in `stage.noted`.

    The partition is number `index`, or the last one of the topic if `index` is None.
    """

    def do(stage: Stage) -> None:
        topic, partition = stage.place
        last_stable, values = committed_values(
            stage, topic, partition if index is None else index, at
        )
        stage.noted = f"last stable offset {last_stable}, records [{' '.join(values)}]"

    return do


def committed_values(stage: Stage, topic: str, index: int, at: int) -> tuple[int, list[str]]:
    """Returns the last stable offset of a partition on the broker `at`, and the values of the
    records below this offset. Aborted records are included.
    """
    partition = {"partition": index, "fetch_offset": 0, "partition_max_bytes": A_LOT}
    body = {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 0,
        "max_bytes": A_LOT,
        "isolation_level": READ_COMMITTED,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }
    answer = stage.call(Api.FETCH, 4, body, at)["responses"][0]["partitions"][0]
    accept(answer)
    values = [
        (record.value or b"").decode()
        for batch in whole_batches(answer["records"] or b"")
        if not header(batch).is_control
        for _, record in decode(batch)
    ]
    return answer["last_stable_offset"], values


def rules(**named: Rule) -> Do:
    """Returns an action that adds fault rules to the proxies, such as a cut link. Each rule has
    a name, by which the action `lift` ends it.
    """

    def do(stage: Stage) -> None:
        for name, rule in named.items():
            stage.add_rule(name, rule)

    return do


def lift(*names: str) -> Do:
    return lambda stage: stage.lift_rules(*names)


def all_of(*actions: Do) -> Do:
    def do(stage: Stage) -> None:
        for action in actions:
            action(stage)

    return do
