"""Actions on pipelines, for reproductions on real brokers. A pipeline is an application that reads
records in the group `g`, and sends its results in transactions.
"""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, TopicPartition

from checkers.reproduce.actions import Do, all_of
from checkers.reproduce.group_member import GROUP
from checkers.reproduce.pipeline import OUT, Command, Library, Pipeline, program
from checkers.reproduce.stage import Stage
from checkers.systems.administration import accept
from reference_impl.wire.messages.apis import Api

PENDING: Final = "UNSTABLE_OFFSET_COMMIT"  # the marker of the transaction has not arrived
PENDING_FOR_S: Final = 20.0


def start_pipeline(library: Library) -> Do:
    """Returns an action that starts the application with one of the client libraries."""

    def do(stage: Stage) -> None:
        log = stage.cluster.folder / "pipeline.log"
        command = program(library, stage.cluster.jars.classpath)
        stage.pipelines.append(Pipeline.start(command, stage.servers, stage.topic.name, log))

    return do


def begin_command(command: Command) -> Do:
    """Returns an action that sends a command to the newest pipeline, and does not wait for the
    result.
    """
    return lambda stage: stage.pipelines[-1].begin(command)


def await_result(stage: Stage) -> None:
    """Waits for the result of the newest command, and stores it in `stage.noted`."""
    stage.noted = stage.pipelines[-1].result()


def command(name: Command) -> Do:
    """Returns an action that sends a command to the newest pipeline. It stores the result in
    `stage.noted`.
    """
    return all_of(begin_command(name), await_result)


def fetch_offset(at: int) -> Do:
    """Returns an action that fetches the committed offset of the group from its coordinator, the
    broker `at`. It waits while an offset is pending, and stores the offset in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        topic = {"name": stage.topic.name, "partition_indexes": (stage.index,)}
        body = {"group_id": GROUP, "topics": [topic], "require_stable": True}
        until = time.monotonic() + PENDING_FOR_S
        while True:
            answer = stage.call(Api.OFFSET_FETCH, 7, body, at)
            accept(answer)
            (partition,) = answer["topics"][0]["partitions"]
            if partition["error_code"] != PENDING or time.monotonic() > until:
                break
            time.sleep(0.1)
        accept(partition)
        stage.noted = f"offset {partition['committed_offset']}"

    return do


def kill_pipeline(stage: Stage) -> None:
    """Kills the process of the newest pipeline."""
    stage.pipelines.pop().close()


def read_results(stage: Stage) -> None:
    """Reads the results of the pipelines from the beginning to the end, at read_committed. Stores
    them in `stage.noted`.
    """
    consumer: Any = Consumer({
        "bootstrap.servers": stage.servers,
        "group.id": "results",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "log_level": 0,
    })  # fmt: skip
    consumer.assign([TopicPartition(OUT, 0, 0)])
    values: list[str] = []
    until = time.monotonic() + PENDING_FOR_S
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
        elif message is not None and message.error().code() == KafkaError._PARTITION_EOF:
            break
        elif time.monotonic() > until:
            values.append("(not read to the end)")
            break
    consumer.close()
    stage.noted = " ".join(values)
