"""The literal definitions say of Jepsen's samples what jepsen.tests.kafka says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from checkers.histories.jepsen import operations
from model.histories import History, MicroOperation, Poll, Send
from properties.anomalies import log, order
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declared import Declared
from properties.anomalies.log.inconsistent_offsets import inconsistent_offsets

SAMPLES = Path(__file__).parents[2] / "data" / "jepsen"
VERDICTS: dict[str, Any] = json.loads((SAMPLES / "verdicts.json").read_text())
OURS_ALONE: Final = {"duplicate-across-keys", "value-nobody-sent"}

# Which value Jepsen ranks where an offset has several: the first of a hash set. (key, offset)
RANKED: Final[dict[str, dict[tuple[str, int], str]]] = {
    "004-same-offset": {("2", 2): "1"},
    "005-reorder": {("0", 42): "24", ("0", 43): "24"},
    "015-reorder": {
        ("0", 2): "0",
        ("0", 3): "1",
        ("0", 4): "0",
        ("1", 17): "9",
        ("1", 18): "9",
    },
}


def found(anomalies: tuple[Anomaly, ...], h: History) -> set[str]:
    return {anomaly.id for anomaly in anomalies if anomaly.find(h)} - OURS_ALONE


def ranked(h: History, ranks: dict[tuple[str, int], str]) -> History:
    """The history in which nobody tells of the values that Jepsen does not rank where they lie."""

    def told(micro: MicroOperation) -> MicroOperation:
        if not isinstance(micro, Send | Poll) or micro.offset is None:
            return micro
        rank = ranks.get((micro.key, micro.offset), micro.value)
        return micro if rank == micro.value else replace(micro, offset=None)

    return tuple(replace(o, did=tuple(map(told, o.did))) for o in h)


@pytest.mark.parametrize("ww_deps", [False, True])
@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_the_samples_have_the_verdicts_of_jepsen(name: str, *, ww_deps: bool) -> None:
    h = tuple(operations(SAMPLES / f"{name}.edn"))
    contested = {(row.key, row.offset) for row in inconsistent_offsets(h)}
    assert contested == set(RANKED.get(name, {}))
    declared = Declared(ww_deps=ww_deps)
    of_logs = found(log.anomalies(declared), h)
    of_order = found(order.anomalies(declared), ranked(h, RANKED.get(name, {})))
    expected = VERDICTS[name]["anomalies_with_ww_deps" if ww_deps else "anomalies"]
    assert of_logs | of_order == set(expected)
