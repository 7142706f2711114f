"""Writes the page docs/others-suites.md from the recorded results of other projects' suites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tools.others_suites.reasons import reason
from tools.others_suites.results import Result, SuiteResults

PAGE: Final = Path(__file__).parents[2] / "docs" / "others-suites.md"
TOP: Final = """<!-- Written by tools/others_suites from its results: do not edit. -->
# Suites of other projects

`make others` runs test suites of other projects against `urteil broker`. They are fetched to
run; this repository has no copy of them. Each failure has a reason. None of them is a difference
between this broker and an Apache Kafka without an authorizer and share groups. The reasons call it
the served broker: it is the reference broker, served over TCP.

- **confluent-kafka**: the integration tests of confluent-kafka-python that need no schema registry.
  Their clusters have one broker. The package on PyPI has no tests, so
  `make others CHECKOUT=FOLDER` names a checkout of its repository. The client is the one in
  requirements.txt.
- **kgo**: the tests of franz-go's client that connect to a cluster, here of three brokers, with
  5,000 records.
- **kfake**: the tests of franz-go's fake cluster, in which `urteil broker` takes the place of the
  fake. They compile against a package that has kfake's names for requests of Kafka and for options
  of `urteil broker`. Tests that need other names of kfake, such as its control functions, do not
  compile, and are skipped. Each test starts a cluster of its own.
"""


def page(suites: Sequence[SuiteResults]) -> str:
    return "\n".join((TOP, *_lines(suites))).rstrip() + "\n"


def _lines(suites: Sequence[SuiteResults]) -> Iterator[str]:
    yield from _table(
        ("Suite", "Version", "Passed", "Failed", "Skipped"),
        (
            (
                one.suite,
                one.version,
                *(str(one.counted(outcome)) for outcome in ("passed", "failed", "skipped")),
            )
            for one in suites
        ),
    )
    for one in suites:
        yield f"## {one.suite}"
        yield ""
        yield from _failed(one)
        yield from _skipped(one)
        yield from _passed(one)


def _failed(suite: SuiteResults) -> Iterator[str]:
    if found := suite.of("failed"):
        rows = ((f"`{one.test}`", one.note, _reason(suite, one)) for one in found)
        yield "### Failed"
        yield ""
        yield from _table(("Test", "First line of the failure", "Reason"), rows)


def _reason(suite: SuiteResults, result: Result) -> str:
    return reason(suite.suite, result.test) or "unknown"


def _skipped(suite: SuiteResults) -> Iterator[str]:
    by_note: dict[str, list[str]] = {}
    for one in suite.of("skipped"):
        by_note.setdefault(reason(suite.suite, one.test) or one.note, []).append(f"`{one.test}`")
    if by_note:
        rows = ((note, ", ".join(tests)) for note, tests in sorted(by_note.items()))
        yield "### Skipped"
        yield ""
        yield from _table(("Reason", "Tests"), rows)


def _passed(suite: SuiteResults) -> Iterator[str]:
    if found := suite.of("passed"):
        yield "### Passed"
        yield ""
        yield ", ".join(f"`{one.test}`" for one in found)
        yield ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
