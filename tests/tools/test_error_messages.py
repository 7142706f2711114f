"""The list of errors that a user can cause is complete, and each text uses plain words."""

from __future__ import annotations

import ast
import re

import pytest

from tools.error_messages import ErrorMessage, error_classes, error_messages

MESSAGES = error_messages()
RIDDLES = re.compile(r"\b(told|anew|amiss|mend|mended|nobody|spelt|spelled|dealt)\b", re.IGNORECASE)


def test_subclasses_of_subclasses_are_errors_too() -> None:
    source = "class A(InputFault): ...\nclass B(faults.A): ...\nclass C(Exception): ..."
    assert {"A", "B"} <= error_classes({"a.py": ast.parse(source)})
    assert "C" not in error_classes({"a.py": ast.parse(source)})


def test_the_list_has_errors_of_every_part_with_their_texts() -> None:
    files = {message.file.partition("/")[0] for message in MESSAGES}
    assert files == {"model", "properties", "reference_impl", "checkers"}
    lines = [str(message) for message in MESSAGES]
    assert any("InputFault: --set {text}: write NAME=VALUE" in line for line in lines)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: f"{message.file}-{message.line}")
def test_an_error_has_no_retired_word(message: ErrorMessage) -> None:
    literal = re.sub(r"\{[^{}]*\}", "", message.text)
    assert not RIDDLES.search(literal), str(message)
