"""Compares a search whose code is compiled for few states with one whose code is compiled for many.

Both searches explore all states of a spec's default version, and compile its code first. Times are
CPU seconds of this process and of the C compiler.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

from benchmarks.pairs import Pairing, paired
from checkers.explicit.compiled.library import SMALL_SEARCH
from checkers.explicit.exploration import MANY, Budget
from checkers.explicit.search import explore
from model.language import Spec
from model.specs import find

SPECS = ("replication", "group-offsets", "transactions", "election", "reassignment")
RUNS = int(os.environ.get("URTEIL_BENCH_RUNS", "3"))


def run() -> list[Pairing]:
    """Returns, for each spec of `SPECS`, the times with a budget of few and of many states."""
    return [_compared(name) for name in SPECS]


def _compared(name: str) -> Pairing:
    variant = find(name)
    spec = variant.make(variant.at)
    spec.actions  # noqa: B018 - traces the spec before the measured runs
    return paired(
        (f"{name}, for few states", lambda: _seconds(spec, SMALL_SEARCH)),
        (f"{name}, for many states", lambda: _seconds(spec, MANY)),
        runs=RUNS,
        own=True,
    )


def _seconds(spec: Spec, budget: int) -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"XDG_CACHE_HOME": str(Path(folder))}),
    ):
        before = os.times()
        found = explore(spec, engine="compiled", budget=Budget(states=budget))
        after = os.times()
    assert found.exhausted
    return sum(after[:4]) - sum(before[:4])
