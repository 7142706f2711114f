"""The literal definitions of the anomalies agree with jepsen.tests.kafka on Jepsen's sample
histories.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from checkers.histories.io.jepsen import operations
from model.histories import History
from properties.anomalies import log, order
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations

SAMPLES = Path(__file__).parents[2] / "data" / "jepsen"
VERDICTS: dict[str, Any] = json.loads((SAMPLES / "verdicts.json").read_text())
OURS_ALONE: Final = {"duplicate-across-keys", "value-nobody-sent"}


def found(anomalies: tuple[Anomaly, ...], h: History) -> set[str]:
    return {anomaly.id for anomaly in anomalies if anomaly.find(h)} - OURS_ALONE


@pytest.mark.parametrize("ww_deps", [False, True])
@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_the_samples_have_the_verdicts_that_jepsen_gives(name: str, *, ww_deps: bool) -> None:
    h = tuple(operations(SAMPLES / f"{name}.edn"))
    declared = Declarations(jepsen=True, ww_deps=ww_deps)
    decided = found((*log.anomalies(declared), *order.anomalies(declared)), h)
    assert decided == set(VERDICTS[name]["anomalies_with_ww_deps" if ww_deps else "anomalies"])
