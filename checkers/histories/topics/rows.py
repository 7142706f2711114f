"""Reads the rows of a history from the records of a topic.

The value of a record is NDJSON or Avro. An NDJSON value has one or more lines, and each line is a
row of the history format. An Avro value is one row: a zero byte, the id of the row's schema in four
bytes, and the row. The rows of an operation may be in several records and in several partitions.

The values of many records are decoded together. If this fails, the values are decoded one by one,
so that the error names the first wrong record.

Source: Confluent's documentation, "Wire format", for records in Avro.
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

from checkers.histories.io.avro import rows as avro
from checkers.histories.io.avro.containers import only
from checkers.histories.io.avro.schemas import AvroFault
from checkers.histories.io.json_faults import LONGEST_LINE, fault_of
from checkers.histories.io.operation_rows import SCHEMA
from checkers.histories.io.row_rules import broken_rules, known
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.plan.batch import Batch
from checkers.histories.topics.address import Topic
from checkers.histories.topics.value_schemas import ValueSchemas
from model.histories import COLUMNS

MOVE: Final = (
    "a topic of operations has rows of the history format alone: record into a new topic, or delete"
    " the records up to this one (kafka-delete-records), then run again"
)
SCHEMAS: Final = "pass --schemas with a folder that has ID.avsc, or a schema registry's address"
_AVRO_HEAD: Final = 5  # bytes: zero, and the schema's id
_LENIENT: Final = pa.schema([field.with_nullable(nullable=True) for field in SCHEMA])


class Message(Protocol):
    """The methods of confluent-kafka's class `Message` that this module calls."""

    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def value(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class RowReader:
    """Decodes records of a topic to tables with exactly the columns `COLUMNS`.

    If `unmapped` is None, a field without a column is an error. Otherwise `unmapped` counts such
    fields.
    """

    topic: Topic
    unmapped: Counter[str] | None = None
    schemas: ValueSchemas | None = None

    def table(self, messages: Sequence[Message]) -> pa.Table:
        """Returns the rows of the records. Raises UnreadableHistory for the first wrong record."""
        values = [message.value() for message in messages]
        if self.unmapped is None and all(value and value.strip() for value in values):
            try:
                table = self._parsed(values)
            except (pa.ArrowException, AvroFault):
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
        if _is_avro(value) and self.schemas is None:
            number = int.from_bytes(value[1:_AVRO_HEAD], "big")
            raise self._refused(message, f": the record is Avro with the schema {number}", SCHEMAS)
        lines = [value]
        if not _is_avro(value):
            lines = [line for line in value.split(b"\n") if line.strip()]
            if self.unmapped is not None:
                lines = [_known(line, self.unmapped) for line in lines]
            for line in lines:
                if fault := fault_of(line + b"\n"):
                    raise self._refused(message, fault.removesuffix("; fix that line"))
        try:
            table = self._parsed(lines)
        except AvroFault as error:
            raise self._refused(message, f": {error.what}") from error
        except pa.ArrowException as error:  # json is laxer, for example with NaN
            raise self._refused(message, f": {str(error).splitlines()[0]}") from error
        for _, what in broken_rules(Batch(table)):
            raise self._refused(message, f": {what}")
        return table

    def _parsed(self, values: Sequence[bytes]) -> pa.Table:
        """Returns the rows in the values of records: first all rows in JSON, then all rows in
        Avro.
        """
        lines = [value for value in values if not _is_avro(value)]
        of_schema: dict[int, list[bytes]] = {}
        for value in values:
            if _is_avro(value):
                number = int.from_bytes(value[1:_AVRO_HEAD], "big")
                of_schema.setdefault(number, []).append(value)
        tables = [_of_json(lines)] if lines else []
        tables += [self._of_avro(some, number) for number, some in of_schema.items()]
        return pa.concat_tables(tables)

    def _of_avro(self, values: Sequence[bytes], number: int) -> pa.Table:
        if self.schemas is None or any(len(value) < _AVRO_HEAD for value in values):
            raise AvroFault("the record is shorter than the id of an Avro schema")
        schema = self.schemas.schema(number)
        names = avro.fields(schema)
        if self.unmapped is None:
            avro.refuse_unknown(names)
        table = avro.table([only(value[_AVRO_HEAD:], schema) for value in values], names)
        return _in_schema(table if self.unmapped is None else known(table, self.unmapped))

    def _refused(self, message: Message, fault: str, move: str = MOVE) -> UnreadableHistory:
        where = f"partition {message.partition()}, offset {message.offset()}"
        return UnreadableHistory(f"{self.topic}, {where}{fault}; {move}")


def _is_avro(value: bytes) -> bool:
    return value.startswith(b"\0")  # no JSON begins so


def _of_json(values: Sequence[bytes]) -> pa.Table:
    """Returns the rows in `values`. Each value has one or more lines of JSON, and each line is a
    row. A missing column is null.
    """
    table = paj.read_json(
        io.BytesIO(b"\n".join(values)),
        read_options=paj.ReadOptions(block_size=LONGEST_LINE),
        parse_options=paj.ParseOptions(explicit_schema=_LENIENT, unexpected_field_behavior="error"),
    )
    return _in_schema(table)


def _in_schema(table: pa.Table) -> pa.Table:
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
