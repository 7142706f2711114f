"""The error for an unreadable history, and the texts that its messages share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from model.faults import InputFault

if TYPE_CHECKING:
    from collections.abc import Generator

    from checkers.histories.io.locations import Place

SHOWN: Final = 200  # characters of a wrong text in an error message


class UnreadableHistory(InputFault):
    """Raised for a history that is missing, incomplete or malformed. The message has the next
    step for the user.
    """


def shown(found: object) -> str:
    """Returns a wrong value as a text for an error message, in Python's notation. A long text is
    shortened.
    """
    text = repr(found)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


@contextmanager
def reading_parquet(path: Place | str) -> Generator[None]:
    """Raises UnreadableHistory if a Parquet reader raises an error in the `with` block.

    A ValueError is such an error, too: in a damaged file, the names of columns may not be UTF-8.
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
