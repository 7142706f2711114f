"""If a process of Spark is killed, the analysis ends with an error of one line, or Spark runs the
task again.

The test's own tasks kill the processes. So each process is killed while it runs a task.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checkers.spark.lost import NEXT_STEP, lost_process

KILLS = r"""
import os, re, signal, sys
from functools import partial
from pathlib import Path
from checkers.spark.lost import SparkLost, lost_process
from checkers.spark.run import in_one_task
from checkers.spark.session import session

def kill_worker():
    os.kill(os.getpid(), signal.SIGKILL)

def kill_worker_once(tried):
    if not tried.exists():
        tried.touch()
        kill_worker()
    return "done by the second worker"

def kill_java():  # the parent of the process that forks workers
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    os.kill(int(re.search(r"PPid:\s*(\d+)", status)[1]), signal.SIGKILL)
    signal.pause()

try:
    with session() as spark:
        print(in_one_task(spark, partial(kill_worker_once, Path(sys.argv[1]))))
        try:
            in_one_task(spark, kill_worker)
        except Exception as error:
            print(lost_process(error))
        in_one_task(spark, kill_java)
except SparkLost as lost:
    print(lost)
"""


def test_a_killed_worker_or_java_process_is_named_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLS, str(tmp_path / "tried")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "done by the second worker",
        f"a Python worker of Spark ended in each attempt of a task; {NEXT_STEP}",
        f"Spark's Java process ended (SIGKILL); {NEXT_STEP}",
    ], done.stderr


@pytest.mark.parametrize("error", [ConnectionRefusedError(), ValueError()])
def test_an_error_while_java_runs_or_was_never_started_stays_itself(error: Exception) -> None:
    assert lost_process(error) is None
