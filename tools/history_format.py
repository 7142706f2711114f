"""Writes docs/history-format.md, the specification of the history format, from tables in the code.

    python -m tools.history_format

A test compares the page with these tables, and checks each example of the page with the validator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from checkers.histories.io.avro.containers import CODECS
from checkers.histories.io.row_rules import ENUMERATIONS, NEEDED
from model.histories import COLUMNS, NEW_IN_2, SCHEMA_VERSION

PAGE: Final = Path("docs/history-format.md")
UNITS: Final = {
    "op": "number",
    "process": "number",
    "invoked_ns": "nanoseconds",
    "completed_ns": "nanoseconds",
    "position": "number",
    "offset": "records",
    "end_asked_ns": "nanoseconds",
}
MEANING_OF_KINDS: Final[Mapping[str, str]] = {
    "send": "A record that a producer sent. `offset` is null if the producer got none.",
    "poll": "A record that a consumer received.",
    "end_offset": "The end of a log that a client was given: one after the last record.",
    "start_offset": "The start of a log that a client was given: earlier records were deleted.",
    "assigned": "A partition that an assign or subscribe gave to the consumer.",
    "rebalanced": "A partition that a rebalance gave or took during the operation.",
    "commit_offset": "An offset that the operation commits for its group: the next to read.",
    "fetch_offset": "The committed offset that a client was given; null if there was none.",
    "none": "An operation without micro-operations, such as a poll that returned nothing.",
}
# kind -> what differs from the common fields of an example
EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "send": {"f": "send", "key": "orders-0", "offset": 0, "value": "a"},
    "poll": {"f": "poll", "key": "orders-0", "offset": 0, "value": "a"},
    "end_offset": {"f": "end_offset", "key": "orders-0", "offset": 1},
    "start_offset": {"f": "start_offset", "key": "orders-0", "offset": 0},
    "assigned": {"f": "assign", "key": "orders-0"},
    "rebalanced": {"f": "poll", "key": "orders-0"},
    "commit_offset": {"f": "commit_offset", "key": "orders-0", "offset": 1, "group": "billing"},
    "fetch_offset": {"f": "fetch_offset", "key": "orders-0", "offset": 1, "group": "billing"},
    "none": {"f": "poll"},
}


def examples() -> Iterator[str]:
    """Yields the lines of a history in NDJSON: one line for each kind of micro-operation."""
    for op, (kind, fields) in enumerate(EXAMPLES.items()):
        row = {
            "op": op,
            "process": 1,
            "f": fields["f"],
            "outcome": "ok",
            "invoked_ns": 20 * op,
            "completed_ns": 20 * op + 10,
            "position": 0,
            "kind": kind,
            **fields,
        }
        yield json.dumps(row)


def avro_schema() -> dict[str, Any]:
    """Returns the Avro schema of a row: a record with one field for each column."""
    types = {"int64": "long", "int32": "int", "string": "string"}
    columns = [
        {"name": name, "type": ["null", types[kind]] if nullable else types[kind]}
        for name, (kind, nullable, _) in COLUMNS.items()
    ]
    return {"type": "record", "name": "row", "fields": columns}


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from (
        "# The history format",
        "",
        "Any recorder can write this format, and `urteil analyze` judges it. This page is version "
        f"{SCHEMA_VERSION}. It is generated from the code's schema by "
        "`python -m tools.history_format`.",
        "",
        "A history is a table, as files of Parquet, of NDJSON or of [Avro](#avro). NDJSON is one "
        "JSON object a line, whose fields are the columns. One row is one micro-operation: a "
        "record sent, a record received, an offset committed. An operation is one call of a "
        "client, such as a transaction. Its rows stand next to each other and repeat the columns "
        "of the operation. In NDJSON a field that is null may be left out.",
        "",
        "## Columns",
        "",
        "| column | type | unit | may be null | since | meaning |",
        "|---|---|---|---|---|---|",
    )
    for name, (kind, nullable, meaning) in COLUMNS.items():
        null, since = ("yes" if nullable else "no"), (2 if name in NEW_IN_2 else 1)
        yield f"| `{name}` | {kind} | {UNITS.get(name, 'text')} | {null} | {since} | {meaning} |"
    yield from (
        "",
        "Other columns are refused. A column of another type is cast if no value changes. Times "
        "are of one monotonic clock for the whole history; their zero has no meaning. Texts are "
        "UTF-8. An unknown offset is null, never -1.",
        "",
        "Allowed values:",
        "",
    )
    for name, allowed in ENUMERATIONS.items():
        yield f"- `{name}`: {', '.join(f'`{one}`' for one in allowed)}"
    yield from ("", "## Kinds", "", "| kind | meaning | must not be null |", "|---|---|---|")
    for kind, meaning in MEANING_OF_KINDS.items():
        needed = ", ".join(f"`{name}`" for name in NEEDED.get(kind, ()))
        yield f"| `{kind}` | {meaning} | {needed} |"
    yield from ("", "One example a kind, as NDJSON:", "", "```json", *examples(), "```")
    yield from (
        "",
        "## Several files",
        "",
        "The numbers `op` run over all files of a history in completion order; only their order "
        "counts. A file may hold any rows, and the order of the files does not matter. Folders "
        "such as `date=2026-11-23` are allowed, and the date is not read. Parquet is read fastest "
        "if each file has its operations in order.",
        "",
        "A Kafka topic may hold a history too: the value of a record is one or more lines of "
        "NDJSON, or one row of Avro. Rows may be in any partition. "
        "`urteil analyze kafka://HOST:PORT/TOPIC` reads it.",
        "",
        "## Avro",
        "",
        "A file is an object container file, `*.avro`. Each of its records is a row, and its "
        "schema is a record whose fields are the columns:",
        "",
        "```json",
        *_avro_lines(),
        "```",
        "",
        "- A column of numbers is an `int` or a `long`, and a column of text a `string` or an "
        "`enum`. A column that may be null is a union with `null`. The fields may be in any order.",
        f"- The codec is one of {_codecs()}. A block has at most 64 MiB, before and after "
        "decompression.",
        "- A type is written where it is used. A schema that refers to a type by its name is "
        "refused, and so is an array whose items take no bytes.",
        "- The value of a Kafka record begins with a zero byte and the id of its schema in four "
        "bytes, the highest first. Then follows the row. [A topic of operations]"
        "(how-to/histories-where-they-are.md#a-topic-of-operations) describes where the schemas "
        "come from. A column that a schema lacks is null.",
        "",
        "## Check",
        "",
        "```console",
        "$ urteil analyze history/ --check-only",
        "$ urteil convert history.ndjson history",
        "```",
        "",
        "`--check-only` exits with 2 if a row breaks the format, and names file, row, column and "
        "what to do. Otherwise it counts the operations by `f` and the rows by `kind`. `convert` "
        "writes Parquet, leaves unknown columns out and counts them.",
        "",
        "The analysis also checks assumptions about several rows together: "
        "[a history of your own](how-to/your-history.md) lists them.",
        "",
        "## Versions",
        "",
        f"- 2: the columns {', '.join(f'`{name}`' for name in NEW_IN_2)}. They may be missing, and "
        "are null then.",
        "- 1: the other columns. Histories of version 1 are read.",
        "",
        "A new version only adds columns that may be missing.",
    )


def _avro_lines() -> Iterator[str]:
    *columns, last = avro_schema()["fields"]
    yield '{"type": "record", "name": "row", "fields": ['
    yield from (f"  {json.dumps(column)}," for column in columns)
    yield f"  {json.dumps(last)}"
    yield "]}"


def _codecs() -> str:
    return ", ".join(f"`{codec.decode()}`" for codec in CODECS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
