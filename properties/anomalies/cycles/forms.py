"""The forms of cycles as rows of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from model.histories import History
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.cycles.cycle import FORMS, G2, G_SINGLE, Cycle, cycles
from properties.anomalies.cycles.dependencies import (
    anti_dependencies,
    read_dependencies,
    write_dependencies,
)
from properties.anomalies.cycles.explanation import explain
from properties.anomalies.declarations import (
    ALWAYS,
    NOTHING_DECLARED,
    READ_UNCOMMITTED,
    RW_DEPS,
    WW_DEPS,
    Declarations,
)

_STATEMENTS: Final = {
    "G0": "The writes of two operations do not interleave.",
    "G1c": "Information does not flow in a circle.",
    G_SINGLE: "Who saw an operation missed nothing that comes before it.",
    G2: "Operations that read and write have an order in which none of them misses anything.",
}
_EXPLANATIONS: Final = {
    "G0": "Each of the operations wrote behind the other, on different keys or in turn on one.",
    "G1c": (
        "An operation was given what depends on its own outcome: a reader saw a transaction before "
        "its end, or the log shows records in an order in which they cannot have come about."
    ),
    G_SINGLE: (
        "A reader was given a record that came about after one it had not been given: it saw "
        "one partition before the other, or half of a transaction."
    ),
    G2: "Each operation missed what another did, and none can have come first.",
}
_TIMES: Final = {
    "": ("", ""),
    "-process": (
        " This holds with the order in which each process did things.",
        " What a process did later came before what it did earlier.",
    ),
    "-realtime": (
        " This holds with the order in which things happened.",
        " What began later came before what had ended.",
    ),
}
_PERMITS: Final[Mapping[str, Mapping[str, str]]] = {
    "G0": {ALWAYS: "Kafka interleaves the records of transactions; none owns a log"},
    "G1c": {
        WW_DEPS: "writes of transactions interleave, so a circle through a write is no fault",
        READ_UNCOMMITTED: "a transaction is read while it is open",
    },
    G_SINGLE: {ALWAYS: "Kafka does not promise that partitions are read at one instant"},
    G2: {ALWAYS: "Kafka does not promise that partitions are read at one instant"},
}
_ONLY_WITH: Final = {"G0": WW_DEPS, G_SINGLE: RW_DEPS, G2: RW_DEPS}
_WORDS: Final = {
    "ww": "sent the value before it in the log of a key",
    "wr": "sent what it polled",
    "rw": "polled a key up to the value before what it sent",
    "process": "was done before by its process",
    "realtime": "ended before it began",
}


def anomalies(declared: Declarations) -> Iterator[Anomaly]:
    """Every form, the strongest first; G0 follows `ww_deps`, G-single and G2 follow `rw_deps`."""
    for form in (*FORMS, G_SINGLE, G2):
        yield _anomaly(form, declared)


def _anomaly(form: str, declared: Declarations) -> Anomaly:
    base, time = form.removesuffix("-process").removesuffix("-realtime"), ""
    if form != base:
        time = form.removeprefix(base)
    kinds = FORMS.get(form, (*FORMS["G1c"], "rw"))
    before = ", or ".join(_WORDS[kind] for kind in kinds)
    once = " exactly once" if form == G_SINGLE else ""
    return Anomaly(
        id=form,
        statement=_STATEMENTS[base] + _TIMES[time][0],
        rule=(
            f"Operations in a circle, each of which {before}"
            + (f"; the last of these{once}." if "rw" in kinds else ".")
        ),
        explanation=_EXPLANATIONS[base] + _TIMES[time][1],
        permits=_PERMITS[base],
        source="jepsen.tests.kafka, Elle; Adya, Weak Consistency",
        observes=_OBSERVES[base],
        row=Cycle,
        find=partial(cycles, form=form, declared=declared),
        observed=partial(_observed, base=base, declared=declared),
        explain=explain,
        only_with=_ONLY_WITH.get(base),
    )


_OBSERVES: Final = {
    "G0": "neighbours in a log, sent by different operations",
    "G1c": "records polled from other operations",
    G_SINGLE: "records that a reader had not been given yet",
    G2: "records that a reader had not been given yet",
}


def _observed(history: History, base: str, declared: Declarations) -> int:
    if base == "G1c":
        return sum(1 for _ in read_dependencies(history))
    if base == "G0":
        return sum(1 for _ in write_dependencies(history)) if declared.ww_deps else 0
    return sum(1 for _ in anti_dependencies(history)) if declared.rw_deps else 0


ANOMALIES: Final = tuple(anomalies(NOTHING_DECLARED))
