"""A chain behaves like an immutable tuple: each change returns a new version of the chain.

The versions share their items in memory, but a change never alters another version.
"""

from __future__ import annotations

import pickle
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.log.chain import Chain

# The version to change, and the change; each change adds a version.
Change = tuple[int, str, int]
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 99), st.sampled_from(["plus", "with_last", "slice"]), st.integers(-9, 9)
    ),
    max_size=40,
)


@given(CHANGES)
def test_every_version_stays_equal_to_its_tuple(changes: list[Change]) -> None:
    versions: list[tuple[Chain[int], tuple[int, ...]]] = [(Chain(), ())]
    for number, what, value in changes:
        chain, oracle = versions[number % len(versions)]
        if what == "plus":
            versions.append((chain.plus(value), (*oracle, value)))
        elif what == "with_last" and oracle:
            versions.append((chain.with_last(value), (*oracle[:-1], value)))
        elif what == "slice":
            versions.append((chain[value:], oracle[value:]))
    for chain, oracle in versions:
        assert chain == oracle
        assert hash(chain) == hash(oracle)
        assert len(chain) == len(oracle)
        assert [chain[at] for at in range(len(oracle))] == [*oracle]
        assert [chain[at] for at in range(-len(oracle), 0)] == [*oracle]
        assert [[*chain.since(at)] for at in range(len(oracle) + 2)] == [
            [*oracle[at:]] for at in range(len(oracle) + 2)
        ]


def test_versions_share_their_items() -> None:
    chain = Chain[object]()
    for _ in range(100):
        chain = chain.plus(object())
    longer = chain.plus(object())
    assert longer._shared is chain._shared
    other = chain.plus(object())
    assert other._shared is not chain._shared, "the list goes on with the first successor"


def test_the_empty_chain_keeps_no_item_alive() -> None:
    empty = Chain[int]()
    assert [*empty.plus(1).plus(2)] == [1, 2]
    assert empty._shared == []


def test_a_chain_is_copied_and_pickled_by_its_items() -> None:
    chain = Chain([1, 2]).plus(3)
    assert deepcopy(chain) == chain
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert repr(chain) == "Chain([1, 2, 3])"


@pytest.mark.parametrize("at", [-4, 3, 99])
def test_an_index_outside_is_an_error(at: int) -> None:
    with pytest.raises(IndexError, match=f"item {at} of a chain of 3"):
        Chain([1, 2, 3])[at]


def test_an_empty_chain_has_no_last_item() -> None:
    with pytest.raises(IndexError, match="no last item"):
        Chain[int]().with_last(1)


def test_a_chain_differs_from_a_list() -> None:
    assert Chain([1]) != [1]
    assert Chain([1]) != Chain([2])
