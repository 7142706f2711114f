"""The baseline: a TOML file of known violations. A known violation does not fail a run until its
entry expires. This is an entry:

    [[known]]
    anomaly = "lost-write"            # or claim = "exactly_once_publish"
    fingerprint = "c37e44afb86e3177"
    owner = "storage team"
    reason = "KAFKA-19148, fixed in 4.4"
    expires = 2027-03-31              # the last day on which it is known

A fingerprint is a hash of the claim and of some parts of a violation, such as the kinds and
outcomes of operations. These parts are the same in every recording of a bug.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

from checkers.events import BaselineApplied
from checkers.over_time.kept_run import KeptRun
from checkers.report.decisions import Decision, claim
from checkers.report.shapes import DIGITS
from model.faults import InputFault, nearest

TABLE: Final = "known"
CLAIM: Final = ("claim", "anomaly")
TEXTS: Final = ("fingerprint", "owner", "reason")
KEYS: Final = (*CLAIM, *TEXTS, "expires")
_HEADER: Final = re.compile(rf"^\s*\[\[\s*{TABLE}\s*\]\]", re.MULTILINE)
_FINGERPRINT: Final = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
_LINE: Final = re.compile(r"line (\d+)")


class BadBaseline(InputFault):
    """Raised if the baseline cannot be read, or if an entry is wrong. The message has the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownViolation:
    claim: str
    fingerprint: str
    owner: str
    reason: str
    expires: date
    line: int

    def __str__(self) -> str:
        return f"{self.reason} ({self.owner}, until {self.expires})"

    def at(self) -> str:
        return f"{self.claim} {self.fingerprint} (line {self.line})"


@dataclass(slots=True)
class Baseline:
    file: Path
    entries: Sequence[KnownViolation]
    today: date = field(default_factory=lambda: datetime.now(tz=UTC).date())
    _shown: set[KnownViolation] = field(default_factory=set[KnownViolation])
    _decided: set[str] = field(default_factory=set[str])

    def __call__(self, decision: Decision) -> Decision:
        """Returns the decision with its known violations in the fields `known` and `expired`.

        A violation is known if an entry of the baseline has its claim and its fingerprint. It is in
        `expired` if the last day of the entry has passed.
        """
        if decision.verdict in ("holds", "violated"):
            self._decided.add(claim(decision))
        matching = [
            one
            for one in self.entries
            if one.claim == claim(decision) and one.fingerprint in decision.fingerprints
        ]
        self._shown.update(matching)
        known = {one.fingerprint: str(one) for one in matching if self._is_valid(one)}
        expired = {one.fingerprint: str(one) for one in matching if not self._is_valid(one)}
        return replace(decision, known=known, expired=expired)

    def _is_valid(self, entry: KnownViolation) -> bool:
        return self.today <= entry.expires

    def result(self) -> BaselineApplied:
        """Returns the entries in four groups: known violations that occurred, expired violations
        that occurred, violations that did not occur, and violations whose claim was not decided.
        """
        absent = [one for one in self.entries if one not in self._shown]
        return BaselineApplied(
            file=str(self.file),
            known=_places(
                one for one in self.entries if one in self._shown and self._is_valid(one)
            ),
            expired=_places(
                one for one in self.entries if one in self._shown and not self._is_valid(one)
            ),
            unmatched=_places(one for one in absent if one.claim in self._decided),
            not_checked=_places(one for one in absent if one.claim not in self._decided),
        )


def _places(entries: Iterable[KnownViolation]) -> tuple[str, ...]:
    return tuple(f"{one.at()}: {one}" for one in entries)


