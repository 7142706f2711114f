"""A pattern of topic names matches as in RE2, which Kafka uses. Where RE2 and Python's `re` agree,
it matches as in `re`.

No match takes exponential time.
"""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.groups.topic_patterns import BadPattern, TopicPattern, is_pattern, matching

TOPICS = frozenset({"orders", "orders-eu", "orders-us.1", "payments", "__consumer_offsets"})

atoms = st.sampled_from(
    ["a", "b", "-", ".", "[ab]", "[^a]", "[a-c1]", r"\d", r"\.", r"\W", "^", "$"]
)
patterns = st.recursive(
    atoms,
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}", "+?"])).map(
            lambda one: f"({one[0]}){one[1]}"
        )
    ),
    max_leaves=6,
)


@given(patterns, st.text("ab-.1", max_size=4))
def test_a_pattern_matches_what_python_matches(pattern: str, topic: str) -> None:
    assert TopicPattern.of(pattern).matches(topic) == (re.fullmatch(pattern, topic) is not None)


@pytest.mark.parametrize(
    ("pattern", "topics"),
    [
        ("orders", ["orders"]),
        ("orders.*", ["orders", "orders-eu", "orders-us.1"]),
        ("^orders-(eu|us)$", ["orders-eu"]),
        ("(?P<name>payments|orders)", ["orders", "payments"]),
        (r"__consumer\_offsets", ["__consumer_offsets"]),
        (r"[[:alpha:]]+", ["orders", "payments"]),
        ("orders-us[.]1{1}", ["orders-us.1"]),
        ("pay{,}ments", []),  # no repeat: RE2 reads this brace as a character
        ("", []),
    ],
)
def test_a_pattern_matches_whole_names(pattern: str, topics: list[str]) -> None:
    assert is_pattern(pattern)
    assert [*matching(pattern, TOPICS)] == topics


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "a)", "[", "[b-a]", "*a", "a{3,2}", "a{2000}", "(?=a)", r"\1", r"\pL", "\\"),
        *("(?P<1>a)", "((a{100}){100}){100}", "(" * 200 + ")" * 200),
    ],
)
def test_other_texts_are_refused(pattern: str) -> None:
    assert not is_pattern(pattern)
    with pytest.raises(BadPattern):
        TopicPattern.of(pattern)


def test_no_pattern_takes_exponential_time() -> None:
    began = time.monotonic()
    assert not TopicPattern.of("(a+)+b").matches("a" * 249)
    assert TopicPattern.of("(a*)*").matches("a" * 249)
    assert time.monotonic() - began < 1  # backtracking would take years
