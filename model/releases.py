"""Releases of Apache Kafka, and ranges of releases that have a rule of the protocol, a bug or a
claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from model.faults import UnknownName

LATEST: Final = "4.3"  # the newest Kafka release whose source the specs were compared with

# line of releases -> its newest patch release that was looked at
NEWEST_PATCH: Final[Mapping[str, int]] = {
    "0.8.0": 0,
    "0.8.1": 1,
    "0.8.2": 2,
    "0.9.0": 1,
    "0.10.0": 1,
    "0.10.1": 1,
    "0.10.2": 2,
    "0.11.0": 2,
    "1.0": 2,
    "1.1": 1,
    "2.0": 1,
    "2.1": 1,
    "2.2": 2,
    "2.3": 1,
    "2.4": 1,
    "2.5": 1,
    "2.6": 3,
    "2.7": 2,
    "2.8": 2,
    "3.0": 2,
    "3.1": 2,
    "3.2": 3,
    "3.3": 2,
    "3.4": 1,
    "3.5": 2,
    "3.6": 2,
    "3.7": 1,
    "3.8": 0,
    "3.9": 1,
    "4.0": 1,
    "4.1": 1,
    "4.2": 0,
    "4.3": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The range of Kafka releases that have a rule of the protocol, a bug or a claim.

    The range includes its first release `since` and its last release `until`. None means that this
    end is unknown. A release without a patch number, such as `2.6`, means the first patch release
    of 2.6 in `since`, and the last patch release of 2.6 in `until`.

    `fixed_in` lists older releases that also have the fix. A release without a patch number in
    `fixed_in` means that an unknown patch release of this line has the fix.

    Raises ValueError if a release of Kafka is unknown, or if `until` is before `since`.
    """

    since: str | None = None
    until: str | None = None
    of: str = "Kafka"  # or the client that has the bug
    released: bool = True  # False: no release has it
    needs: str = ""  # the setting without which the releases do not behave like this
    fixed_in: tuple[str, ...] = ()
    note: str = ""  # anything else, such as what a default adds to Kafka

    def __post_init__(self) -> None:
        ends = [end for end in (self.since, self.until) if end is not None]
        if ends and not self.released:
            raise ValueError(f"{self}: a range of no release has no ends, not {', '.join(ends)}")
        if self.of != "Kafka":
            return  # the releases of clients are not listed here
        unreal = [end for end in (*ends, *self.fixed_in) if not _is_release(end)]
        if unreal:
            raise ValueError(f"{self}: {unreal[0]} is no release in NEWEST_PATCH")
        if not _is_ordered(self.since, self.until):
            raise ValueError(f"{self}: ends before it begins")

    def has(self, release: str) -> bool | None:
        """Returns True if the release has the rule (or the bug, or the claim), and False if it does
        not. Returns None if this is unknown.

        A release without a patch number, such as `4.3`, means the newest patch release of 4.3. The
        result does not depend on the field `needs`, which names a broker or client setting without
        which the rule has no effect. Raises UnknownName for an unknown release.
        """
        at = _numbers(newest_patch(release))
        if not self.released or self.of != "Kafka":
            return False
        if self.since is not None and at < _numbers(self.since):
            return False
        if self.until is not None and (*_numbers(self.until), inf) < at:
            return False
        for fixed in map(_numbers, self.fixed_in):
            if at[: len(fixed)] == fixed and len(fixed) < len(at):
                return None
            if at[:-1] == fixed[:-1] and fixed <= at:
                return False
        if self.until is None:
            return None
        last = _numbers(self.until)
        return True if self.since is not None or at[: len(last)] == last else None

    def __str__(self) -> str:
        needs = f"with {self.needs}" if self.needs else ""
        note = "; ".join(filter(None, (needs, self.note, _fixed_too(self.fixed_in))))
        note = f" ({note})" if note else ""
        if not self.released:
            return f"in no release of {self.of}{note}"
        if self.since is None and self.until is None:
            return f"in unknown releases of {self.of}{note}"
        if self.since == self.until:
            return f"in {self.of} {self.since}{note}"
        since = "an unknown release" if self.since is None else f"{self.of} {self.since}"
        until = "an unknown release" if self.until is None else f"{self.of} {self.until}"
        if self.since is not None and self.until is not None:
            until = self.until
        return f"from {since} to {until}{note}"

    @property
    def short(self) -> str:
        """The range as text, such as `2.0 to 2.1` or `to 2.4`. If no release is in the range, the
        text is `none`.

        The text begins with the name of the client, if the releases are those of a client and not
        of Kafka. If both ends of a range of Kafka's releases are unknown, the text is `unknown`.
        """
        if not self.released:
            return "none"
        of = [] if self.of == "Kafka" else [self.of]
        if self.since is None and self.until is None:
            return " ".join(of) or "unknown"
        if self.since == self.until:
            return " ".join((*of, str(self.since)))
        since = [] if self.since is None else [self.since if self.until else f"from {self.since}"]
        until = [] if self.until is None else [f"to {self.until}"]
        return " ".join((*of, *since, *until))


def kafka(
    since: str | None,
    until: str | None,
    note: str = "",
    *,
    needs: str = "",
    fixed_in: tuple[str, ...] = (),
) -> InForce:
    return InForce(since=since, until=until, note=note, needs=needs, fixed_in=fixed_in)


def unreleased(note: str) -> InForce:
    """Returns an empty range of Kafka releases, for a rule or a bug that was never released. `note`
    is the reason.
    """
    return InForce(released=False, note=note)


def newest_patch(release: str) -> str:
    """Returns the newest patch release of a line of releases, such as `4.3.1` for the line `4.3`.

    If `release` is already a patch release, returns it unchanged. Raises UnknownName for any other
    text.
    """
    lines = [line for line in NEWEST_PATCH if line == release or line.startswith(f"{release}.")]
    if len(lines) == 1:
        return f"{lines[0]}.{NEWEST_PATCH[lines[0]]}"
    line, _, patch = release.rpartition(".")
    if line in NEWEST_PATCH and patch.isdecimal() and int(patch) <= NEWEST_PATCH[line]:
        return release
    raise UnknownName("release of Kafka", release, NEWEST_PATCH)


def _fixed_too(releases: tuple[str, ...]) -> str:
    if not releases:
        return ""
    lines = any(release in NEWEST_PATCH for release in releases)
    of = "patch releases of " if lines else ""
    return f"fixed in {of}{' and '.join(releases)} too"


def _is_release(version: str) -> bool:
    known = (
        f"{line}.{patch}" for line, newest in NEWEST_PATCH.items() for patch in range(newest + 1)
    )
    # also the start of a release, such as 0.11 or 2.6
    return any(f"{one}.".startswith(f"{version}.") for one in known)


def _is_ordered(since: str | None, until: str | None) -> bool:
    if since is None or until is None:
        return True
    return _numbers(since) <= (*_numbers(until), inf)  # 2.6.1 is before the end of the line 2.6


def _numbers(version: str) -> tuple[float, ...]:
    return tuple(map(int, version.split(".")))


UNRELEASED: Final = InForce(released=False)
