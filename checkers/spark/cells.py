"""The rows that tasks return to Spark. The column `cell` contains bytes: a table, the cost of a
task, or an error.

The column `kernel` has the number of the kernel (a function from rows of a history to a table) that
returned the table. The column `origin` is the partition from which the table was computed. The
column `target` is the shuffle partition to which the table goes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from checkers.histories.plan.cost import Meter
from checkers.histories.plan.spill import OnDisk, mapped_file
from model.faults import InputFault

FAULT: Final = -1  # in the column `kernel`: the cell is the message of an InputFault
COST: Final = -2  # the cell is the TaskCost of the task
IN_FILE: Final = -1  # in the column `target`: the cell is the OnDisk of the table
COLUMNS: Final = "kernel int, target int, origin int, cell binary"
_CELL: Final = pa.schema(
    [
        ("kernel", pa.int32()),
        ("target", pa.int32()),
        ("origin", pa.int32()),
        ("cell", pa.binary()),
    ]
)


def table_cell(kernel: int, target: int, origin: int, table: pa.Table) -> pa.RecordBatch:
    """Returns one row. `kernel`, `target` and `origin` are its columns of the same names. Its
    column `cell` has the table, as an Arrow stream that is compressed with LZ4.
    """
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    return cell_row(kernel, target, origin, sink.getvalue().to_pybytes())


def cost_cell(meter: Meter) -> pa.RecordBatch:
    return cell_row(COST, 0, 0, pickle.dumps(meter.task()))


def cell_row(kernel: int, target: int, origin: int, cell: bytes) -> pa.RecordBatch:
    columns = [[kernel], [target], [origin], [cell]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _CELL, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_CELL)


def no_fault(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row. Raises InputFault if the row contains the InputFault of a worker."""
    if row["kernel"] == FAULT:
        raise InputFault(row["cell"].decode())
    return row


def table_of(row: Mapping[str, Any], mapped: Callable[[str], pa.Buffer] = mapped_file) -> pa.Table:
    """Returns the table of a row. If the table is in a file, the function `mapped` maps the file to
    memory.

    The operating system limits the number of mapped files. So a caller that reads many tables
    should cache the results of `mapped`.
    """
    if row["target"] == IN_FILE:
        in_file: OnDisk = pickle.loads(row["cell"])
        return in_file.within(mapped(in_file.path))
    return pa.ipc.open_stream(row["cell"]).read_all()
