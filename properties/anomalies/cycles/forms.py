"""The kinds of cycles as entries of the catalogue: G0, G1c, G-single, G2 and their variants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from model.histories import History
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.cycles.cycle import FORMS, G2, G_SINGLE, Cycle, cycles
from properties.anomalies.cycles.dependencies import (
    anti_dependencies,
    possible_steps,
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
    "G0": "The writes of two operations do not interleave in both orders.",
    "G1c": "No operation reads a record that depends on its own outcome.",
    G_SINGLE: "A reader that sees an operation has missed no record that precedes that operation.",
    G2: "Operations that read and write can be ordered so that none misses an earlier write.",
}
_EXPLANATIONS: Final = {
    "G0": "Each operation wrote after the other, on different keys or alternately on one key.",
    "G1c": (
        "A reader saw records of a transaction before the transaction ended, or the log has "
        "records in an order in which they cannot have been written."
    ),
    G_SINGLE: (
        "A reader received a record that was written after one it had not received: it read one "
        "partition ahead of another, or saw half of a transaction."
    ),
    G2: "Each operation missed a write of another, so none of them can have come first.",
}
_TIMES: Final = {
    "": ("", ""),
    "-process": (
        ", where the order within each process counts as a dependency.",
        "; the cycle includes two operations of one process, in their order.",
    ),
    "-realtime": (
        ", where the order in real time counts as a dependency.",
        "; the cycle includes an operation that ended before another began.",
    ),
}
_PERMITS: Final[Mapping[str, Mapping[str, str]]] = {
    "G0": {ALWAYS: "Kafka interleaves the records of concurrent transactions in a log"},
    "G1c": {
        WW_DEPS: (
            "writes of transactions interleave, so a cycle through a write dependency is no fault"
        ),
        READ_UNCOMMITTED: "a reader at read_uncommitted sees open transactions",
    },
    G_SINGLE: {ALWAYS: "Kafka does not promise a consistent snapshot across partitions"},
    G2: {ALWAYS: "Kafka does not promise a consistent snapshot across partitions"},
}
_ONLY_WITH: Final = {"G0": WW_DEPS, G_SINGLE: RW_DEPS, G2: RW_DEPS}
_EDGES: Final = {
    "ww": "it sent the value directly before a value of the other in a key's log",
    "wr": "it sent a record that the other polled",
    "rw": "it polled a key only up to the value directly before one that the other sent",
    "process": "it ran earlier in the same process",
    "realtime": "it ended before the other began",
}


def anomalies(declared: Declarations) -> Iterator[Anomaly]:
    """Yields one anomaly for each form of cycle (G0, G1c, ..., G2). The strongest form comes first.

    The analysis looks for G0 only with the option `ww-deps`. It looks for G-single and G2 only with
    the option `rw-deps`.
    """
    for form in (*FORMS, G_SINGLE, G2):
        yield _anomaly(form, declared)


def _extended(sentence: str, clause: str) -> str:
    return sentence.removesuffix(".") + clause if clause else sentence


def _anomaly(form: str, declared: Declarations) -> Anomaly:
    base, time = form.removesuffix("-process").removesuffix("-realtime"), ""
    if form != base:
        time = form.removeprefix(base)
    kinds = FORMS.get(form, (*FORMS["G1c"], "rw"))
    edges = ", ".join(kinds)
    count = {G_SINGLE: ", with exactly one rw", G2: ", with at least one rw"}.get(form, "")
    meanings = "; ".join(f"{kind} if {_EDGES[kind]}" for kind in kinds)
    return Anomaly(
        id=form,
        statement=_extended(_STATEMENTS[base], _TIMES[time][0]),
        rule=(
            f"Operations form a cycle of {edges} edges{count}. "
            f"An operation has an edge to another, {meanings}."
        ),
        explanation=_extended(_EXPLANATIONS[base], _TIMES[time][1]),
        permits=_PERMITS[base],
        source="jepsen.tests.kafka, Elle; Adya, Weak Consistency",
        observes=_OBSERVES[form if form in _OBSERVES else base],
        row=Cycle,
        find=partial(cycles, form=form, declared=declared),
        observed=partial(_observed, form=form, declared=declared),
        explain=explain,
        only_with=_ONLY_WITH.get(base),
    )


_OBSERVES: Final = {
    "G0": "neighbouring records of a log that different operations sent",
    "G1c": "records polled from other operations that can be part of a cycle",
    "G1c-realtime": "records polled from other operations",
    G_SINGLE: "records that a reader had not received yet",
    G2: "records that a reader had not received yet",
}


def _observed(history: History, form: str, declared: Declarations) -> int:
    if form.startswith("G1c"):
        return sum(1 for _ in possible_steps(history, FORMS[form], ww_deps=declared.ww_deps))
    if form.startswith("G0"):
        return len(write_dependencies(history)) if declared.ww_deps else 0
    return len(anti_dependencies(history)) if declared.rw_deps else 0


ANOMALIES: Final = tuple(anomalies(NOTHING_DECLARED))
