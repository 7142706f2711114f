"""The verdicts as JUnit XML, which every CI displays: one test case for each verdict.

Each line has a verdict and its result in JUnit:

    violation                         failure, with the evidence as text
    known violation                   skipped, with the reason from the file of known violations
    permitted or expected violation   passed
    undecided                         error, because CI must not display it as a success
    not exercised                     skipped

If the run failed but no verdict explains its exit code, an additional test case is an error.

Source: the xunit2 schema that Jenkins and pytest share.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from checkers.events import PropertyDecided
from checkers.report.decisions import claim, grounds, subject, verdict
from checkers.report.markup import element, shortened, words
from checkers.verdicts import HOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checkers.report.run_result import Finding, RunResult

LONGEST: Final = 20_000  # characters of the evidence of a violation


def junit(result: RunResult) -> str:
    """Returns the JUnit document. It has one test suite for each spec or input."""
    suites = [
        _suite(name, [*findings])
        for name, findings in groupby(result.findings, lambda one: subject(one.decision))
    ]
    if result.exit_code != HOLDS and all(
        one.judged in ("holds", "not exercised") for one in result.findings
    ):
        suites.append(_the_run(result))
    name = result.started.command_line if result.started is not None else "urteil"
    return f'<?xml version="1.0" encoding="utf-8"?>\n{element("testsuites", *suites, name=name)}\n'


def _suite(name: str, findings: Sequence[Finding]) -> str:
    return element(
        "testsuite",
        *(_case(name, finding) for finding in findings),
        name=name,
        tests=str(len(findings)),
        failures=str(sum(one.judged == "violated" for one in findings)),
        errors=str(sum(one.judged == "undecided" for one in findings)),
        skipped=str(sum(one.judged == "not exercised" or one.is_known for one in findings)),
    )


def _case(suite: str, finding: Finding) -> str:
    decision = finding.decision
    message = f"{verdict(decision)}: {grounds(decision)}".removesuffix(": ")
    text = "\n".join(filter(None, (decision.statement, "", finding.text, "", finding.replay)))
    inside: tuple[str, ...] = ()
    if finding.judged == "violated":
        inside = (
            element("failure", words(shortened(text, LONGEST)), message=message, type="violated"),
        )
    elif finding.judged == "undecided":
        inside = (element("error", words(message), message=message, type="undecided"),)
    elif finding.is_known or finding.judged == "not exercised":
        inside = (element("skipped", message=message),)
    elif finding.as_expected:
        inside = (element("system-out", words(message)),)
    seconds = decision.seconds if isinstance(decision, PropertyDecided) else None
    return element(
        "testcase", *inside, classname=suite, name=claim(decision), time=f"{seconds or 0:.3f}"
    )


def _the_run(result: RunResult) -> str:
    message = f"exit code {result.exit_code}, which no verdict explains"
    error = element("error", words(message), message=message, type="run")
    case = element("testcase", error, classname="urteil", name="the run", time="0")
    return element(
        "testsuite", case, name="urteil", tests="1", failures="0", errors="1", skipped="0"
    )
