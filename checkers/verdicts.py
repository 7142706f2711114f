"""The verdict of a checker on a claim: holds, violated, or undecided with a reason.

A violation is data, never a Python exception. Exit codes follow from decisions: 1 beats 3 beats 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

Verdict = Literal["holds", "violated", "undecided"]

HOLDS: Final = 0
VIOLATION: Final = 1
UNUSABLE_INPUT: Final = 2
UNDECIDED: Final = 3
OUR_OWN_BUG: Final = 4
INTERRUPTED: Final = 130

EXIT_CODES: Final = {
    HOLDS: "every selected claim was decided and holds",
    VIOLATION: "a violation",
    UNUSABLE_INPUT: "usage, or input unreadable or of the wrong shape",
    UNDECIDED: "undecided, nothing checked, or assumptions broken",
    OUR_OWN_BUG: "our own bug: please report it",
    INTERRUPTED: "interrupted; partial results are kept",
}

# what the first two mean where bugs are run that must be caught
AS_EXPECTED: Final = {
    HOLDS: "every verdict is the expected one",
    VIOLATION: "a verdict is not the expected one",
}


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit code of a run that decided these; of one that decided nothing it is UNDECIDED."""
    codes = {"holds": HOLDS, "violated": VIOLATION, "undecided": UNDECIDED}
    decided = {codes[v] for v in verdicts}
    return next((c for c in (VIOLATION, UNDECIDED, HOLDS) if c in decided), UNDECIDED)
