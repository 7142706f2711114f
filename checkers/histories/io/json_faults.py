"""Writes the error message for an NDJSON history that Arrow cannot read: the line, the fault and
the fix.

The error of Arrow has no line number, so the file is read a second time, up to the first wrong
line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from checkers.histories.io.columns import unknown_column
from checkers.histories.io.field_types import PYTHON_TYPES
from checkers.histories.io.unreadable import SHOWN, shown
from model.histories import COLUMNS

if TYPE_CHECKING:
    from checkers.histories.io.locations import Place

LONGEST_LINE: Final = 16 << 20  # bytes; also the size of the blocks that Arrow reads


def first_fault(path: Place, otherwise: str) -> str:
    """Returns the end of an error message: the number of the file's first wrong line, the fault of
    this line, and how to fix it.

    If no line is wrong, the message has `otherwise`, which is the error message of Arrow. A line is
    read only up to the longest allowed length, because a file without newlines may be larger than
    the memory.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE + 1), b""), 1):
            if len(line) > LONGEST_LINE:
                return f", line {number}: the line has more than 16 MiB; shorten its longest value"
            fault = fault_of(line) if line.strip() else ""
            if fault:
                return f", line {number}{fault}"
    return f": {otherwise}; fix the file, or record it again"


def fault_of(line: bytes) -> str:
    """Returns why a line is not a row of a history, and how to fix the line. The text is empty
    if the line is a row.
    """
    try:
        row: Any = json.loads(line)
    except json.JSONDecodeError as error:
        cut = "" if line.endswith(b"\n") else ": the last line is cut short; delete it"
        return f", column {error.colno}: {error.msg}{cut or '; fix that line'}"
    except UnicodeDecodeError as error:
        return f": {error}; JSON is UTF-8 text: convert the file"
    except (RecursionError, ValueError) as error:  # nested too deeply, or too many digits
        return f": {str(error)[:SHOWN]}; fix that line"
    if not isinstance(row, dict):
        return ": not a JSON object; write each row as one object whose fields are the columns"
    for name in row:
        if name not in COLUMNS:
            return f": {unknown_column(name)}"
    for name, (kind, _, _) in COLUMNS.items():
        value = row.get(name)
        if value is not None and type(value) is not PYTHON_TYPES[kind]:
            return f": column {name} is {shown(value)}, not of type {kind}; fix that value"
        bits = 32 if kind == "int32" else 64
        if isinstance(value, int) and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            return f": column {name} is {shown(value)}, more than {bits} bits; fix that value"
    return ""
