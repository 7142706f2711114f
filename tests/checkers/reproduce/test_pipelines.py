"""Pipelines of reproductions, on the reference broker."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from checkers.reproduce.actions import nothing, send
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.committed_offset import has_offset
from checkers.reproduce.pipeline import OUT, Pipeline
from checkers.reproduce.pipeline_actions import (
    command,
    kill_pipeline,
    read_results,
    start_pipeline,
)
from checkers.reproduce.stage import Stage
from checkers.reproduce.topics import create, led
from tests.checkers.reproduce import test_stage
from tests.checkers.reproduce.test_stage import take

ECHO = """
import sys
for line in sys.stdin:
    print(f"did {line.strip()}", flush=True)
    if line == "close\\n":
        break
"""


def test_each_command_has_its_result_until_the_program_ends(tmp_path: Path) -> None:
    pipeline = Pipeline.start([sys.executable, "-c", ECHO], "servers", "topic", tmp_path / "log")
    for name in ("process", "close"):
        pipeline.begin(name)
    results = [pipeline.result() for _ in range(3)]
    pipeline.close()

    assert results == ["did process", "did close", "the application has ended"]


def test_a_pipeline_commits_its_results_and_its_offset(stage: Stage, tmp_path: Path) -> None:
    cluster: Any = stage.cluster
    cluster.folder, cluster.jars = tmp_path, SimpleNamespace(classpath="")
    take(stage, test_stage.create(1), partition(leader=1))
    assert take(stage, create(OUT, 1), led(OUT, 1, isr=(1,), preferred=1)).reached
    take(stage, send("a", "b"), acknowledged("a", "b"))

    take(stage, start_pipeline("librdkafka"), done)
    assert take(stage, command("process"), is_noted("a")).reached
    assert take(stage, command("offsets"), is_noted("done")).reached
    assert take(stage, command("commit"), is_noted("done")).reached
    coordinator = 2
    assert take(stage, nothing, has_offset(1, at=coordinator), within_s=20).reached
    assert take(stage, read_results, is_noted("a")).reached
    take(stage, kill_pipeline, done)
    assert not stage.pipelines
