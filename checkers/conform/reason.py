"""The known reasons for differences between two systems' answers to a request. One of the systems
is the reference broker (Urteil's own broker).

A reason has a verdict. `OURS` is a fault of the reference broker that is not fixed yet. `PERMITTED`
is a choice that the protocol leaves to a broker, or a simplification that no client can notice.
`THEIRS` is a fault of the other system.

If `general` is true, a reason applies only if no other reason applies. If a difference has only a
general reason, the answer may not show an earlier change yet. So a request that changes nothing is
first sent again. If `ends` is true, the states of the two systems differ after a difference with
this reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from checkers.conform.compare import Difference
from reference_impl.wire.messages.apis import Api


class Verdict(StrEnum):
    """The system that is at fault for a difference: the reference broker (Urteil's own broker), the
    other system, or none of the two.
    """

    OURS = "ours to fix"
    PERMITTED = "permitted"
    THEIRS = "theirs"


class _Any:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "any value"


ANY: Final = _Any()


def always(difference: Difference) -> bool:
    """Returns True for every difference. A reason without a further condition uses this function as
    its condition.
    """
    del difference
    return True


def both_have_the_same_error(difference: Difference) -> bool:
    """Returns True if both answers have the same error code, and the error code is not NONE."""
    here = difference.system_fields.get("error_code")
    return here not in (None, "NONE") and here == difference.reference_fields.get("error_code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A kind of difference between two answers, and the sentence that explains it."""

    name: str
    verdict: Verdict
    apis: frozenset[Api]
    sentence: str
    field: str = "*"
    versions: range = range(100)
    system: tuple[Any, ...] = (ANY,)
    reference: tuple[Any, ...] = (ANY,)
    notes: str = "*"
    when: Callable[[Difference], bool] = always
    ends: bool = False
    general: bool = False

    def explains(self, difference: Difference) -> bool:
        return (
            difference.send.api in self.apis
            and difference.send.version in self.versions
            and fnmatchcase(difference.field, self.field)
            and difference.system in self.system
            and difference.reference in self.reference
            and fnmatchcase(difference.send.note, self.notes)
            and self.when(difference)
        )


def reason_of(difference: Difference, rows: Iterable[Reason]) -> Reason | None:
    """Returns the first of `rows` that explains the difference, or None if there is no known
    reason.
    """
    return next((row for row in rows if row.explains(difference)), None)
