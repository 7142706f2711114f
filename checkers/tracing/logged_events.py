"""The events that log lines report, and the rows of a table. Each row of this table describes one
kind of log line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from checkers.tracing.log_lines import LogLine

Field = int | str | frozenset[int] | frozenset[str]
SETS: Final = frozenset({"isr", "elr", "lastKnownElr", "replicas", "adding", "removing"})
TEXTS: Final = frozenset({"state", "result", "version"})
NAMES: Final = frozenset({"partitions"})  # sets of names


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A fact that one log line states about one partition or about one transactional id."""

    step: StrEnum
    subject: str  # a partition or a transactional id
    line: LogLine
    fields: Mapping[str, Field]
    is_late: bool = False  # Kafka logs it after its effect, when another thread may have seen it

    def number(self, name: str) -> int:
        value = self.fields[name]
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        value = self.fields[name]
        assert isinstance(value, str)
        return value

    def members(self, name: str) -> frozenset[int]:
        value = self.fields[name]
        assert isinstance(value, frozenset)
        return frozenset(member for member in value if isinstance(member, int))

    def names(self, name: str) -> frozenset[str]:
        value = self.fields[name]
        assert isinstance(value, frozenset)
        return frozenset(member for member in value if isinstance(member, str))

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {_shown(value)}" for name, value in self.fields.items())
        return f"broker {self.line.node}: {self.step}{f' ({shown})' if shown else ''}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of log lines: one kind of line, and the event that a line of this kind
    reports (`step`).

    A message often begins with a prefix in brackets, `[...]`. `begins` is the beginning of the
    message after this prefix. `pattern` finds the subject and the fields of the event.
    """

    logger: str
    begins: str
    step: StrEnum | None = None  # lines without a step are ignored
    pattern: re.Pattern[str] = field(default_factory=lambda: re.compile(""))
    thread: re.Pattern[str] | None = None
    is_late: bool = False  # Kafka logs these lines after their effect


def row(
    logger: str,
    begins: str,
    step: StrEnum,
    pattern: str,
    thread: str | None = None,
    *,
    is_late: bool = False,
) -> Row:
    of_thread = None if thread is None else re.compile(thread)
    return Row(logger, begins, step, re.compile(pattern), of_thread, is_late)


def nothing(logger: str, *begins: str) -> Iterator[Row]:
    """Yields one row for each kind of log line that reports no event.

    `begins` has the first words of the messages of each kind. Without such a row, a line of this
    kind would count as unknown: its logger is in the table, but no row fits the line.
    """
    return (Row(logger, text) for text in begins)


_WORD_BEGINS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")  # Kafka 3 writes PrepareCommit
_CHANGE: Final = re.compile(r"(\w+): (\[[^\]]*\]|[^, ]+) -> (\[[^\]]*\]|[^, ]+)")


def event_of(row: Row, line: LogLine, match: re.Match[str]) -> Event:
    groups = {k: v for k, v in match.groupdict().items() if v is not None}
    fields: dict[str, Field] = {}
    for name, text in groups.items():
        if name == "changes":
            for changed, before, after in _CHANGE.findall(text):
                fields[f"{changed} before"] = _field(before)
                fields[changed] = _field(after)
        elif name in TEXTS:
            fields[name] = _WORD_BEGINS.sub("_", text).upper()
        elif name in NAMES:
            fields[name] = frozenset(filter(None, text.split(", ")))
        elif name in SETS:
            fields[name] = _field(f"[{text}]")
        elif name != "subject":
            fields[name] = int(text)
    assert row.step is not None
    return Event(
        step=row.step,
        subject=groups["subject"],
        line=line,
        fields=fields,
        is_late=row.is_late,
    )


def _field(text: str) -> Field:
    if text.startswith("["):
        return frozenset(int(x) for x in re.findall(r"\d+", text))
    return int(text) if re.fullmatch(r"-?\d+", text) else int(text == "RECOVERING")


def _shown(value: Field) -> str:
    return f"[{', '.join(map(str, sorted(value)))}]" if isinstance(value, frozenset) else str(value)
