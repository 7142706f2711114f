"""The anomalies that contradict a delivery semantics: at-most-once, at-least-once or exactly-once.

The module `delivery` compares the records that an application received with the sends that surely
took effect. This comparison does not find every repetition and every loss. An anomaly may prove a
repetition or a loss that the comparison does not find. So `judged` excludes each semantics that an
anomaly of the history contradicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from properties.delivery import Delivery, Promise, Semantics, strongest


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    anomaly: str
    promise: Promise
    because: str

    def in_words(self) -> str:
        return f"{self.promise} is contradicted by {self.anomaly}: {self.because}"


_BECAUSE: Final[Mapping[Promise, Mapping[str, str]]] = {
    "at-most-once": {
        "duplicate": "the log has a record twice",
        "duplicate-across-keys": "the log of another key has the record too",
        "value-nobody-sent": "a reader received a record that nobody sent",
        "G1a": "a reader received a record of a write that failed",
        "fenced-transaction-read": "a reader received a record of a fenced transaction",
        "zombie-write": "an old instance of a producer wrote after the new one began",
        "input-processed-twice": "two transactions processed one input record",
        "output-without-offset": "an input is processed again after its output",
    },
    "at-least-once": {
        "inconsistent-offsets": "one of two records at an offset is lost",
        "lost-write": "a record that took effect was never received",
        "unseen": "an acknowledged record was never received",
        "torn-transaction": "a record of a committed transaction was never received",
        "input-skipped": "a group committed beyond a record that it never received",
        "offset-without-output": "an input counts as processed without its output",
    },
}
CONTRADICTIONS: Final[Mapping[str, Contradiction]] = {
    anomaly: Contradiction(anomaly=anomaly, promise=promise, because=because)
    for promise, of_promise in _BECAUSE.items()
    for anomaly, because in of_promise.items()
}
_KEEPING: Final[Mapping[Promise, frozenset[Semantics]]] = {
    "at-most-once": frozenset({"at-most-once", "exactly-once"}),
    "at-least-once": frozenset({"at-least-once", "exactly-once"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The delivery semantics of a history, and the anomalies that exclude a stronger semantics.

    `contradictions` has the anomalies that break a promise (at-most-once or at-least-once). An
    anomaly is left out if the deliveries themselves already break the promise, because a record was
    delivered twice or was never delivered.
    """

    semantics: Semantics
    applications: Mapping[str, int]  # their number by semantics
    contradictions: tuple[Contradiction, ...]


def judged(deliveries: Iterable[Delivery], violated: Iterable[str]) -> Judged | None:
    """Returns the strongest delivery semantics that neither `deliveries` nor an anomaly in
    `violated` contradicts.

    Returns None if `deliveries` is empty, because then no application received a record.
    """
    some, names = tuple(deliveries), set(violated)
    found = tuple(one for name, one in CONTRADICTIONS.items() if name in names)
    contradicted: set[Promise] = {one.promise for one in found}
    semantics = strongest(some, contradicted)
    if semantics is None:
        return None
    each = sorted(str(strongest((one,), contradicted)) for one in some)
    return Judged(
        semantics=semantics,
        applications=Counter(each),
        contradictions=tuple(one for one in found if strongest(some) in _KEEPING[one.promise]),
    )
