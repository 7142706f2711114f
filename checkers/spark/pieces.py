"""A history in pieces that Spark holds: a piece is a partition of a DataFrame.

Kernels run under mapInArrow, where a whole partition is one Arrow table. Regrouping is the one
shuffle; what it makes is kept, since several kernels look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from checkers.histories.pieces import Kernel, Progress, silent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class SparkPieces:
    """A DataFrame with the columns of an Arrow schema."""

    frame: DataFrame
    schema: pa.Schema
    progress: Progress = silent

    def gather(self, kernel: Kernel) -> pa.Table:
        """What the kernel says of all partitions, brought to the driver."""
        self.progress(f"spark: {kernel.says}")
        return self._mapped(kernel).toArrow().cast(kernel.schema)

    def regroup(self, kernel: Kernel, by: tuple[str, ...]) -> SparkPieces:
        """What the kernel makes of all partitions, shuffled by these columns."""
        self.progress(f"spark: {kernel.says}")
        regrouped = self._mapped(kernel).repartition(*by).persist()
        return SparkPieces(regrouped, kernel.schema, self.progress)

    def _mapped(self, kernel: Kernel) -> DataFrame:
        run: Callable[..., Iterator[pa.RecordBatch]] = partial(on_partition, kernel, self.schema)
        return self.frame.mapInArrow(run, from_arrow_schema(kernel.schema))


def on_partition(
    kernel: Kernel, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The kernel on all batches of a partition together; a partition without rows says nothing."""
    held = [batch for batch in batches if batch.num_rows]
    if held:
        yield from kernel(pa.Table.from_batches(held).cast(schema)).to_batches()
