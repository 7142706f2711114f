"""A table of the anomalies that may follow from another anomaly, with the reasons.

One fault often causes several anomalies. For example, a reader that passes a lost record is also
reported as a `skip`. So if a reported anomaly may follow from another reported anomaly, the report
names this other anomaly as a possible cause. Both the cause and the consequence are reported,
because the consequence may have a different cause.

`tools.convictions` tests this table with simulated histories, which have a fault or a seeded bug:
every reported anomaly must be an effect of it, or follow from an effect according to this table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """An entry of the table in this module: `anomaly` may follow from the anomaly `cause`.
    `because` is the reason.
    """

    anomaly: str
    cause: str
    because: str

    def in_words(self) -> str:
        return f"may follow from {self.cause}: {self.because}"


_WRONG_OFFSET: Final = "an acknowledgement names the offset of another record"
_NOT_THERE: Final = "an acknowledgement names an offset at which no reader finds the record"
_TABLE: Final[Mapping[str, Mapping[str, str]]] = {  # cause -> consequence -> reason
    "inconsistent-offsets": {
        "duplicate": _WRONG_OFFSET,
        "offset-order-inversion": _WRONG_OFFSET,
        "nonmonotonic-send": _WRONG_OFFSET,
        "int-nonmonotonic-send": _WRONG_OFFSET,
        "int-poll-skip": _NOT_THERE,
        "poll-skip": _NOT_THERE,
    },
    "lost-write": {
        "unseen": "the record is in no reader's log",
        "stale-end-offset": "the log ends below the offset of the lost record",
        "int-poll-skip": "readers pass the offset of the lost record",
        "poll-skip": "readers pass the offset of the lost record",
        "torn-transaction": "the lost record is part of a transaction",
        "input-skipped": "the group passes the offset of the lost record",
        "offset-without-output": "the lost record is the output of an input",
    },
    "G1a": {
        "duplicate": "the record was sent again after its transaction aborted",
        "torn-transaction": "the other records of the aborted transaction are hidden",
    },
    "aborted-offset-read": {
        "stale-group-offset": "no commit that took effect has set the offset",
        "input-skipped": "the group goes on at an offset of an aborted transaction",
    },
    "open-transaction-read": {
        "G1a": "the transaction was aborted later",
        "fenced-transaction-read": "the producer was fenced later, and the transaction aborted",
        "duplicate": "the record was sent again after its transaction aborted",
        "output-without-offset": "the transaction committed its offset later, or never",
        "stale-end-offset": "the reader was ahead of the last stable offset",
        "G1c-realtime": "the reader ended before the transaction was committed",
        "int-poll-skip": "the transaction may have aborted: then a reader that skips it is right",
        "poll-skip": "the transaction may have aborted: then a reader that skips it is right",
        "torn-transaction": "the transaction may have aborted: its other records are hidden",
        "lost-write": "the transaction may have aborted: its other records are hidden",
    },
}
CONSEQUENCES: Final = tuple(
    Consequence(anomaly=anomaly, cause=cause, because=because)
    for cause, of_cause in _TABLE.items()
    for anomaly, because in of_cause.items()
)


def causes_of(anomaly: str) -> tuple[Consequence, ...]:
    """Returns the entries of `CONSEQUENCES` that have this anomaly as the consequence. There is one
    entry for each possible cause.
    """
    return tuple(one for one in CONSEQUENCES if one.anomaly == anomaly)


def causes(anomaly: str, violated: Collection[str]) -> Iterator[Consequence]:
    """Yields one entry of `CONSEQUENCES` for each anomaly in `violated` that can cause
    `anomaly`.
    """
    return (one for one in causes_of(anomaly) if one.cause in violated)


def closure(effects: Collection[str]) -> frozenset[str]:
    """Returns `effects` together with all anomalies that may follow from them, directly or through
    other anomalies.
    """
    found = set(effects)
    while more := {one.anomaly for one in CONSEQUENCES if one.cause in found} - found:
        found |= more
    return frozenset(found)
