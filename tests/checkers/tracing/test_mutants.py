"""At least 99 of 100 altered traces are rejected; those altered without effect do not count."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from checkers.tracing.log_lines import log_lines
from checkers.tracing.reading import read
from checkers.tracing.replication import PartitionReplication
from tests.checkers.tracing.logs import (
    advances,
    appends,
    copies,
    created,
    fetches,
    follows,
    leads,
    records,
    trace,
)
from tests.checkers.tracing.mutants import judged, mutants

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace"
SHARE = 0.05  # of all mutants of the recorded trace; the benchmark judges all

# Why a mutant that is not equivalent may survive.
WHY = {
    ("altered follower", "RECORD"): "both followers fetched from the same offset",
    ("dropped", "LEAD"): "the leader of a new partition leads from the start",
    ("dropped", "FOLLOW"): "a follower of a new partition follows from the start",
    ("dropped", "LOAD"): "an empty log, or a restart that lost nothing",
    ("swapped", "LOAD"): "an empty log is loaded; the roles do not need it",
    ("swapped", "CREATE"): "the change after it has the same content",
    ("altered leader_epoch", "FETCH"): "a fetch in an older leader epoch is no step",
    ("swapped", "FETCH"): "the leader had not begun to lead",
    ("dropped", "COMMIT_ISR"): "the broker learned the same from the registration",
    ("dropped", "ADVANCE"): "the last one: no later line reads it",
    ("dropped", "FOLLOWER_MARK"): "the last one: no later line reads it",
    ("altered last", "APPEND"): "the last one: no later line reads it",
    ("dropped", "LEARN"): "the broker's next line has a newer partition epoch",
    ("dropped", "FETCH"): "the last fetch of the follower: no later line reads it",
    ("dropped", "CHANGE"): "the last change: no later line reads it",
    ("altered isr", "CHANGE"): "the last change: no later line reads it",
    ("altered elr", "CHANGE"): "the last change: no later line reads it",
    ("altered leader", "CHANGE"): "the last change: no later line reads it",
    ("altered leaderEpoch", "CHANGE"): "the last change: no later line reads it",
    ("altered partition_epoch", "FOLLOW"): "the next registration has the same leader",
}


def test_at_least_99_percent_of_the_mutants_of_a_real_trace_are_rejected() -> None:
    events = read(log_lines(sorted(KAFKA.glob("*.gz")))).partitions["tt-0"]
    rng = Random(20261123)
    drawn = (mutant for mutant in mutants(events) if rng.random() < SHARE)
    wrong, rejected = Counter[str](), Counter[str]()
    survivors = list[str]()
    for one in judged(events, drawn, PartitionReplication.of):
        if one.is_equivalent:
            assert one.rejected is None
            continue
        kind = one.mutant.kind
        wrong[kind] += 1
        rejected[kind] += one.rejected is not None
        if one.rejected is None and (kind, one.mutant.original.step.name) not in WHY:
            survivors.append(str(one.mutant))
    assert {"dropped", "swapped", "altered mark", "altered offset", "altered first"} <= {*wrong}
    assert wrong.total() > 500
    assert rejected.total() >= 0.99 * wrong.total(), wrong - rejected
    assert survivors == []


def test_every_mutant_of_a_small_trace_is_rejected_or_equivalent(tmp_path: Path) -> None:
    events = trace(
        tmp_path,
        (0, created()),
        (1, leads(0)),
        (2, follows(0)),
        (2, fetches(0)),
        (1, records(2, 0)),
        (1, appends(0, 1)),
        (2, copies(0, 1)),
        (2, fetches(2, last_epoch=0)),
        (1, advances(0, 2)),
        (1, records(2, 2)),
        (1, appends(2, 2)),
        (2, copies(2, 2)),
        (2, fetches(3, last_epoch=0)),
        (1, advances(2, 3)),
        (1, records(2, 3)),
    )
    results = [*judged(events, mutants(events), PartitionReplication.of)]
    kinds = Counter(one.mutant.kind for one in results)
    assert kinds["dropped"] == len(events)
    survivors = [
        f"{one.mutant.kind} {one.mutant.original.step.name}"
        for one in results
        if not one.is_equivalent and one.rejected is None
    ]
    assert survivors == [
        "dropped LEAD",  # it leads from the start
        "dropped FOLLOW",  # it follows from the start
        "altered last APPEND",  # the last append: no later line reads how long the log is
        "dropped ADVANCE",  # the last one: no later line reads the high watermark
    ]
    equivalent = {
        f"{one.mutant.kind} {one.mutant.original.step.name}" for one in results if one.is_equivalent
    }
    assert equivalent == {
        "dropped RECORD",  # the fetch was taken when it was sent
        "swapped RECORD",  # with an advance of the high watermark that needs only the fetch
        "swapped ADVANCE",
    }
