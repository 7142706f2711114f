"""Runs the audit's checks on logs that a test writes as text, a line for each batch.

The module `notation` explains this text.
"""

from __future__ import annotations

from properties.log_audit.catalogue import BY_ID, CHECKS
from tests.properties.log_audit.notation import logs


def explained(check: str, text: str) -> list[str]:
    """Returns the text of each row that a check finds, with short segment names such as `7.log`."""
    one = BY_ID[check]
    return [one.explain(row).replace("0" * 19, "") for row in one.find(logs(text))]


def found(text: str) -> list[str]:
    """Returns the ids of the checks that find a fault."""
    return [check.id for check in CHECKS if check.find(logs(text))]
