"""Opens and reads Parquet files with little memory.

Before a Parquet reader decodes the first row of a row group, it allocates memory for all rows that
the row group declares. So without the checks of this module, a wrong number of rows in a file of
two kilobytes could use all memory of a machine.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.histories.io.locations import Place
from checkers.histories.io.small_files import content_or_file
from checkers.histories.io.unreadable import SHOWN, UnreadableHistory
from model.faults import InputFault

ROWS_AT_ONCE: Final = 200_000


@contextmanager
def reading_parquet(path: Place | str) -> Generator[None]:
    """Raises UnreadableHistory if a Parquet reader raises an error in the `with` block.

    A ValueError is such an error, too: in a damaged file, the name of a column may be invalid
    UTF-8.
    """
    try:
        yield
    except InputFault:
        raise
    except FileNotFoundError as error:
        raise UnreadableHistory(
            f"{path}: no such file; if VACUUM of a Delta table deleted it, name a newer version, "
            "else copy or record the history again"
        ) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        fault = (str(error).splitlines() or [type(error).__name__])[0][:SHOWN]
        raise UnreadableHistory(
            f"{path}: this is no complete Parquet file ({fault}); copy or record it again"
        ) from error


def opened(place: Place, **options: Any) -> pq.ParquetFile:
    """Opens a Parquet file, and checks that the numbers of rows in its footer agree.

    `options` are passed to pyarrow. Raises OSError, pa.ArrowException or UnreadableLocation if the
    file cannot be opened, or if its footer contradicts itself.
    """
    file = pq.ParquetFile(content_or_file(place), **options)
    try:
        check_footer(file.metadata)
    except pa.ArrowInvalid:
        file.close()
        raise
    return file


def check_footer(footer: pq.FileMetaData) -> None:
    """Raises pa.ArrowInvalid if the numbers of rows in the footer of a Parquet file contradict each
    other.

    The number for the file must be the sum of the numbers for its row groups. The number for a row
    group must be the number of values in a column of the row group.
    """
    groups = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
    if min(groups, default=0) < 0 or sum(groups) != footer.num_rows:
        raise pa.ArrowInvalid(
            f"the footer declares {footer.num_rows:,} rows, and its row groups {sum(groups):,}"
        )
    columns = map(footer.schema.column, range(footer.num_columns))
    flat = next((n for n, column in enumerate(columns) if not column.max_repetition_level), None)
    if flat is None:
        return
    for number, rows in enumerate(groups):
        found = footer.row_group(number).column(flat).num_values  # with nulls
        if found != rows:
            raise pa.ArrowInvalid(f"the footer declares {rows:,} rows, and there are {found:,}")


def tables_of(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yields the rows of an open Parquet file, as tables of at most `ROWS_AT_ONCE` rows.

    Raises OSError or pa.ArrowException if the file is damaged.
    """
    declared = file.metadata.num_rows
    if declared <= ROWS_AT_ONCE:
        yield file.read(columns, use_threads=False)  # half the CPU time of `iter_batches`
        return
    found = 0
    for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns):
        found += batch.num_rows
        yield pa.Table.from_batches([batch])
    if found != declared:
        raise pa.ArrowInvalid(f"the footer declares {declared:,} rows, and there are {found:,}")


def table_of(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Returns all rows of an open Parquet file. Raises OSError or pa.ArrowException if the file
    is damaged.
    """
    return pa.concat_tables(tables_of(file, columns))
