"""The anomalies under the names that Jepsen's Kafka checker (jepsen.tests.kafka) uses.

Jepsen's checker has no process dependencies. So Jepsen calls a G0-process cycle a G0-realtime
cycle. Jepsen also has a second name for each form of G0 and G1c: for example, a G0 is also a
`PL-1-cycle-exists`. If Jepsen does not look for an anomaly, the anomaly is reported, but it is no
violation.

Source: jepsen.tests.kafka; Elle: elle.txn, for the names of its consistency models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from model.histories import History
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.cycles.cycle import FORMS, IMPRECISE, IN_JEPSEN
from properties.anomalies.declarations import ALWAYS, JEPSEN

NOT_IN_JEPSEN: Final = "jepsen.tests.kafka does not look for it"
JEPSEN_ANOMALIES: Final = frozenset({
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
    """Yields the anomalies in `ours` under the names that Jepsen uses.

    If several anomalies have the same name in Jepsen, they become one anomaly. Its field `made_of`
    has the names that these anomalies have in `ours`.

    >>> from properties.anomalies.catalogue import CATALOGUE
    >>> {one.id: one.made_of for one in in_jepsen(CATALOGUE)}["strong-PL-1-cycle-exists"]
    ('G0-process', 'G0-realtime')
    """
    by_name: dict[str, list[Anomaly]] = {}
    for one in ours:
        by_name.setdefault(IN_JEPSEN.get(one.id, one.id), []).append(one)
    for name, parts in by_name.items():
        if name in JEPSEN_ANOMALIES:
            yield _merged(name, parts)
        else:
            yield replace(parts[0], permits={ALWAYS: NOT_IN_JEPSEN})
    for name, form in IMPRECISE.items():
        yield replace(_merged(form, by_name[form]), id=name, only_with=JEPSEN)


def _merged(name: str, parts: Sequence[Anomaly]) -> Anomaly:
    def find(history: History) -> tuple[Any, ...]:
        return tuple(sorted(row for part in parts for row in part.find(history)))

    (one,) = [part for part in parts if part.id == name]
    return replace(one, find=find, made_of=tuple(part.id for part in parts))
