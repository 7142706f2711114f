"""Finds out whether an error comes from a killed Spark process. Such an error is no bug of Urteil.

Spark runs a task again if its Python worker ends. If the task fails again, or if Java ends, the
analysis cannot go on. The verdicts that were reached before are in the run folder.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from model.faults import InputFault

WORKER_ENDED: Final = "Python worker exited unexpectedly"
JAVA_EXIT_TIMEOUT_S: Final = 10.0
NEXT_STEP: Final = (
    "the system kills a process if memory is short; free memory and start the command again, or use"
    " --engine local"
)


class SparkLost(InputFault):
    """A process of Spark has ended in the middle of an analysis."""


def lost_process(error: BaseException) -> SparkLost | None:
    """Returns a SparkLost if the error, or one of its causes, is the end of a process of Spark.

    Call this function before Java is ended, because Java has the text of some errors.
    """
    every = [*_chain(error)]
    if any(map(is_unanswered, every)):
        how = _how_java_ended()
        return (
            None if how is None else SparkLost(f"Spark's Java process ended ({how}); {NEXT_STEP}")
        )
    of_tasks = (one for one in every if isinstance(one, PySparkException | Py4JError))
    if any(WORKER_ENDED in str(one) for one in of_tasks):
        return SparkLost(f"a Python worker of Spark ended in each attempt of a task; {NEXT_STEP}")
    return None


def is_unanswered(error: BaseException) -> bool:
    """Returns True if the Java process did not answer a call; an exception is an answer."""
    of_py4j = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    return of_py4j or isinstance(error, ConnectionError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _how_java_ended() -> str | None:
    """Returns an exit code or a signal; None if Java is running."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    try:
        code = process.wait(timeout=JAVA_EXIT_TIMEOUT_S)  # its connections close a little earlier
    except subprocess.TimeoutExpired:
        return None
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
