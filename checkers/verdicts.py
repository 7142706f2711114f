"""The four verdicts on a claim, and the exit codes of runs.

A violation is data, never a Python exception. The worst verdict of a run sets the exit code. From
the worst to the best, three verdicts are violated (exit code 1), undecided (3) and holds (0).

The fourth verdict is *not exercised*: no observation could have shown a violation of the claim.
This verdict changes no exit code, with two exceptions: the user requires that every claim is
exercised, or no claim was exercised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["violated", "undecided", "not exercised", "holds"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A verdict's sign on a terminal, its name in HTML and its exit code.

    `exit_code` is None for `not exercised`. This verdict has no effect on the exit code of a run
    that has any other verdict.
    """

    mark: str
    state: str
    exit_code: int | None


MEANINGS: Final[Mapping[Verdict, Meaning]] = {  # the worst first
    "violated": Meaning(mark="✗", state="violated", exit_code=VIOLATION),
    "undecided": Meaning(mark="?", state="undecided", exit_code=UNDECIDED),
    "holds": Meaning(mark="✓", state="holds", exit_code=HOLDS),
    "not exercised": Meaning(mark="·", state="not-exercised", exit_code=None),
}


# The words for a verdict in a list of runs; a baseline makes a violation known or permitted.
LISTED_AS: Final = (
    "violated",
    "known",
    "permitted",
    *(word for word in MEANINGS if word != "violated"),
)


def verdict_on(found: int, observations: int) -> Verdict:
    """Returns the verdict on an anomaly or a check with `found` violations.

    `observations` is the number of observations that could have shown a violation. Without
    observations and violations, the verdict is `not exercised`.
    """
    if found:
        return "violated"
    return "holds" if observations else "not exercised"


def is_expected(verdict: Verdict, expected: Verdict | None) -> bool:
    """Returns True if the verdict is the expected one. If `holds` is expected, the verdict
    `not exercised` is accepted, too.
    """
    return verdict == expected or (expected == "holds" and verdict == "not exercised")


def exit_code(verdicts: Iterable[Verdict], *, require_exercised: bool = False) -> int:
    """Returns the exit code of the worst verdict of a run.

    By default the verdict `not exercised` is ignored. With `require_exercised`, it has the effect
    of `undecided`. If all verdicts are `not exercised`, the exit code is UNDECIDED. It is also
    UNDECIDED if there is no verdict at all.
    """
    found = set(verdicts)
    if require_exercised and "not exercised" in found:
        found.add("undecided")
    codes = (meaning.exit_code for verdict, meaning in MEANINGS.items() if verdict in found)
    return next((code for code in codes if code is not None), UNDECIDED)
