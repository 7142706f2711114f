"""Copies the operations of a topic to a local folder of Parquet files. A later run can continue.

The folder has these files:

    TOPIC-ID/part-00000.parquet    rows of the history, and the positions after them
    TOPIC-ID/part-00001.parquet

The metadata of the last part has, for each partition of the topic, the next offset to read. The
rows and these offsets become visible together, by a rename of the file. So after a kill at any
moment, no record is missing and no record is read twice. The offsets are also committed for a
consumer group, but only to show the progress of the copy.

A topic that is deleted and created again has another id, and is another history.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.client_config import ClientConfig
from checkers.histories.io.field_types import booleans
from checkers.histories.io.operation_rows import SCHEMA
from checkers.histories.io.parquet_files import opened, reading_parquet, table_of
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.recorded import part_path
from checkers.histories.topics.address import Topic
from checkers.histories.topics.consuming import TopicReader, reading
from checkers.histories.topics.rows import RowReader
from checkers.histories.topics.value_schemas import ValueSchemas
from checkers.progress import Progress, Watcher, unwatched
from model.faults import InputFault

ROWS_PER_PART: Final = 200_000
ROWS_PER_WRITE: Final = 50_000
POSITIONS: Final = "urteil.positions"  # in the footer of a part


@dataclass(slots=True)
class TopicCopy:
    folder: Path
    reader: TopicReader
    rows_per_write: int = ROWS_PER_WRITE
    unmapped: Counter[str] | None = None  # counts unknown fields; None: they are refused
    schemas: ValueSchemas | None = None  # of records in Avro
    _part: int = 0  # number of the part that is written next
    _held: pa.Table = field(default_factory=SCHEMA.empty_table)  # its rows
    _positions: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = sorted(self.folder.glob("part-?????.parquet"))
        if not parts:
            return
        with reading_parquet(parts[-1]), opened(parts[-1]) as file:
            kept = (file.metadata.metadata or {}).get(POSITIONS.encode())
            table = table_of(file)
        if kept is None:
            raise InputFault(
                f"{parts[-1]}: has no positions of a topic; delete the folder {self.folder}"
            )
        self._positions = _positions(parts[-1], kept)
        self._part = int(parts[-1].stem[5:])
        self._held = table.cast(SCHEMA)
        if table.num_rows >= ROWS_PER_PART:
            self._next_part()

    @property
    def rows(self) -> int:
        parts = self.folder.glob("part-?????.parquet")
        return sum(pq.read_metadata(part).num_rows for part in parts)

    def read_on(self, watch: Watcher = unwatched) -> int:
        """Copies the records up to the current ends of the topic, and returns the number of new
        rows.

        Raises UnreadableHistory if a record is not an operation. Raises InputFault if records were
        deleted before they were copied.
        """
        bounds = self.reader.ends()
        positions = {number: self._start(number, *bounds[number]) for number in bounds}
        ends = {number: end for number, (_, end) in bounds.items()}
        total = sum(ends[number] - at for number, at in positions.items())
        stage = f"reading {self.reader.topic}"
        rows = RowReader(self.reader.topic, self.unmapped, self.schemas)
        new = [SCHEMA.empty_table()]
        copied = unwritten = done = 0
        for messages, after in self.reader.records(positions, ends):
            if messages:
                new.append(rows.table(messages))
                unwritten += new[-1].num_rows
                copied, done = copied + new[-1].num_rows, done + len(messages)
            positions = after
            if unwritten >= self.rows_per_write:
                self._write(pa.concat_tables(new), positions)
                new, unwritten = [SCHEMA.empty_table()], 0
            watch(Progress(stage=f"{stage}: {done:,} of {total:,} records", rows=copied))
        if positions != self._positions:
            self._write(pa.concat_tables(new), positions)
        return copied

    def _start(self, number: int, first: int, end: int) -> int:
        at = self._positions.get(number)
        where = f"{self.reader.topic}, partition {number}"
        if at is None:
            return first
        if at < first:
            raise InputFault(
                f"{where}: the records {at} to {first - 1} were deleted before they were copied, "
                f"so the history has a gap; keep records longer, and delete {self.folder} to begin "
                "with the oldest record"
            )
        if at > end:
            raise InputFault(
                f"{where}: ends at offset {end}, and {at} was read before: its log was truncated; "
                f"delete {self.folder} to read the topic again"
            )
        return at

    def _write(self, new: pa.Table, positions: dict[int, int]) -> None:
        together = pa.concat_tables([self._held, new])
        together = together.sort_by([("op", "ascending"), ("position", "ascending")])
        kept = json.dumps({str(number): at for number, at in sorted(positions.items())})
        path = part_path(self.folder, self._part)
        hidden = path.with_name(f".{path.name}")
        write_part(together, hidden, {POSITIONS: kept})
        with hidden.open("rb") as file:
            os.fsync(file.fileno())
        hidden.rename(path)
        self._held, self._positions = together, positions
        if together.num_rows >= ROWS_PER_PART:
            self._next_part()
        self.reader.commit(positions)

    def _next_part(self) -> None:
        self._part, self._held = self._part + 1, SCHEMA.empty_table()


def _positions(part: Path, kept: bytes) -> dict[int, int]:
    found: Any = json.loads(kept)
    for odd in booleans(found, found):
        raise InputFault(
            f"{part}: in {POSITIONS}, {odd}, and this field needs an integer; delete the folder "
            f"{part.parent}"
        )
    return {int(number): at for number, at in found.items()}


@contextmanager
def copying(topic: Topic, parent: Path, config: ClientConfig) -> Generator[TopicCopy]:
    """Yields the copy of the topic below `parent`. During the `with` block, no other process can
    change the copy.

    Raises InputFault if the topic cannot be read, or if another process copies it.
    """
    group = f"urteil-{topic.name}-{sha256(str(parent.absolute()).encode()).hexdigest()[:8]}"
    with reading(topic, config, group) as reader:
        folder = parent / f"{topic.name}-{reader.id.translate(str.maketrans('/+', '_-'))}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise InputFault(
                f"{folder}: cannot be written: {error.strerror}; name another folder with --out"
            ) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputFault(
                    f"{topic}: another process copies this topic to {folder}; "
                    "wait until it has ended, or name another folder with --out"
                ) from error
            yield TopicCopy(folder, reader)
        finally:
            os.close(lock)
