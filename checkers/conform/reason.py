"""The reasons for differences between the two systems' answers to a request.

The verdict `OURS` is an open fault of the reference broker. `PERMITTED` is a choice that the
protocol leaves to a broker, or a simplification that no client can notice. `THEIRS` is a finding
about the other system.

A reason with `general` applies only if no other reason does. Then a read is sent again first,
because it may not yet show an earlier change. After a reason with `ends`, the states of the two
systems differ.
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
    """The system at fault for a difference: the reference broker, the other system, or neither."""

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
    """Returns True: adds no condition to a reason."""
    del difference
    return True


def both_have_the_same_error(difference: Difference) -> bool:
    """True if both answers have the same error code other than NONE."""
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
    """Returns the first reason that explains the difference, or None."""
    return next((row for row in rows if row.explains(difference)), None)
