"""The recorded results of other projects' suites: benchmarks/results/others.json.

For each suite, the file has the version that ran most recently, and the result of each test.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

RESULTS: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "others.json"
Outcome = Literal["passed", "failed", "skipped"]
OUTCOMES: Final = get_args(Outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one test.

    `note` is the first line of a failure's message, without paths of files. For a skipped test, it
    is the reason.
    """

    test: str
    outcome: Outcome
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResults:
    suite: str
    version: str
    tests: Sequence[Result]

    def counted(self, outcome: Outcome) -> int:
        return sum(one.outcome == outcome for one in self.tests)

    def of(self, outcome: Outcome) -> list[Result]:
        return [one for one in self.tests if one.outcome == outcome]

    def with_results(self, results: Iterable[Result]) -> SuiteResults:
        """Returns the results of the suite with `results` added. They replace earlier results of
        the same tests.
        """
        tests = {one.test: one for one in (*self.tests, *results)}
        ordered = tuple(tests[name] for name in sorted(tests))
        return SuiteResults(suite=self.suite, version=self.version, tests=ordered)


def kept(path: Path = RESULTS) -> list[SuiteResults]:
    """Returns the recorded results in the order of the file, or [] if there is no file."""
    if not path.exists():
        return []
    return [_suite(entry) for entry in json.loads(path.read_text(encoding="utf-8"))["suites"]]


def save(results: SuiteResults, path: Path = RESULTS) -> None:
    """Writes the results of a suite to the file. They replace the suite's earlier results."""
    suites = {one.suite: one for one in kept(path)} | {results.suite: results}
    document = {"suites": [_entry(suites[name]) for name in sorted(suites)]}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _suite(entry: Mapping[str, Any]) -> SuiteResults:
    tests = tuple(
        Result(
            test=test["test"],
            outcome=test["outcome"],
            seconds=test.get("seconds", 0.0),
            note=test.get("note", ""),
        )
        for test in entry["tests"]
    )
    return SuiteResults(suite=entry["suite"], version=entry["version"], tests=tests)


def _entry(results: SuiteResults) -> dict[str, Any]:
    tests = [
        {
            "test": one.test,
            "outcome": one.outcome,
            **({"seconds": round(one.seconds, 1)} if one.outcome != "skipped" else {}),
            **({"note": one.note} if one.note else {}),
        }
        for one in results.tests
    ]
    return {"suite": results.suite, "version": results.version, "tests": tests}