def read_baseline(file: Path) -> Baseline:
    """Returns the baseline in the file. Raises BadBaseline if the file cannot be read, or if an
    entry is wrong.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as why:
        reason = why.strerror if isinstance(why, OSError) else "not UTF-8"
        raise BadBaseline(
            f"--baseline {file}: cannot be read ({reason}); write one with urteil baseline RUN"
        ) from why
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        found = _LINE.search(str(why))
        line = found[1] if found else str(text.count("\n") + 1)
        raise BadBaseline(f"{file}, line {line}: not TOML ({why}); correct this line") from why
    for key in whole:
        if key != TABLE:
            line = _line_of(text, rf"^\s*\[*\s*{re.escape(key)}\b")
            raise BadBaseline(f"{file}, line {line}: {key!r} is unknown; write [[{TABLE}]]")
    tables = whole.get(TABLE, [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise BadBaseline(
            f"{file}, line {_line_of(text, rf'^.*{TABLE}')}: an entry begins with [[{TABLE}]]"
        )
    starts = [found.start() for found in _HEADER.finditer(text)]
    if len(starts) != len(tables):  # an inline array has no lines of its own
        starts = [0] * len(tables)
    ends = [*starts[1:], len(text)][: len(tables)]
    entries: list[KnownViolation] = []
    for table, start, end in zip(tables, starts, ends, strict=True):
        entry = _entry(table, _Place(file, text, start, end))
        twin = next((one for one in entries if _key(one) == _key(entry)), None)
        if twin is not None:
            raise BadBaseline(
                f"{file}, line {entry.line}: the same claim and fingerprint as line {twin.line}; "
                "remove one of them"
            )
        entries.append(entry)
    return Baseline(file, tuple(entries))


def _key(entry: KnownViolation) -> tuple[str, str]:
    return entry.claim, entry.fingerprint


def _line_of(text: str, pattern: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    return 1 + text[: found.start()].count("\n") if found else 1


@dataclass(frozen=True, slots=True)
class _Place:
    file: Path
    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        return 1 + self.text[: self.start].count("\n") + self._blank()

    def _blank(self) -> int:
        # The match of a header may begin with empty lines.
        block = self.text[self.start : self.end]
        return block[: len(block) - len(block.lstrip())].count("\n")

    def fault(self, key: str | None, wrong: str) -> BadBaseline:
        line = self.line
        if key is not None:
            block = self.text[self.start : self.end]
            found = re.search(rf"^\s*{re.escape(key)}\s*=", block, re.MULTILINE)
            if found:
                upto = self.start + found.end()
                line = 1 + self.text[:upto].count("\n")
        return BadBaseline(f"{self.file}, line {line}: {wrong}")


def _entry(table: Mapping[str, Any], place: _Place) -> KnownViolation:
    for key in table:
        if key not in KEYS:
            raise place.fault(key, f"no key {key!r} in an entry; the nearest: {nearest(key, KEYS)}")
    names = [key for key in CLAIM if key in table]
    if len(names) != 1:
        raise place.fault(
            names[-1] if names else None, "an entry has either a claim or an anomaly: write one"
        )
    (named,) = names
    for key in (named, *TEXTS):
        value = table.get(key)
        if not isinstance(value, str) or not value.strip():
            wrong = "is missing" if key not in table else "is not a text"
            raise place.fault(key, f"{key} {wrong}; write {key} = {_EXAMPLES[key]}")
    if not _FINGERPRINT.fullmatch(table["fingerprint"]):
        raise place.fault(
            "fingerprint",
            f"fingerprint {table['fingerprint']!r} has not {DIGITS} hexadecimal digits; "
            "copy it from urteil baseline RUN",
        )
    expires: Any = table.get("expires")
    if not isinstance(expires, date):
        wrong = "is missing" if expires is None else "is not a date"
        raise place.fault("expires", f"expires {wrong}; write expires = 2027-03-31, unquoted")
    return KnownViolation(
        claim=table[named],
        fingerprint=table["fingerprint"],
        owner=table["owner"],
        reason=table["reason"],
        expires=expires.date() if isinstance(expires, datetime) else expires,
        line=place.line,
    )


_EXAMPLES: Final = {
    "claim": '"exactly_once_publish"',
    "anomaly": '"lost-write"',
    "fingerprint": '"c37e44afb86e3177"',
    "owner": '"the team that fixes it"',
    "reason": '"KAFKA-19148"',
}


def written(run: KeptRun, *, owner: str, reason: str, expires: date) -> str:
    """Returns the text of a baseline for a run. It has an entry for each violation of each claim
    whose verdict fails the run.

    If a claim has known and new violations, the run fails, and the text has an entry for both
    kinds.
    """
    lines = [
        f"# Known violations of {run.id}: {run.command_line}",
        "# Each entry needs an owner, a reason, and the last day on which it is known.",
    ]
    done: set[tuple[str, str]] = set()
    for one in run.verdicts:
        if one.judged != "violated":
            continue
        for print_, shape in one.fingerprints.items():
            if (one.claim, print_) not in done:
                done.add((one.claim, print_))
                found = f"{one.count:,} found; " if one.count else ""
                lines += [
                    "",
                    f"# {_one_line(one.subject)}",
                    f"# {found}{_one_line(shape)}",
                    f"[[{TABLE}]]",
                    f"{one.kind} = {_quoted(one.claim)}",
                    f"fingerprint = {_quoted(print_)}",
                    f"owner = {_quoted(owner)}",
                    f"reason = {_quoted(reason)}",
                    f"expires = {expires.isoformat()}",
                ]
    if not done:
        lines.append("# The run has no violation that is not known.")
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)  # a JSON string without surrogates is a TOML string
