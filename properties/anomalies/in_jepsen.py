"""The anomalies as jepsen.tests.kafka has them: those that it looks for, under its names.

It draws no process dependencies, so a -process form is a -realtime one there. Of a component in
which a cycle is, it also says so in general: `PL-..-cycle-exists`. What else is found counts
nothing there: it is told, and permitted.

Source: jepsen.tests.kafka; elle.txn, for the names of its consistency models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from model.histories import History
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.cycles.cycle import FORMS, IMPRECISE, IN_JEPSEN
from properties.anomalies.declarations import ALWAYS, JEPSEN

UNKNOWN_THERE: Final = "jepsen.tests.kafka does not look for it"
KNOWN: Final = frozenset({
    "inconsistent-offsets",
    "duplicate",
    "lost-write",
    "unseen",
    "G1a",
    "precommitted-read",
    "int-poll-skip",
    "int-nonmonotonic-poll",
    "int-send-skip",
    "int-nonmonotonic-send",
    "poll-skip",
    "nonmonotonic-poll",
    "nonmonotonic-send",
    "empty-transaction-graph",
    *FORMS,
})  # fmt: skip


def in_jepsen(ours: Iterable[Anomaly]) -> Iterator[Anomaly]:
    """The rows of the catalogue under the names of that checker; what it does not know, permitted.

    >>> from properties.anomalies.catalogue import CATALOGUE
    >>> {one.id: one.made_of for one in in_jepsen(CATALOGUE)}["strong-PL-1-cycle-exists"]
    ('G0-process', 'G0-realtime')
    """
    there: dict[str, list[Anomaly]] = {}
    for one in ours:
        there.setdefault(IN_JEPSEN.get(one.id, one.id), []).append(one)
    for name, parts in there.items():
        if name in KNOWN:
            yield _together(name, parts)
        else:
            yield replace(parts[0], permits={ALWAYS: UNKNOWN_THERE})
    for name, form in IMPRECISE.items():
        yield replace(_together(form, there[form]), id=name, only_with=JEPSEN)


def _together(name: str, parts: Sequence[Anomaly]) -> Anomaly:
    """The one of this name, with the rows of all parts."""

    def find(history: History) -> tuple[Any, ...]:
        return tuple(sorted(row for part in parts for row in part.find(history)))

    (one,) = [part for part in parts if part.id == name]
    return replace(one, find=find, made_of=tuple(part.id for part in parts))
