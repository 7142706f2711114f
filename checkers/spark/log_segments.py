"""Reads segments of Kafka logs as a Python Data Source of Spark: `kafka_log_segments`.

The first line registers the data source, and the second line reads segments as a DataFrame:

    spark.dataSource.register(LogSegments)
    spark.read.format("kafka_log_segments").option("segments", listed(dirs.segments)).load()

A row of the DataFrame is a record batch. With `option("rows", "records")` a row is a record, and
only the records of the batches at the byte positions `option("positions", …)` are read. All
machines must be able to read the files under the same path.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from checkers.log_dirs import segments
from checkers.log_dirs.folders import Segment
from checkers.log_dirs.segments import BATCHES, RECORDS

FORMAT: Final = "kafka_log_segments"
TASK_BYTES: Final = 64 << 20  # a task reads at most this, or one segment


def listed(of: Iterable[Segment]) -> str:
    """Returns the segments as JSON, for the option `segments` of the data source."""
    return json.dumps([[str(s.path.absolute()), s.partition, s.log, s.number] for s in of])


def _segments(option: str) -> list[Segment]:
    return [
        Segment(path=Path(path), partition=partition, log=log, number=number)
        for path, partition, log, number in json.loads(option)
    ]


@dataclass
class Share(InputPartition):
    segments: tuple[Segment, ...]

    def __init__(self, of: Sequence[Segment]) -> None:
        super().__init__(None)
        self.segments = tuple(of)


class LogSegments(DataSource):
    """The data source of segments. Its rows are record batches with the columns BATCHES, or
    records with the columns RECORDS.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        made: StructType = from_arrow_schema(_schema(self.options))
        return made

    def reader(self, schema: StructType) -> DataSourceReader:
        del schema
        return _Reader(dict(self.options))


def _schema(options: Mapping[str, str]) -> pa.Schema:
    return RECORDS if options.get("rows") == "records" else BATCHES


class _Reader(DataSourceReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.records = _schema(options) is RECORDS
        self.segments = _segments(options["segments"])
        positions: dict[str, list[int]] = json.loads(options.get("positions", "{}"))
        self.positions = {int(number): at for number, at in positions.items()}

    def partitions(self) -> Sequence[InputPartition]:
        return shares(self.segments)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Share)
        for segment in partition.segments:
            if self.records:
                yield from segments.records(segment, self.positions.get(segment.number, ()))
            else:
                yield from segments.batches(segment)


def shares(of: Iterable[Segment]) -> list[Share]:
    """Divides the segments, in order, into shares. Each task reads one share: one segment, or
    several segments of at most 64 MiB together.
    """
    made: list[Share] = []
    share: list[Segment] = []
    held = 0
    for segment in of:
        size = segment.path.stat().st_size
        if share and held + size > TASK_BYTES:
            made.append(Share(share))
            share, held = [], 0
        share.append(segment)
        held += size
    return [*made, Share(share)] if share else made
