"""The docstring of each spec's module `actions` lists all actions, each with its fairness. The
docstring of a version's module lists the actions that the version adds.

The list corresponds to `Next` in TLA+. WF marks a weakly fair action, SF a strongly fair one.
"""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from model.specs import SPECS, all_variants, find
from model.variants import Variant

VERSIONS = [v for v in all_variants() if v.kind == "version"]
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


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.spec}-{v.name}")
def test_each_version_lists_the_actions_that_it_adds(version: Variant) -> None:
    """Each action that the default version lacks is in the docstring of a module of the version."""
    spec = version.make(version.at)
    of_default = {action.name for action in find(version.spec).make().actions}
    modules = dict.fromkeys(c.__module__ for c in type(spec).__mro__)
    texts = [import_module(m).__doc__ or "" for m in modules if m.startswith("model.")]
    for action in spec.actions:
        if action.name not in of_default:
            row = rf"^ {{4,}}(?=\w).*?(?:(WF|SF) )?\b{action.name}\b"
            listed = re.findall(row, "\n".join(texts), re.MULTILINE)
            assert MARKS[listed[0]] == action.fair, action.name
