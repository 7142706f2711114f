"""The docstring of each spec's module `actions` lists all actions, each with its fairness.

The list corresponds to `Next` in TLA+. WF marks a weakly fair action, SF a strongly fair one.
"""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from model.specs import SPECS, find

MARKS = {"WF": "weak", "SF": "strong", "": None}


@pytest.mark.parametrize("spec", SPECS)
def test_next_lists_every_action_with_its_fairness(spec: str) -> None:
    text = import_module(f"model.{spec.replace('-', '_')}.actions").__doc__ or ""
    names = {action.name for action in find(spec).make().actions}
    (block,) = re.findall(
        r"^The table lists .* \(`Next` in TLA\+\).*?\n\n((?:    .*\n)+)",
        text,
        re.MULTILINE | re.DOTALL,
    )
    listed = {
        name: MARKS[mark]
        for mark, name in re.findall(r"(?:(WF|SF) )?(\w+)", block)
        if name in names
    }
    assert listed == {action.name: action.fair for action in find(spec).make().actions}
