"""The fast reader of EDN lines yields the same forms and errors as the slow reader."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers.histories.io import edn, edn_lines
from checkers.histories.io.edn import MAX_DEPTH, NotEdn, text
from tests.checkers.histories.io.test_edn import FORMS

SAMPLES = Path(__file__).parents[3] / "data" / "jepsen"
Entries = Callable[[list[str]], Iterator[tuple[int, Any]]]


def forms_and_fault(entries: Entries, lines: list[str]) -> tuple[list[tuple[int, str, Any]], str]:
    forms: list[tuple[int, str, Any]] = []
    try:
        for line, form in entries(lines):
            forms.append((line, text(form), form))  # the forms before a fault must agree too
    except NotEdn as fault:
        return forms, str(fault)
    return forms, ""


def assert_agree(source: str) -> None:
    lines = source.splitlines(keepends=True)
    assert forms_and_fault(edn_lines.entries, lines) == forms_and_fault(edn.entries, lines)


NAMES = st.sampled_from(
    [":index", ":type", ":f", ":value", "1", "nil", '"a b"', "sym", "[1]", "-0"]
)
MAPS = st.lists(st.tuples(NAMES, FORMS.map(text)), max_size=4)
BLANKS = st.sampled_from([" ", ", ", ",", "  ", "\t", " ,", "\u00a0", ""])


@settings(deadline=None)
@given(
    maps=st.lists(MAPS, max_size=4),
    around=st.sampled_from(["%s", "[%s]", "(\n%s\n)"]),
    data=st.data(),
)
def test_maps_on_lines_of_their_own_agree(
    maps: list[list[tuple[str, str]]], around: str, data: Any
) -> None:
    blank = data.draw(BLANKS)
    lines = ["{" + blank.join(f"{key} {value}" for key, value in one) + "}" for one in maps]
    assert_agree(around % "\n".join(lines))


@settings(max_examples=500, deadline=None)
@given(st.lists(st.text(alphabet='{}[]:aeN1-.+" ,\t\\#;nil\0(é', max_size=12), max_size=5))
@example(["{:a true :b false}", "{:a nil nil 1}", "{:a NaN :b Infinity}", "{:a -Infinity}"])
@example(["{:a 1.0}", "{:a 1e5}", "{:a 1N}", "{:a +1}", "{:a 007}", "{:a -0}", "{:a 1/2}"])
@example(['{:a "b c, {d} [e] :f"}', '{:a "b\tc"}', '{:a "}', '{:a "é"}', '{:a "b""c"}'])
@example(["{:a 1 :a 2}", "{:a}", "{:a 1", "}", "{[1] 2}", "{1 2 1 3}", "{:a [1,,2 ]}"])
@example(["{:a 1} {:b 2}", "{:a 1}]", ", {:a 1},", "{:a #{1}}", "{:a 1} ; {", "#_{:a 1}{:b 2}"])
@example(["{:a 1\0:b 2}", "{:a\0 1}", "{\0}", "{:a 1\u00a02}", "{:a\x1c1}"])
@example(["#_", "{:a 1}", "{:b 2}"])
@example(['"', "{:a 1}", '"{:b 2}'])
def test_any_lines_agree(lines: list[str]) -> None:
    assert_agree("\n".join(lines))


@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 5000])
def test_nesting_is_limited_to_the_same_depth(depth: int) -> None:
    assert_agree("{:a " + "[" * depth + "]" * depth + "}")
    assert_agree("{:a " * depth + "1" + "}" * depth)
    assert_agree('{:a "' + "]" * depth + '" :b ' + "[" * depth + "1" + "]" * depth + "}")
    assert_agree("{:a [" + "[1 2] " * depth + "]}")


def test_a_line_with_many_records_takes_the_fast_path() -> None:
    line = "{:value [[:poll {1 [" + " ".join(f"[{n} {n}]" for n in range(MAX_DEPTH)) + "]}]]}"
    assert edn_lines.as_map(line) == forms_and_fault(edn.entries, [line])[0][0][2]


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.edn")), ids=lambda path: path.stem)
def test_every_line_of_the_samples_takes_the_fast_path(sample: Path) -> None:
    lines = sample.read_text().splitlines()
    assert [edn_lines.as_map(line) for line in lines] == [form for _, form in edn.entries(lines)]


def test_integers_of_any_length_have_a_text() -> None:
    for digits in ("9" * 4300, "9" * 4301, "-" + "9" * 5000):
        ((_, as_text, _),), fault = forms_and_fault(edn_lines.entries, [f"{{:a {digits}}}"])
        assert (as_text, fault) == (f"{{:a {digits}}}", "")
        assert_agree(f"{{:a [{digits} +0{digits.lstrip('-')}N]}}")


def test_the_cache_of_scalars_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edn_lines, "_CACHE_LIMIT", len(edn_lines._IN_JSON) + 3)
    rng = random.Random(0)
    lines = [f"{{:a :v{rng.random()}}}" for _ in range(20)]
    assert_agree("\n".join(lines))
    assert len(edn_lines._IN_JSON) <= edn_lines._CACHE_LIMIT
