"""Actions on pipelines, for reproductions on real brokers. A pipeline is an application that reads
records in the group `g`, and sends its results in transactions.
"""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, TopicPartition

from checkers.reproduce.actions import Do, all_of
from checkers.reproduce.pipeline import OUT, Command, Library, Pipeline, program
from checkers.reproduce.stage import Stage

READ_FOR_S: Final = 20.0


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
    until = time.monotonic() + READ_FOR_S
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
