"""Any text becomes valid markup, and unprintable characters stay readable."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.report.markup import element, readable, shortened, words


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_text_stands_in_an_element_and_in_an_attribute(inside: str, attribute: str) -> None:
    made = element("text", words(inside), class_="a", data_value=attribute)
    parsed = ElementTree.fromstring(made)
    plain = readable(inside).replace("\r\n", "\n").replace("\r", "\n")
    assert (parsed.text or "") == plain
    made.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b\x1b[1m", "a\\x00b\\x1b[1m"),
        ("\ud800", "\\ud800"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("größer ∈ 🙂", "größer ∈ 🙂"),
        ("\ufffe\x85", "\\ufffe\\x85"),
    ],
)
def test_characters_that_xml_forbids_are_escaped_as_in_python(text: str, shown: str) -> None:
    assert readable(text) == shown


def test_elements_have_attributes_and_escaped_text() -> None:
    assert element("line", x1=1.0, y1=2.25, class_="a", id=None) == (
        '<line x1="1" y1="2.2" class="a"/>'
    )
    assert element("g", element("title", words("<&>"))) == "<g><title>&lt;&amp;&gt;</title></g>"


@settings(deadline=None)
@given(st.text(), st.integers(1, 20))
def test_a_cut_text_keeps_its_beginning_and_ends_with_a_mark(text: str, longest: int) -> None:
    made = shortened(text, longest)
    assert len(made) <= longest
    assert made == text or made.endswith("…")
    assert text.startswith(made.removesuffix("…"))
