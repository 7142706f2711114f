"""Compares the time in which this project's engines and SPIN explore the same model.

The model is KIP-320 on three brokers with the leader epochs 0 to 2. SPIN gets the model in Promela.
All engines check the same two invariants. Times are CPU seconds, including the start of Python but
not the compilation of C.

`python -m benchmarks.explore.hundred_million` measures memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.explore import spin
from benchmarks.explore.contender import Contender, Measurement, ours
from benchmarks.pairs import Pairing, paired
from checkers.explicit.compiled.library import Library
from checkers.explicit.engines import ENGINES
from checkers.explicit.exploration import MANY
from checkers.explicit.instance import Instance
from model.replication.versions import Kip320

LARGE = {"max_leader_epoch": 2, "log_size": 3, "max_records": 4}  # 10.8 million states
SMALL = {
    "max_leader_epoch": 2,
    "log_size": 2,
    "max_records": 2,
}  # for a quick run: URTEIL_BENCH=small

RUNS = int(os.environ.get("URTEIL_BENCH_RUNS", "3"))

_facts: dict[str, object] = {}


def run() -> list[Pairing]:
    """Compares this project's engines with SPIN, and two threads with one thread."""
    constants = SMALL if os.environ.get("URTEIL_BENCH") == "small" else LARGE
    with tempfile.TemporaryDirectory() as folder:
        peers = [spin.built(Kip320(**constants), flags, Path(folder)) for flags in spin.SETTINGS]
        measured = [peer.run() for peer in peers]
        exact = min(
            zip(measured, peers, strict=True), key=lambda one: one[0].cpu_s if one[1].exact else 1e9
        )[1]
        hashed = next(peer for peer in peers if not peer.exact)
        compiled, fingerprints = ours(constants), ours(constants, fingerprints=True)
        for keeps in (False, True):  # compiles the spec before the measured runs
            Library(Instance.of(Kip320(**constants)), fingerprints=keeps, most_states=MANY + 1)
        results = [
            _against(compiled, exact),
            _against(fingerprints, hashed),
            _against(ours(constants, threads=2), compiled, wall=True),
        ]
        if "numpy" in ENGINES:
            results.append(_against(ours(constants, engine="numpy"), exact, runs=1))
        _facts.update(
            model=f"Kip320 {constants}",
            spin=spin.version(),
            compiler=spin.compiler(),
            spin_settings={
                peer.name: each.figures() for peer, each in zip(peers, measured, strict=True)
            },
        )
    return results


def facts() -> Mapping[str, object]:
    return _facts


def _against(one: Contender, other: Contender, *, runs: int = RUNS, wall: bool = False) -> Pairing:
    measured: dict[str, Measurement] = {}

    def seconds(contender: Contender) -> float:
        measured[contender.name] = last = contender.run()
        return last.wall_s if wall else last.cpu_s

    found = paired(
        (one.name, lambda: seconds(one)), (other.name, lambda: seconds(other)), runs=runs, own=True
    )
    if other.exact:  # hash compaction may merge different states
        assert len({each.distinct for each in measured.values()}) == 1, measured
    _facts.update({f"run of {name}": each.figures() for name, each in measured.items()})
    return found
