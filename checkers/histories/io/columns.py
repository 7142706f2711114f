"""Checks that a history file has the columns of the history format, and no other columns.

The columns that version 2 of the format added may be missing.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from checkers.histories.io.unreadable import SHOWN, UnreadableHistory
from model.histories import COLUMNS, NEW_IN_2

if TYPE_CHECKING:
    from checkers.histories.io.locations import Place


def check_columns(names: list[str], path: Place) -> None:
    """Checks the column names of a file; raises UnreadableHistory if a column is missing or
    unknown.
    """
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        raise UnreadableHistory(f"{path}: {unknown_column(unknown[0])}")
    missing = [name for name in COLUMNS if name not in (*names, *NEW_IN_2)]
    if missing:
        raise UnreadableHistory(
            f"{path}: no column {', '.join(missing)}; add it: a history has the columns "
            f"{', '.join(COLUMNS)}"
        )


def unknown_column(name: str) -> str:
    """Returns the text of the error for a column that histories do not have.

    The text suggests the most similar name of a column, if there is a similar one.

    >>> unknown_column("offest")
    'a history has no column offest; if you mean offset, rename it; else delete it'
    """
    short = name[:SHOWN]
    nearest = get_close_matches(short, COLUMNS, n=1)
    meant = f"if you mean {nearest[0]}, rename it; else delete it" if nearest else "delete it"
    return f"a history has no column {short}; {meant}"
