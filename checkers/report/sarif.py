"""The violations as SARIF 2.1.0, the format of code scanning: rules, results and the run.

A result is a violated property, or one of the most severe occurrences of an anomaly. Its location
is the input file. Its code flow has the operations of the occurrence. A permitted violation is a
suppressed note, and a known violation is a suppressed error. The verdicts *undecided* and *not
exercised* are notifications of the run.

Source: SARIF 2.1.0 (OASIS).
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from checkers.events import AnomalyDecided, RowShown
from checkers.report.decisions import Decision, claim, grounds, verdict
from checkers.report.markup import readable, shortened
from checkers.report.shapes import NOT_SHOWN, fingerprint, shape_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checkers.report.run_result import Finding, RunResult

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
MOST: Final = 5_000  # results that code scanning accepts
LONGEST: Final = 4_000  # characters of a message


def sarif(result: RunResult) -> str:
    """Returns the SARIF document, with at most 5,000 results."""
    ids = list(dict.fromkeys(claim(one.decision) for one in result.findings))
    first = {claim(one.decision): one.decision for one in reversed(result.findings)}
    results = [result for one in result.findings for result in _results(one, ids)]
    started = result.started
    run = {
        "tool": {
            "driver": {
                "name": "Urteil",
                "semanticVersion": version("urteil"),
                "rules": [_rule(first[name]) for name in ids],
            }
        },
        "invocations": [
            {
                "commandLine": started.command_line if started is not None else "urteil",
                "executionSuccessful": result.exit_code in (0, 1),
                **({} if result.exit_code is None else {"exitCode": result.exit_code}),
                "toolExecutionNotifications": [*_notifications(result, len(results))],
            }
        ],
        "results": results[:MOST],
        "columnKind": "unicodeCodePoints",
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1) + "\n"


def _rule(decision: Decision) -> dict[str, Any]:
    statement = readable(decision.statement or claim(decision))
    help_ = [statement]
    if isinstance(decision, AnomalyDecided):
        texts = {"Rule": decision.rule, "Meaning": decision.explanation, "Source": decision.source}
        help_ += [f"{name}: {text}" for name, text in texts.items() if text]
    return {
        "id": claim(decision),
        "shortDescription": _text(statement.strip().split("\n")[0] or claim(decision)),
        "fullDescription": _text(statement),
        "help": {
            **_text("\n\n".join(help_)),
            "markdown": shortened(readable("\n\n".join(help_)), LONGEST),
        },
        "defaultConfiguration": {"level": "error"},
    }


def _results(finding: Finding, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    decision = finding.decision
    permitted = isinstance(decision, AnomalyDecided) and decision.permitted
    if decision.verdict != "violated" or (finding.as_expected and not permitted):
        return
    where = _location(decision)
    shown: Sequence[RowShown | None] = finding.rows or [None]
    for row in shown:
        text = row.text if row is not None else f"{verdict(decision)}: {finding.text}"
        print_ = _fingerprint(decision, row)
        yield {
            "ruleId": claim(decision),
            "ruleIndex": ids.index(claim(decision)),
            "level": "note" if permitted else "error",
            "message": _text(text),
            "locations": [where],
            "partialFingerprints": {"urteil/v2": print_},
            **({"codeFlows": [_flow(row, where)]} if row is not None and row.operations else {}),
            **_suppressions(decision, print_, permitted=permitted),
        }


def _location(decision: Decision) -> dict[str, Any]:
    if isinstance(decision, AnomalyDecided):
        if decision.is_one_file:
            return _file(decision.history or "history")
        return _named(decision.history or decision.input_kind, "resource")
    spec = decision.spec or ""
    if spec.endswith(".py"):
        return _file(spec)
    return _named(" ".join(filter(None, (spec, decision.variant))) or "urteil", "module")


def _named(name: str, kind: str) -> dict[str, Any]:
    return {"logicalLocations": [{"fullyQualifiedName": name, "kind": kind}]}


def _file(name: str) -> dict[str, Any]:
    path = Path(name)
    uri = path.as_uri() if path.is_absolute() else quote(readable(path.as_posix()))
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}


def _flow(row: RowShown, where: dict[str, Any]) -> dict[str, Any]:
    steps = [
        {"location": {**where, "message": _text(f"operation {one.op}: {one.text}")}}
        for one in row.operations
        if one.op in row.ops
    ]
    return {"threadFlows": [{"locations": steps}]}


def _suppressions(decision: Decision, print_: str, *, permitted: bool) -> dict[str, Any]:
    why = grounds(decision) if permitted else decision.known.get(print_)
    if why is None:
        return {}
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": why}]}


def _fingerprint(decision: Decision, row: RowShown | None) -> str:
    # A run folder of an earlier release has no fingerprints.
    if row is not None:
        return row.fingerprint or fingerprint(row.anomaly, shape_of_text(row.text))
    return next(iter(decision.fingerprints), fingerprint(claim(decision), NOT_SHOWN))


def _notifications(result: RunResult, results: int) -> Iterator[dict[str, Any]]:
    for one in result.findings:
        if one.judged == "undecided":
            message = f"{claim(one.decision)} is undecided: {grounds(one.decision)}"
            yield {"level": "warning", "message": _text(message)}
        elif one.judged == "not exercised":
            message = f"{claim(one.decision)} is not exercised: {grounds(one.decision)}"
            yield {"level": "note", "message": _text(message)}
    if results > MOST:
        yield {"level": "note", "message": _text(f"{results - MOST:,} more results are left out")}


def _text(text: str) -> dict[str, str]:
    return {"text": shortened(readable(text), LONGEST)}
