"""Exploration of one model by each engine, against SPIN on the same model in Promela.

KIP-320 on three brokers with epochs 0..2. Seconds are of the processor, of a process of its own,
the start of Python included; a compiler's are not. All judge the same two invariants.
`python -m benchmarks.explore.hundred_million` looks at memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.explore import spin
from benchmarks.explore.contender import Contender, Told, ours
from benchmarks.pairs import Pairing, paired
from checkers.explicit.compiled.library import Library
from checkers.explicit.engines import ENGINES
from checkers.explicit.instance import Instance
from model.replication.versions import Kip320

LARGE = {"max_leader_epoch": 2, "log_size": 3, "max_records": 4}  # 10.8 million states
SMALL = {"max_leader_epoch": 2, "log_size": 2, "max_records": 2}  # for a look: URTEIL_BENCH=small

RUNS = int(os.environ.get("URTEIL_BENCH_RUNS", "3"))

_facts: dict[str, object] = {}


def run() -> list[Pairing]:
    constants = SMALL if os.environ.get("URTEIL_BENCH") == "small" else LARGE
    with tempfile.TemporaryDirectory() as folder:
        peers = [spin.built(Kip320(**constants), flags, Path(folder)) for flags in spin.SETTINGS]
        told = [peer.run() for peer in peers]
        exact = min(
            zip(told, peers, strict=True), key=lambda one: one[0].cpu_s if one[1].exact else 1e9
        )[1]
        hashed = next(peer for peer in peers if not peer.exact)
        compiled, fingerprints = ours(constants), ours(constants, fingerprints=True)
        for keeps in (False, True):  # a spec is compiled before it is explored for figures
            Library(Instance.of(Kip320(**constants)), fingerprints=keeps)
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
                peer.name: said.figures() for peer, said in zip(peers, told, strict=True)
            },
        )
    return results


def facts() -> Mapping[str, object]:
    """What each contender did, with its flags, for the result file."""
    return _facts


def _against(one: Contender, other: Contender, *, runs: int = RUNS, wall: bool = False) -> Pairing:
    said: dict[str, Told] = {}

    def seconds(who: Contender) -> float:
        said[who.name] = told = who.run()
        return told.wall_s if wall else told.cpu_s

    found = paired(
        (one.name, lambda: seconds(one)), (other.name, lambda: seconds(other)), runs=runs, own=True
    )
    if other.exact:  # hash compaction takes states for one another
        assert len({told.distinct for told in said.values()}) == 1, said
    _facts.update({f"run of {name}": told.figures() for name, told in said.items()})
    return found
