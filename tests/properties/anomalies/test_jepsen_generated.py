"""On generated histories, the definitions in `properties.anomalies` find what jepsen.tests.kafka
reports.

Jepsen's verdicts are in `tests/data/jepsen/generated.json`. There are three differences, each with
its condition:

- `unseen` has a defect in Jepsen: see the function `last_polled` in this module.
- Elle calls a graph empty if it has no edge; Urteil calls a history empty only if it has no
  operation.
- With `ww-deps`, if an offset has several values, or a value several offsets, Jepsen chooses one.
  Urteil takes more dependencies, so cycles differ. If there are several cycles, the two may report
  different ones.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import pytest

from checkers.histories.io.jepsen import operations
from model.histories import History, Poll, Send
from properties.anomalies.catalogue import catalogue
from properties.anomalies.cycles.dependencies import read_dependencies
from properties.anomalies.declarations import Declarations
from properties.anomalies.in_jepsen import NOT_IN_JEPSEN
from tests.checkers.histories.jepsen_histories import in_edn, jepsen_history

GENERATED: Final = Path(__file__).parents[2] / "data" / "jepsen" / "generated.json"
ROWS: Final[list[dict[str, Any]]] = json.loads(GENERATED.read_text())
EMPTY: Final = "empty-transaction-graph"
CYCLES: Final = ("G0", "G1c", "PL-", "strong-PL-")


def judged(h: History, declared: Declarations) -> set[str]:
    every = (one for one in catalogue(declared) if NOT_IN_JEPSEN not in one.permits.values())
    return {one.id for one in every if one.find(h)}


def last_polled(h: History) -> set[str]:
    """Repeats Jepsen's loop over the operations that ended ok, and returns the keys with unseen
    values.

    The loop has a defect: a key that was polled and has no acknowledged send counts as unseen. The
    next operation corrects this. So such a key counts as unseen at the end only if the last
    operation polled it for the first time.
    """
    unseen: dict[str, set[str]] = {}
    polled: dict[str, set[str]] = {}
    for it in h:
        if it.outcome == "ok" and it.f in {"poll", "send", "txn"}:
            for micro in it.did:
                if isinstance(micro, Send):
                    unseen.setdefault(micro.key, set()).add(micro.value)
                elif isinstance(micro, Poll):
                    polled.setdefault(micro.key, set()).add(micro.value)
            for key, values in polled.items():
                unseen[key] = unseen[key] - values if key in unseen else {*values}
    return {key for key, values in unseen.items() if values}


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[History]:
    file = tmp_path_factory.mktemp("generated") / "h.edn"
    made: list[History] = []
    for row in ROWS:
        text = in_edn(jepsen_history(row["seed"]))
        assert hashlib.sha256(text.encode()).hexdigest().startswith(row["edn"]), row["seed"]
        file.write_text(text)
        made.append(tuple(operations(file)))
    return made


@pytest.mark.parametrize("ww_deps", [False, True])
def test_generated_histories_have_the_verdicts_that_jepsen_gives(
    histories: list[History], *, ww_deps: bool
) -> None:
    declared = Declarations(jepsen=True, ww_deps=ww_deps)
    differing = {"unseen": 0, EMPTY: 0, "cycles": 0}
    for h, row in zip(histories, ROWS, strict=True):
        reported = set(row["anomalies_with_ww_deps" if ww_deps else "anomalies"])
        assert ("unseen" in reported) == bool(last_polled(h)), row["seed"]
        differ = judged(declared.applied(h), declared) ^ reported
        if "unseen" in differ:
            assert "unseen" in reported
            differing["unseen"] += 1
        if EMPTY in differ:
            assert EMPTY in reported
            assert not read_dependencies(h)
            differing[EMPTY] += 1
        others = differ - {"unseen", EMPTY}
        if others:
            assert ww_deps, row["seed"]
            assert all(name.startswith(CYCLES) for name in others)
            unclear = not reported.isdisjoint({"inconsistent-offsets", "duplicate"})
            assert unclear or any(name.startswith(CYCLES) for name in reported)
            differing["cycles"] += 1
    assert differing == {"unseen": 6, EMPTY: 8, "cycles": 11 if ww_deps else 0}


def test_the_generated_histories_show_most_of_what_jepsen_looks_for() -> None:
    reported = {name for row in ROWS for name in row["anomalies_with_ww_deps"]}
    assert len(ROWS) >= 206
    assert len(reported) >= 20
