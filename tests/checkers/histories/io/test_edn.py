"""EDN is read form by form, and what is none is refused with its line and column."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.io.edn import DEEPEST, Elements, NotEdn, Tagged, entries, text


def read(*lines: str) -> list[Any]:
    return [form for _, form in entries([line + "\n" for line in lines])]


def test_scalars_that_differ_are_texts_that_differ() -> None:
    forms = read(r':a "a" a \a 1 1.0 1/2 nil true #inst "a" foo/bar :foo/bar')
    texts = [text(form) for form in forms]
    assert texts == [
        ":a", '"a"', "a", r"\a", "1", "1.0", "1/2", "nil", "true", '#inst "a"', "foo/bar",
        ":foo/bar",
    ]  # fmt: skip


def test_scalars_that_are_equal_are_equal_texts() -> None:
    assert [text(form) for form in read("1 1N +1 2/2")] == ["1"] * 4
    assert [text(form) for form in read(r'"é" "\u00e9"')] == ['"é"'] * 2
    assert [text(form) for form in read("0.5 5e-1 #{1 2} #{2 1} {1 2 3 4} {3 4 1 2}")] == [
        "0.5", "0.5", "#{1 2}", "#{1 2}", "{1 2, 3 4}", "{1 2, 3 4}",
    ]  # fmt: skip


def test_characters_have_one_spelling_each() -> None:
    assert [text(form) for form in read(r"\Ω \u03A9 \u03a9")] == [r"\Ω"] * 3
    assert [text(form) for form in read(r"\newline \u000a \space \u0020")] == [
        r"\newline", r"\newline", r"\space", r"\space",
    ]  # fmt: skip


def test_two_surrogates_are_one_character_and_one_alone_stays_escaped() -> None:
    assert read(r'"\ud83d\ude00" "😀"') == ['"😀"', '"😀"']
    (alone,) = read(r'"\ud83d"')
    assert alone.encode() == rb'"\ud83d"'
    assert read(alone) == [alone]
    assert text(read(r"\ud83d")[0]).encode() == rb"\ud83d"


def test_forms_lie_in_each_other_so_deep_and_no_deeper() -> None:
    (form,) = read("{:a " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1) + "}")
    assert text(form).count("[") == DEEPEST - 1
    with pytest.raises(NotEdn, match=f"line 2, column {DEEPEST + 1}: forms lie in each other"):
        read("1", "[" * 5000 + "]" * 5000)


def test_a_string_goes_on_until_a_line_closes_it() -> None:
    lines = ['1 "a\n', 'b \\"\n', "; [ c\n", '" :d "e" ; f\n']
    assert read(*(line.rstrip("\n") for line in lines)) == [
        1,
        '"a\\nb \\"\\n; [ c\\n"',
        ":d",
        '"e"',
    ]
    assert [line for line, _ in entries(["[\n", '"x\n', 'y" :z]'])] == [3, 3]


def test_collections_tags_and_namespaced_maps() -> None:
    assert read("{:a [1 (2 nil)], [1] #{2}}") == [{":a": [1, [2, None]], "[1]": Elements([2])}]
    assert read('#jepsen.history.Op{:f :poll} #:ns{:a 1 :b/c 2 "d" 3}') == [
        Tagged("jepsen.history.Op", {":f": ":poll"}),
        {":ns/a": 1, ":b/c": 2, '"d"': 3},
    ]


def test_commas_comments_and_discards_are_nothing() -> None:
    assert read("1,,, ; 2", '#_ 3 #_{:a 4} #_#_ 5 6 7 #_ #inst "8"') == [1, 7]


def test_characters_that_look_like_something_else() -> None:
    assert read(r"\( \newline \u03A9 \; \" 1") == [r"\(", r"\newline", r"\Ω", r"\;", r"\"", 1]


def test_forms_go_on_over_lines() -> None:
    assert read("{:a", '"one', 'two" :b', "1}") == [{":a": '"one\\ntwo"', ":b": 1}]


def test_a_vector_around_all_gives_its_forms_with_their_lines() -> None:
    lines = ["[{:a 1}\n", "{:a 2}\n", "]\n"]
    assert list(entries(lines)) == [(1, {":a": 1}), (2, {":a": 2})]
    assert read("[[1] [2]]") == [[1], [2]]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("1\n{:a 1", "line 2, column 1: '{' begins, nothing ends it"),
        ("[{:a 1}", "line 1, column 1: '[' begins, nothing ends it"),
        ('1 "x', "line 1, column 3: a string begins that nothing closes"),
        ('1 "x\ny', "line 1, column 3: a string begins that nothing closes"),
        ("{:a}", "line 1, column 4: the map of line 1 has a key without a value"),
        ("{:a 1 :a 2}", "the map of line 1 has one key twice"),
        ("[1\n)", "line 2, column 1: ')' does not close the '[' of line 1, column 1"),
        ("{1 2}]", "line 1, column 6: ']' closes nothing"),
        ("[1 #_]", "does not close the '#_'"),
        ("1 # 2", "line 1, column 3: '#' begins no form"),
    ],
)
def test_what_is_no_edn_is_refused_at_its_place(source: str, says: str) -> None:
    with pytest.raises(NotEdn) as fault:
        list(entries(source.splitlines(keepends=True)))
    assert says in str(fault.value)


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
def test_what_is_spelled_reads_back(form: dict[str, Any]) -> None:
    (again,) = read(text(form))
    assert again == form


@given(st.text(alphabet='{}[]()#_:a1"\\ ;,\n', max_size=30))
def test_any_text_is_forms_or_refused(source: str) -> None:
    refused = ""
    try:
        read(source)
    except NotEdn as fault:
        refused = str(fault)
    assert not refused or refused.startswith("line ")
