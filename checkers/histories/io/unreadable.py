"""The error for an unreadable history, and the texts that its messages share."""

from __future__ import annotations

from typing import Final

from model.faults import InputFault

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
