"""A spec is found by name or in a file; the error for an unknown name lists the nearest names."""

from __future__ import annotations

from pathlib import Path

import pytest

import model
from checkers.explicit.search import explore
from model.faults import InputFault, UnknownName
from model.language import SpecError
from model.specs import SPECS, find, variants_of
from model.user_specs import load

COUNTER = '''
from __future__ import annotations

from model.language import Bool, Int, Scope, Spec, action, invariant, when


class Count(Int):
    pass


class Counter(Spec):
    """Counts to three."""

    most: int = 3
    count: Count

    def scope(s) -> Scope:
        return {Count: range(10)}

    @action
    def increment(s) -> None:
        when(s.count < s.most)
        s.count = s.count + 1

    @invariant
    def small(s) -> Bool:
        return s.count < 5


class HastyCounter(Counter):
    """Counts to seven."""

    most: int = 7
'''


def test_find_returns_the_default_or_the_named_variant() -> None:
    assert find("replication").name == "fetch-divergence"
    assert find("replication", "kip-101").breaks == "strong_isr"
    assert find("transactions-abstract", "lax-markers").kind == "bug"


def test_a_spec_has_the_variables_of_its_bases_and_its_own_constants(tmp_path: Path) -> None:
    path = tmp_path / "counter.py"
    more = """

class Limit(Spec):
    limit: Count


class Sum(HastyCounter, Limit):
    pass
"""
    path.write_text(COUNTER + more)
    hasty, mixed = (find(str(path), name).make() for name in ("hasty-counter", "sum"))
    assert [v.name for v in hasty.variables] == ["count"]
    assert {v.name for v in mixed.variables} == {"count", "limit"}
    assert hasty.constants["most"].default == mixed.constants["most"].default == 7


def test_the_table_lists_every_package_of_the_model_that_has_variants() -> None:
    packages = [it for it in Path(model.__file__).parent.iterdir() if (it / "versions.py").exists()]
    assert {package.name.replace("_", "-") for package in packages} == set(SPECS)
    assert all(variant.spec == spec for spec in SPECS for variant in variants_of(spec))


@pytest.mark.parametrize(
    ("spec", "variant", "near"),
    [
        ("replicaton", None, "no spec 'replicaton'; the nearest: replication"),
        ("replication", "kip-321", "replication has no variant 'kip-321'; the nearest: kip-320"),
    ],
)
def test_an_unknown_name_lists_the_nearest(spec: str, variant: str | None, near: str) -> None:
    with pytest.raises(UnknownName) as caught:
        find(spec, variant)
    assert str(caught.value).startswith(near)


def test_a_file_of_the_user_defines_specs(tmp_path: Path) -> None:
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)
    assert [(v.name, v.summary) for v in variants_of(str(path))] == [
        ("counter", "Counts to three."),
        ("hasty-counter", "Counts to seven."),
    ]
    hasty = explore(find(str(path)).make())
    assert hasty.discoveries["small"].steps == 5
    assert explore(find(str(path), "counter").make()).distinct == 4
    assert explore(find(str(path)).make({"most": 4})).exhausted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "defines no spec"),
        ("x = 1\ny = 1 / 0", "wrong.py:2: ZeroDivisionError: division by zero"),
        ("class", "wrong.py:1: SyntaxError: invalid syntax"),
        (
            "from model.language import Spec\n\n\nclass A(Spec):\n    x: Map[int, int]",
            "name 'Map' is not",
        ),
    ],
)
def test_a_file_without_a_spec_is_refused_at_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("from __future__ import annotations\n" * ("Spec" in text) + text)
    with pytest.raises(SpecError) as caught:
        load(path)
    assert said in str(caught.value)


def test_a_syntax_error_names_its_line_once(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("class")
    with pytest.raises(SpecError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:1: SyntaxError: invalid syntax"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match=r"no file .*nowhere\.py"):
        find(str(tmp_path / "nowhere.py"))


def test_an_unknown_constant_lists_the_nearest() -> None:
    with pytest.raises(SpecError, match="no constant 'replica'; the nearest: replicas"):
        find("replication").make({"replica": 3})


@pytest.mark.parametrize("spec", SPECS)
def test_every_number_that_a_spec_takes_has_bounds(spec: str) -> None:
    numbers = [c for c in find(spec).cls.constants.values() if c.type is int]
    assert numbers
    for constant in numbers:
        assert constant.bounds is not None
        assert constant.default in constant.bounds
        with pytest.raises(SpecError, match=f"{constant.name} is an integer from"):
            find(spec).make({constant.name: constant.bounds.stop})
