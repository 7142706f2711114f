"""The rows of a history in the records of a topic.

The value of a record is NDJSON: one or more lines, and each line is a row of the history format.
Key, headers and timestamp are not read. The rows of an operation may be in several records and in
several partitions, because the analysis orders rows by `op` and `position`.

Arrow reads the values of many records at once. If it fails, or if a row breaks a rule, the records
are read one by one up to the first wrong record.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.json as paj

from checkers.histories.io.json_faults import LONGEST_LINE, fault_of
from checkers.histories.io.recorded import SCHEMA, UnreadableHistory
from checkers.histories.io.row_rules import broken_rules
from checkers.histories.plan.batch import Batch
from checkers.histories.topics.address import Topic
from model.histories import COLUMNS

MOVE: Final = (
    "a topic of operations has rows of the history format alone: record into a new topic, or delete"
    " the records up to this one (kafka-delete-records), then run again"
)
_LENIENT: Final = pa.schema([field.with_nullable(nullable=True) for field in SCHEMA])


class Message(Protocol):
    """The part of confluent-kafka's Message that this module reads."""

    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def value(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads records of a topic as tables with exactly the columns in `COLUMNS`.

    Without `unmapped`, a field that is no column is refused. With it, such fields are left out and
    counted there.
    """

    topic: Topic
    unmapped: Counter[str] | None = None

    def table(self, messages: Sequence[Message]) -> pa.Table:
        """Returns the rows of the records; raises UnreadableHistory for the first wrong record."""
        values = [message.value() for message in messages]
        if self.unmapped is None and all(value and value.strip() for value in values):
            try:
                table = _parsed(values)
            except pa.ArrowException:
                pass  # read again below, one by one, for an error with the offset
            else:
                if not any(broken_rules(Batch(table))):
                    return table
        tables = [self._one(message) for message in messages]
        return pa.concat_tables([SCHEMA.empty_table(), *tables])

    def _one(self, message: Message) -> pa.Table:
        value = message.value()
        if not value or not value.strip():
            raise self._refused(message, ": the record has no value")
        lines = [line for line in value.split(b"\n") if line.strip()]
        if self.unmapped is not None:
            lines = [_known(line, self.unmapped) for line in lines]
        for line in lines:
            if fault := fault_of(line + b"\n"):
                raise self._refused(message, fault.removesuffix("; fix that line"))
        try:
            table = _parsed(lines)
        except pa.ArrowException as error:  # json is laxer, for example with NaN
            raise self._refused(message, f": {str(error).splitlines()[0]}") from error
        for _, what in broken_rules(Batch(table)):
            raise self._refused(message, f": {what}")
        return table

    def _refused(self, message: Message, fault: str) -> UnreadableHistory:
        where = f"partition {message.partition()}, offset {message.offset()}"
        return UnreadableHistory(f"{self.topic}, {where}{fault}; {MOVE}")


def _parsed(values: Sequence[bytes]) -> pa.Table:
    """Returns the history rows in `values`, which are lines of JSON; a missing column is null."""
    table = paj.read_json(
        io.BytesIO(b"\n".join(values)),
        read_options=paj.ReadOptions(block_size=LONGEST_LINE),
        parse_options=paj.ParseOptions(explicit_schema=_LENIENT, unexpected_field_behavior="error"),
    )
    nulls = pa.nulls(table.num_rows)
    present = table.schema.names
    return pa.table(
        [(table[it.name] if it.name in present else nulls).cast(it.type) for it in SCHEMA],
        schema=SCHEMA,
    )


def _known(line: bytes, unmapped: Counter[str]) -> bytes:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return line  # refused by the caller
    if not isinstance(row, dict):
        return line
    unmapped.update(f"column {name}" for name in row if name not in COLUMNS)
    return json.dumps({name: cell for name, cell in row.items() if name in COLUMNS}).encode()
