"""The three verdicts on a claim (holds, violated, undecided), and the exit codes of runs.

A violation is data, never a Python exception. The worst verdict of a run sets the exit code:
violated (1) is worse than undecided (3), and undecided is worse than holds (0).
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
    VIOLATION: "at least one claim is violated",
    UNUSABLE_INPUT: "wrong usage, or the input cannot be read",
    UNDECIDED: "undecided: budget spent, nothing checked, or an assumption is broken",
    OUR_OWN_BUG: "a bug of Urteil: please report it",
    INTERRUPTED: "interrupted; partial results are kept",
}

# The meaning of 0 and 1 for a command that also runs bugs, which must be found.
AS_EXPECTED: Final = {
    HOLDS: "every verdict is the expected one",
    VIOLATION: "a verdict is not the expected one",
}


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Returns the exit code for the verdicts of a run; UNDECIDED if there are none."""
    codes = {"holds": HOLDS, "violated": VIOLATION, "undecided": UNDECIDED}
    decided = {codes[v] for v in verdicts}
    return next((c for c in (VIOLATION, UNDECIDED, HOLDS) if c in decided), UNDECIDED)
