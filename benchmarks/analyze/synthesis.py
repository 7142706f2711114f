"""Synthetic histories with millions of rows, similar to recorded histories of a correct cluster.

    synthesize(Synthesis(folder=folder, rows=10_000_000, partitions=256, seed=0))

The result is a folder as `urteil record` writes it, in Parquet files:

- Eight processes send records. Five of them send transactions of one to eight records.
- Up to eight processes read every record once, ten to fifty records at a time. They commit their
  offsets, and sometimes fetch the committed offsets.
- Two processes query end offsets.
- Some operations fail. Others have the outcome `info`, and half of these took effect. After the
  `info` outcome of a transaction, a new process continues with its transactional id.
- At nearly every border between two files, some operations are open.

The number of rows is close to the requested number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.analyze.cluster import Cluster, vocabulary
from benchmarks.analyze.injection import Injection
from benchmarks.analyze.recorded import Operations, Parts
from checkers.histories.io.parquet_layout import FEW_TEXTS

OPERATIONS_AT_ONCE: Final = 5_000  # per sender and window
ROWS_PER_OPERATION: Final = 54  # of all processes, per operation of each sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    folder: Path  # must not exist
    rows: int
    partitions: int = 256  # 1: one hot partition
    hot: float = 0.0  # share of the records in the first partition, besides its even share
    seed: int = 0
    injection: Injection = field(default_factory=Injection)


def synthesize(options: Synthesis) -> int:
    """Writes the history, and returns its number of rows."""
    options.folder.mkdir(parents=True)
    windows = max(1, round(options.rows / ROWS_PER_OPERATION / OPERATIONS_AT_ONCE))
    size = max(1, round(options.rows / ROWS_PER_OPERATION / windows))
    injected = options.injection
    texts = {name: [*vocabulary(options.partitions)[name]] for name in FEW_TEXTS}
    injected.begin(texts, windows)
    cluster = Cluster(np.random.default_rng(options.seed), options.partitions, options.hot)
    parts = Parts(options.folder)
    first_op = 0

    def write(*operations: Operations) -> None:
        nonlocal first_op
        ordered = Operations.concatenated(operations).in_completion_order()
        injected.alter(ordered, first_op)
        parts.add(ordered.table(texts, first_op))
        first_op += len(ordered.counts)

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
            "settings": {
                "rows": parts.rows,
                "partitions": options.partitions,
                "hot": options.hot,
            },
            "seed": options.seed,
        }
    )
    return parts.rows
