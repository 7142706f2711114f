"""`urteil check --engine spark`: explores the states of a spec on Spark, level by level."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from checkers.cli.search_options import SPARK, SearchOptions
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.explicit.exploration import Exploration, Task
    from model.language.actions import Liveness

NO_LIVENESS: Final = "--engine spark does not decide liveness"


@contextmanager
def session_for(search: SearchOptions) -> Generator[Any]:
    """Yields a Spark session, which is closed when the `with` block ends. Yields None if the
    options select another engine than Spark.
    """
    if search.engine != SPARK:
        yield None
        return
    from checkers.spark.session import session

    with session(search.master) as spark:
        yield spark


def explored_on_spark(task: Task, search: SearchOptions, lively: Sequence[Liveness]) -> Exploration:
    """Explores the states of a spec on Spark. The verdict on each liveness property is `undecided`,
    because Spark does not decide liveness.

    Raises InputFault if there is no C compiler, or if the Spark master does not answer.
    """
    from checkers.explicit.distributed.search import search as search_in_rounds
    from checkers.explicit.exploration import Declined, Discovery
    from checkers.spark.rounds import SparkRounds

    with session_for(search) as spark, SparkRounds(spark).closed() as rounds:
        try:
            found = search_in_rounds(task, rounds)
        except Declined as reason:
            raise InputFault(f"--engine spark: {reason}") from reason
    undecided = {
        claim.name: Discovery(claim=claim, verdict="undecided", reason=NO_LIVENESS)
        for claim in lively
    }
    return replace(found, discoveries={**found.discoveries, **undecided})
