"""Finds out whether a killed Spark process caused an error. Such an error is no bug of Urteil.

If a Python worker ends, Spark runs its task a second time. If the task fails repeatedly, or if Java
ends, the analysis cannot continue. The verdicts that were reached until then are in the run folder.
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
    """Raised if a process of Spark ended in the middle of an analysis."""


def lost_process(error: BaseException) -> SparkLost | None:
    """Returns a SparkLost if the end of a Spark process caused the error, directly or through
    another error. Otherwise returns None.

    Call this function before Java is ended, because the texts of some errors come from Java.
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
    """Returns True if the error shows that the Java process did not answer a call. If Java
    answered with an exception, returns False.
    """
    of_py4j = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    return of_py4j or isinstance(error, ConnectionError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _how_java_ended() -> str | None:
    """Returns the exit code of Java, or the name of the signal that ended Java. Returns None if
    Java is running.
    """
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return None
    try:
        code = process.wait(timeout=JAVA_EXIT_TIMEOUT_S)  # its connections close a little earlier
    except subprocess.TimeoutExpired:
        return None
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
