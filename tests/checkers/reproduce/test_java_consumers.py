"""The Java consumers that reproductions use, and the actions of schedules on them.

The tests start no Java program. They start a Python program that prints lines in the format of the
Java program.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import confluent_kafka
import pytest

from checkers.reproduce import java_consumer, topics
from checkers.reproduce.actions import nothing, send
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.committed_offset import committed_offset, coordinator
from checkers.reproduce.group_member import GROUP
from checkers.reproduce.java_consumer import JavaConsumer
from checkers.reproduce.java_group_actions import (
    OUTPUTS,
    in_work,
    kill_consumer,
    output,
    pause_consumer,
    poll,
    received,
    results,
    resume_consumer,
    start_consumer,
    takes_over,
    work,
)
from checkers.reproduce.stage import Stage
from tests.checkers.reproduce.test_stage import create, take

ECHO = """
import sys
number = 0
for line in sys.stdin:
    if line == "poll\\n":
        print(f"r{number}\\t{number}" if number < 3 else "", flush=True)
        number += 1
    else:
        print(line, end="", flush=True)
"""


@pytest.fixture
def stage_with_consumers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Returns a stage on which each Java consumer receives r0, r1 and r2, and then nothing."""

    def start(*_: Any) -> JavaConsumer:
        process = subprocess.Popen(
            [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return JavaConsumer(process)

    monkeypatch.setattr(
        Stage,
        "start_java_consumer",
        lambda stage, name, _: stage.java_consumers.update({name: start()}),
    )
    take(stage, create(1), partition(leader=1))
    return stage


def commit(stage: Stage, offset: int) -> None:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": stage.servers, "group.id": GROUP})
    place = confluent_kafka.TopicPartition(stage.topic.name, stage.index, offset)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def test_a_consumer_is_started_with_its_settings(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(java_consumer, "start", lambda *call: started.append(call))
    log = tmp_path / "log"
    JavaConsumer.start("jars", "host:1", "t", {"group.protocol": "classic"}, log)

    ((command, path),) = started
    assert path == log
    program = next(i for i, word in enumerate(command) if word.endswith("Consumer.java"))
    assert command[program - 2 : program] == ["-cp", "jars"]
    assert command[program + 1 : program + 3] == ["host:1", "t"]
    assert {"group.id=g", "max.poll.records=1", "group.protocol=classic"} <= {*command}


def test_a_consumer_without_a_record_has_received_nothing(stage_with_consumers: Stage) -> None:
    stage = stage_with_consumers
    take(stage, start_consumer("m1", group_protocol="classic"), done)
    assert take(stage, poll("m1"), in_work("m1", committed=False)).reached
    assert received("m1", "r0")(stage).reached
    for _ in range(3):
        poll("m1")(stage)

    assert stage.java_consumers["m1"].received is None
    assert not in_work("m1", committed=False)(stage).reached
    assert not takes_over("m1", "m1", skips=False)(stage).reached


def test_work_ends_when_the_record_in_work_is_committed(stage_with_consumers: Stage) -> None:
    stage = stage_with_consumers
    take(stage, send("r0", "r1", "r2"), acknowledged("r0", "r1", "r2"))
    commit(stage, 1)
    assert committed_offset(stage, coordinator(stage)) == 1
    take(stage, start_consumer("m1"), done)
    seen = take(stage, work("m1", records=3, for_s=0.0), in_work("m1", committed=True))
    assert seen.reached
    assert seen.text == "m1 works on r0, offset 0; committed offset: 1"

    assert take(stage, work("m1", records=1, for_s=0.0), in_work("m1", committed=False)).reached
    assert take(stage, kill_consumer("m1"), done).reached


def test_the_next_member_skips_the_record_in_work_or_gets_it_again(
    stage_with_consumers: Stage,
) -> None:
    stage = stage_with_consumers
    for name, polls in (("m1", 2), ("m2", 3), ("m3", 2), ("m4", 1)):
        take(stage, start_consumer(name), done)
        for _ in range(polls):
            poll(name)(stage)

    skips = takes_over("m2", "m1", skips=True)(stage)
    assert (skips.reached, skips.text) == (True, "m2 gets r2, m1 was working on r1")
    assert not takes_over("m2", "m1", skips=False)(stage).reached
    assert takes_over("m3", "m1", skips=False)(stage).reached
    assert not takes_over("m4", "m1", skips=False)(stage).reached


def test_an_ended_program_hides_no_other_client(stage_with_consumers: Stage) -> None:
    stage = stage_with_consumers
    take(stage, start_consumer("m1"), done)
    take(stage, start_consumer("m2"), done)
    stage.java_consumers["m1"].process.kill()
    stage.java_consumers["m1"].process.wait()
    assert stage.java_consumers["m1"].request("poll") == ""

    stage.close()
    assert stage.java_consumers["m2"].process.returncode is not None


def test_a_paused_consumer_goes_on_after_it_resumes(stage_with_consumers: Stage) -> None:
    stage = stage_with_consumers
    take(stage, start_consumer("m1"), done)
    take(stage, pause_consumer("m1"), done)
    take(stage, resume_consumer("m1"), done)

    assert take(stage, poll("m1"), received("m1", "r0")).reached
    assert not received("m1", "r1")(stage).reached


def test_the_results_are_the_outputs_and_the_committed_offset(
    stage_with_consumers: Stage,
) -> None:
    stage = stage_with_consumers
    assert take(stage, topics.create(OUTPUTS, 1), results(offset=-1)).reached
    take(stage, start_consumer("m1"), done)
    # The program prints the command instead of an exception.
    command = f"output {OUTPUTS} a,b 2"
    assert take(stage, output("m1", "a", "b", offset=2), is_noted(command)).reached

    producer = confluent_kafka.Producer({"bootstrap.servers": stage.servers})
    producer.produce(OUTPUTS, value="a", partition=0)
    producer.flush(10)
    commit(stage, 1)

    seen = take(stage, nothing, results("a", offset=1), within_s=10)
    assert (seen.reached, seen.text) == (True, "outputs [a], committed offset 1")
