"""Programs (lists of calls) that break a claim. Trials (test runs) execute these programs on real
systems.

Most of the programs were found by the simulation. For some claims, the program from the simulation
does not suit a real system. The table `DIRECTED` has other programs for these claims. There are two
kinds of programs:

- A program for a claim that need not hold in a setting, which is a configuration of the cluster.
  Trials execute this program before they make random calls, in order to break the claim.
- A program for a claim that must hold in the setting. In the simulation, the program broke the
  claim because a bug was put into the simulated broker on purpose (a seeded bug). If a real broker
  has the same bug, the program shows the bug.
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
# A leader that is cut off acknowledges a record with acks=1, and loses it to the next leader.
_ISOLATED: Final = """
        state.isolate_leader()
        state.send_and_await(count=1)
        state.await_election()
    """
# The next leader assigns the same offset to another record.
_REASSIGNED: Final = f"""{_ISOLATED}
        state.heal()
        state.pass_time(pause_ms=400)
        state.send_and_await(count=1)
        state.send_and_await(count=1)
    """
# Kafka keeps the offsets of an empty group for a minute at least: about 7,000 virtual ms.
_LONG: Final = "        state.pass_time(pause_ms=500)\n" * 13
# Where the simulation's program needs a power that few systems have, or depends on its timing.
DIRECTED: Final = {
    ("elections", "isr_shrinks", "min.insync.replicas=1"): """
        state.leave_alone()
        state.send_and_await(count=1)
    """,
    # Where a goal is out of reach, the program that reaches it elsewhere is tried.
    ("elections", "isr_shrinks", "clean"): """
        state.leave_alone()
        state.send_and_await(count=1)
    """,
    ("elections", "unclean_election", "min.insync.replicas=1"): _UNCLEAN,
    **dict.fromkeys(
        (
            ("elections", claim, "unclean")
            for claim in (
                "unclean_election",
                "clean_election",
                "committed_definition",
                "identical_replicas",
                "wait_for_last_leader",
                "writes_to_leader",
            )
        ),
        _UNCLEAN,
    ),
    ("elections", "min_isr_refuses", "acks=1"): _ISOLATED,
    ("replication", "acks_levels", "acks=1"): _ISOLATED,
    ("replication", "committed_survives", "acks=1"): _ISOLATED,
    ("replication", "reads_are_committed", "unclean"): """
        state.split_one_way(sender=0, receiver=1)
        state.split_one_way(sender=0, receiver=2)
        state.split_one_way(sender=1, receiver=0)
        state.split_one_way(sender=1, receiver=2)
        state.split_one_way(sender=2, receiver=0)
        state.split_one_way(sender=2, receiver=1)
        state.pass_time(pause_ms=900)
        state.send_and_await(count=1)
        state.pass_time(pause_ms=400)
        state.crash_leader()
        state.await_election()
    """,
    ("replication", "offset_identifies", "acks=1, no retries"): _REASSIGNED,
    ("replication", "linearizable_offsets", "acks=1, no retries"): _REASSIGNED,
    ("replication", "linearizable_offsets", "idempotent"): """
        state.isolate_leader()
        state.send(count=1)
        state.await_election()
        state.pass_time(pause_ms=900)
    """,
    ("retention", "retention_loses", "by size"): """
        state.leave(away_ms=700)
        state.send(count=3)
        state.send(count=3)
        state.pass_time(pause_ms=400)
    """,
    ("groups", "position_resumes", "KIP-848, soon forgotten"): f"""
        state.join()
        state.stand_empty()
        {_LONG}
    """,
    ("log", "order_is_per_partition", "two partitions"): """
        state.send(count=1, place=1, writer=0)
        state.pass_time(pause_ms=400)
        state.read_from(offset=0, place=1)
    """,
    ("transactions", "coordinator_log_is_replicated", "one replica"): """
        state.send(count=1)
        state.lose_coordinator()
        state.commit()
    """,
    ("transactions", "offsets_in_transaction", "one replica"): """
        state.lose_group_coordinator()
        state.ask_offset(stable=1)
    """,
    ("transactions", "retry_resumes", "one replica"): """
        state.lose_newest_instance()
        state.pass_time(pause_ms=400)
        state.zombie_commits(count=1)
        state.zombie_commits(count=1)
    """,
    ("transactions", "read_committed_waits", "read_uncommitted"): """
        state.send(count=1)
        state.pass_time(pause_ms=150)
        state.abort()
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
    """Returns the known programs (lists of calls) that decide a claim in a configuration of the
    cluster.

    These programs break the claim. If the claim states that something can happen, the programs make
    it happen instead.
    """
    rows = (row for row in _rows(suite) if row.claim == claim and row.where == setting)
    # None of these programs needs a seeded bug.
    directed = DIRECTED.get((suite, claim, setting))
    return (
        *(() if directed is None else (calls_in(directed),)),
        *(program for row in rows for program in _programs(row)),
    )


def fragile(suite: str, setting: str) -> tuple[Program, ...]:
    """Returns the programs (lists of calls) of a suite that break a claim if the cluster has a
    seeded bug. `setting` is the configuration of the cluster. No program is returned twice.
    """
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
