"""The how-to pages on faults and on security: their examples work, and their faults are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from reference_impl.wire.control.routes import ROUTES
from reference_impl.wire.faults.reading import rule_of
from reference_impl.wire.faults.rule import FAULTS, When, field_names
from reference_impl.wire.security.settings import MAKE_CERTIFICATE, Mechanism, SecurityProtocol

pytest_plugins = ["pytester"]
HOW_TO: Final = Path(__file__).parents[3] / "docs" / "how-to"
PAGE: Final = (HOW_TO / "faults-in-your-tests.md").read_text()
SECURITY: Final = (HOW_TO / "security-in-your-tests.md").read_text()
FAULT: Final = re.compile(r'\{"do": "[a-z-]+"(?:[^{}]|\{[^{}]*\}|\{(?:[^{}]|\{[^{}]*\})*\})*\}')


def faults() -> list[str]:
    return [found.replace("\n", " ") for found in FAULT.findall(PAGE)]


def test_the_page_shows_every_fault_and_each_is_valid() -> None:
    documents = [json.loads(text) for text in faults()]
    assert all(rule_of(document) for document in documents)
    in_tables = set(re.findall(r"^\| `(?:\{\"do\": \")?([a-z-]+)", PAGE, re.MULTILINE))
    assert {*FAULTS} <= in_tables


def test_the_page_lists_every_field_and_every_request() -> None:
    assert all(f"`{name}`" in PAGE for name in field_names(When))
    for path, method in ROUTES:
        assert f"`{method} /{path}" in PAGE, (method, path)


def test_the_python_examples_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name, page in (("faults", PAGE), ("security", SECURITY)):
        example, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        pytester.makepyfile(**{f"test_{name}": example})
    pytester.runpytest_subprocess("-p", "checkers.testing.plugin").assert_outcomes(passed=3)


def test_the_page_on_security_has_the_command_that_a_refusal_shows() -> None:
    assert f"\n{MAKE_CERTIFICATE}\n" in SECURITY
    assert all(f"`{protocol}`" in SECURITY for protocol in SecurityProtocol)
    assert all(mechanism in SECURITY for mechanism in Mechanism)
