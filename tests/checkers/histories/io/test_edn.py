"""EDN is parsed one form at a time; the error for malformed text has the line and column."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.io.edn import MAX_DEPTH, EdnSet, NotEdn, Tagged, entries, text


def read(*lines: str) -> list[Any]:
    return [form for _, form in entries([line + "\n" for line in lines])]


def test_different_scalars_have_different_texts() -> None:
    forms = read(r':a "a" a \a 1 1.0 1/2 nil true #inst "a" foo/bar :foo/bar')
    texts = [text(form) for form in forms]
    assert texts == [
        ":a", '"a"', "a", r"\a", "1", "1.0", "1/2", "nil", "true", '#inst "a"', "foo/bar",
        ":foo/bar",
    ]  # fmt: skip


def test_equal_scalars_have_equal_texts() -> None:
    assert [text(form) for form in read("1 1N +1 2/2")] == ["1"] * 4
    assert [text(form) for form in read(r'"é" "\u00e9"')] == ['"é"'] * 2
    assert [text(form) for form in read("0.5 5e-1 #{1 2} #{2 1} {1 2 3 4} {3 4 1 2}")] == [
        "0.5", "0.5", "#{1 2}", "#{1 2}", "{1 2, 3 4}", "{1 2, 3 4}",
    ]  # fmt: skip


def test_a_character_has_one_canonical_text() -> None:
    assert [text(form) for form in read(r"\Ω \u03A9 \u03a9")] == [r"\Ω"] * 3
    assert [text(form) for form in read(r"\newline \u000a \space \u0020")] == [
        r"\newline", r"\newline", r"\space", r"\space",
    ]  # fmt: skip


def test_a_surrogate_pair_is_one_character_and_a_lone_surrogate_stays_escaped() -> None:
    assert read(r'"\ud83d\ude00" "😀"') == ['"😀"', '"😀"']
    (alone,) = read(r'"\ud83d"')
    assert alone.encode() == rb'"\ud83d"'
    assert read(alone) == [alone]
    assert text(read(r"\ud83d")[0]).encode() == rb"\ud83d"


def test_nesting_is_limited_to_max_depth() -> None:
    (form,) = read("{:a " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + "}")
    assert text(form).count("[") == MAX_DEPTH - 1
    with pytest.raises(NotEdn, match=f"line 2, column {MAX_DEPTH + 1}: collections are nested"):
        read("1", "[" * 5000 + "]" * 5000)


def test_a_string_spans_lines_until_it_is_closed() -> None:
    lines = ['1 "a\n', 'b \\"\n', "; [ c\n", '" :d "e" ; f\n']
    assert read(*(line.rstrip("\n") for line in lines)) == [
        1,
        '"a\\nb \\"\\n; [ c\\n"',
        ":d",
        '"e"',
    ]
    assert [line for line, _ in entries(["[\n", '"x\n', 'y" :z]'])] == [3, 3]


def test_collections_tags_and_namespaced_maps_are_parsed() -> None:
    assert read("{:a [1 (2 nil)], [1] #{2}}") == [{":a": [1, [2, None]], "[1]": EdnSet([2])}]
    assert read('#jepsen.history.Op{:f :poll} #:ns{:a 1 :b/c 2 "d" 3}') == [
        Tagged("jepsen.history.Op", {":f": ":poll"}),
        {":ns/a": 1, ":b/c": 2, '"d"': 3},
    ]


def test_commas_comments_and_discards_are_skipped() -> None:
    assert read("1,,, ; 2", '#_ 3 #_{:a 4} #_#_ 5 6 7 #_ #inst "8"') == [1, 7]


def test_characters_that_are_also_delimiters_are_parsed() -> None:
    assert read(r"\( \newline \u03A9 \; \" 1") == [r"\(", r"\newline", r"\Ω", r"\;", r"\"", 1]


def test_a_form_may_span_lines() -> None:
    assert read("{:a", '"one', 'two" :b', "1}") == [{":a": '"one\\ntwo"', ":b": 1}]


def test_the_elements_of_an_enclosing_vector_are_yielded_with_their_lines() -> None:
    lines = ["[{:a 1}\n", "{:a 2}\n", "]\n"]
    assert list(entries(lines)) == [(1, {":a": 1}), (2, {":a": 2})]
    assert read("[[1] [2]]") == [[1], [2]]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1\n{:a 1", "line 2, column 1: '{' is never closed"),
        ("[{:a 1}", "line 1, column 1: '[' is never closed"),
        ('1 "x', "line 1, column 3: the string is never closed"),
        ('1 "x\ny', "line 1, column 3: the string is never closed"),
        ("{:a}", "line 1, column 4: the map of line 1 has a key without a value"),
        ("{:a 1 :a 2}", "the map of line 1 has one key twice"),
        ("[1\n)", "line 2, column 1: ')' does not close the '[' of line 1, column 1"),
        ("{1 2}]", "line 1, column 6: ']' closes nothing"),
        ("[1 #_]", "does not close the '#_'"),
        ("1 # 2", "line 1, column 3: no EDN form begins with '#'"),
    ],
)
def test_malformed_edn_is_an_error_at_its_line_and_column(source: str, message: str) -> None:
    with pytest.raises(NotEdn) as fault:
        list(entries(source.splitlines(keepends=True)))
    assert message in str(fault.value)


SCALARS = (
    st.none()
    | st.integers()
    | st.from_regex(r":[a-z]{1,5}", fullmatch=True)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6).map(
        lambda plain: text(read('"' + plain.replace("\\", r"\\").replace('"', r"\"") + '"')[0])
    )
)
FORMS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS, inner, max_size=3),
    max_leaves=12,
)


@given(FORMS.map(lambda form: {":form": form}))
def test_parsing_the_canonical_text_returns_the_form(form: dict[str, Any]) -> None:
    (again,) = read(text(form))
    assert again == form


@given(st.text(alphabet='{}[]()#_:a1"\\ ;,\n', max_size=30))
def test_any_text_parses_or_raises_not_edn(source: str) -> None:
    refused = ""
    try:
        read(source)
    except NotEdn as fault:
        refused = str(fault)
    assert not refused or refused.startswith("line ")
