"""Synthetic histories: what clients of a sound cluster would have recorded, millions of rows long.

    synthesize(Synthesis(folder=folder, rows=10_000_000, partitions=256, seed=0))

A folder as `urteil record` writes it, in Parquet parts. Eight processes send, five of them in
transactions of one to eight records; up to eight read every record once, ten to fifty at a time,
commit their offsets and now and then ask for them; two ask for ends, at either isolation level.
Some operations fail, and some end `info`, of which half took effect. Whoever ended `info` goes on
as a new process; its transactional id is initialised again.

The history is made window by window (`cluster`). Parts are cut anywhere, so most of their borders
have operations open. Rows come within a few per cent of what was asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.analyze.cluster import Cluster, words
from benchmarks.analyze.injection import Injection
from benchmarks.analyze.recorded import Operations, Parts
from checkers.histories.io.parquet_layout import FEW_TEXTS

OPERATIONS_AT_ONCE: Final = 5_000  # of each sender in a window
ROWS_PER_OPERATION: Final = 54  # of all processes, for one operation of each sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """What to write."""

    folder: Path  # must not exist
    rows: int
    partitions: int = 256  # 1: one hot partition
    seed: int = 0
    injection: Injection = field(default_factory=Injection)


def synthesize(options: Synthesis) -> int:
    """Writes the history; how many rows it has."""
    options.folder.mkdir(parents=True)
    windows = max(1, round(options.rows / ROWS_PER_OPERATION / OPERATIONS_AT_ONCE))
    size = max(1, round(options.rows / ROWS_PER_OPERATION / windows))
    injected = options.injection
    texts = {name: [*words(options.partitions)[name]] for name in FEW_TEXTS}
    injected.begin(texts, windows)
    cluster = Cluster(np.random.default_rng(options.seed), options.partitions)
    parts = Parts(options.folder)
    first_op = 0

    def write(*together: Operations) -> None:
        nonlocal first_op
        made = Operations.together(together).in_completion_order()
        injected.alter(made, first_op)
        parts.add(made.table(texts, first_op))
        first_op += len(made.counts)

    write(cluster.assigns())
    for _ in range(windows):
        began_ns = cluster.now_ns
        window = cluster.window(size)
        write(*window, injected.due(began_ns, cluster.now_ns))
    write(cluster.never(), injected.left())
    parts.close(
        {
            "workload": "synthetic",
            "clients": {},
            "settings": {"rows": parts.rows, "partitions": options.partitions},
            "seed": options.seed,
        }
    )
    return parts.rows
