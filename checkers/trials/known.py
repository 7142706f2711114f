"""The programs that the simulation has found, by suite, claim and setting.

A program is the list of calls of a run. Some programs break a claim outside its condition in the
simulation: on a real system, they are tried first outside the condition. Other programs break a
claim by a seeded bug of the simulated broker: they are tried inside the condition, where a real
broker must not break the claim. They lead to situations in which a bug does harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from checkers.claim_record import Decided, kept
from properties.suites.search.programs import Call, calls_in

_BEGINS: Final = re.compile(r"^(?=from properties\.suites)", re.MULTILINE)

Program = tuple[Call, ...]

# A leader that is alone acknowledges records, dies, and another replica is elected without them.
_UNCLEAN: Final = """
        state.leave_alone()
        state.send_and_await(count=1)
        state.take_turns(count=1)
    """
# Where the simulation's program needs a power that few systems have, one that needs none.
DIRECTED: Final = {
    ("elections", "isr_shrinks", "min.insync.replicas=1"): """
        state.leave_alone()
        state.send_and_await(count=1)
    """,
    **dict.fromkeys(
        (
            ("elections", claim, "unclean")
            for claim in (
                "unclean_election",
                "clean_election",
                "wait_for_last_leader",
                "writes_to_leader",
            )
        ),
        _UNCLEAN,
    ),
    ("retention", "retention_loses", "by size"): """
        state.leave(away_ms=700)
        state.send(count=3)
        state.send(count=3)
        state.pass_time(pause_ms=400)
    """,
    ("log", "order_is_per_partition", "two partitions"): """
        state.send(count=1, place=1, writer=0)
        state.pass_time(pause_ms=400)
        state.read_from(offset=0, place=1)
    """,
    ("transactions", "writes_may_repeat_before_commit", "V2"): """
        state.send(count=1)
        state.abort()
        state.send(count=1)
        state.commit()
    """,
    ("transactions", "writes_may_repeat_before_commit", "read_uncommitted"): """
        state.send(count=1)
        state.abort()
        state.send(count=1)
        state.commit()
    """,
}


def recorded(suite: str, claim: str, setting: str) -> tuple[Program, ...]:
    """Returns the recorded programs that break the claim, or reach its goals, in this setting.

    None of them needs a seeded bug.
    """
    rows = (row for row in _rows(suite) if row.claim == claim and row.where == setting)
    directed = DIRECTED.get((suite, claim, setting))
    return (
        *(() if directed is None else (calls_in(directed),)),
        *(program for row in rows for program in _programs(row)),
    )


def fragile(suite: str, setting: str) -> tuple[Program, ...]:
    """Returns the recorded programs that detect seeded bugs in this setting, each once."""
    rows = (row for row in _rows(suite) if row.where.startswith(f"{setting}, bug "))
    return tuple(dict.fromkeys(program for row in rows for program in _programs(row)))


def _rows(suite: str) -> Iterator[Decided]:
    return (row for row in _record() if row.engine == "suite" and row.name == suite)


@cache
def _record() -> tuple[Decided, ...]:
    return tuple(kept())


def _programs(row: Decided) -> Iterator[Program]:
    for text in _BEGINS.split(row.counterexample):
        if calls := calls_in(text):
            yield calls
