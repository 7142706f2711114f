"""Checks that a history obeys the rules of its format, and counts its operations and rows.

Each rule checked here concerns a single row. Rules about several rows, such as the order of times,
are checked only by the analysis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.histories.columnar.arrow import as_ints
from checkers.histories.io import recorded
from checkers.histories.io.locations import Location, Place
from checkers.histories.io.reading_ahead import read_in_order
from checkers.histories.io.row_rules import broken_rules, cast
from checkers.histories.io.sources import Reader, parquet, sources
from checkers.histories.plan.batch import Batch

SHOWN: Final = 20  # broken rules that are printed; the others are only counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of a format check: how many operations and rows a history has, and which rows
    break a rule.

    Row numbers begin at 1 in each file. A blank line of NDJSON is not a row, so it has no number.
    """

    files: int
    operations: int
    by_function: Counter[str]  # operations by `f`
    by_kind: Counter[str]  # rows by `kind`
    broken: tuple[str, ...]  # the first rows that break each rule, at most SHOWN
    broken_rows: int  # their total; a row counts once for each rule that it breaks


def check(history: Location) -> Checked:
    """Reads the whole history, and returns its counts and the rows that break a rule of the format.

    Raises UnreadableHistory if a file is malformed, and UnreadableLocation if a file cannot be
    opened.
    """
    files = _files(history)
    functions, kinds, broken = Counter[str](), Counter[str](), list[str]()
    broken_rows, last_op = 0, None
    for place, tables in read_in_order(files):
        row = 0
        for table in tables:
            batch = Batch(cast(table, place))
            for odd, what in broken_rules(batch):
                broken_rows += int(odd.sum())
                if len(broken) < SHOWN:
                    first = row + int(np.argmax(odd)) + 1
                    broken.append(f"{place}, row {first}: {what}; fix that row")
            if not batch.table.num_rows:
                continue
            ops = as_ints(batch.table["op"].fill_null(-1))
            begins = np.r_[ops[:1] != last_op, ops[1:] != ops[:-1]]
            functions.update(batch.table["f"].filter(begins).to_pylist())
            kinds.update(batch.table["kind"].to_pylist())
            last_op, row = int(ops[-1]), row + batch.table.num_rows
    return Checked(
        files=len(files),
        operations=functions.total(),
        by_function=functions,
        by_kind=kinds,
        broken=tuple(broken),
        broken_rows=broken_rows,
    )


def _files(history: Location) -> list[tuple[Reader, Place]]:
    found = sources(history)
    read, place = found[0]
    parts = recorded.parts(place) if read is recorded.tables else []
    return [(parquet, part) for part in parts] or found


def lines(checked: Checked) -> Iterator[str]:
    """Yields three lines of text for the user.

    The lines have the number of files, the number of operations for each function `f`, and the
    number of rows for each kind.
    """
    yield f"files       {checked.files:,}"
    yield f"operations  {checked.operations:,}{_each(checked.by_function)}"
    yield f"rows        {checked.by_kind.total():,}{_each(checked.by_kind)}"


def _each(counts: Counter[str]) -> str:
    some = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
    return f": {some}" if some else ""
