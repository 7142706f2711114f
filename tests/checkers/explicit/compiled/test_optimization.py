"""Code for few states and code for many states are compiled in different ways, with one result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.explicit.compiled.library import SMALL_SEARCH, optimization
from checkers.explicit.exploration import MANY, Budget
from checkers.explicit.search import explore
from model.replication.versions import Kip101


@pytest.mark.parametrize(
    ("states", "flags"),
    [
        (0, ("-Og", "-DDRAFT")),
        (SMALL_SEARCH, ("-Og", "-DDRAFT")),
        (SMALL_SEARCH + 1, ()),
        (MANY, ()),
        (MANY + 1, ("-O3",)),
        (None, ()),
    ],
)
def test_a_larger_budget_of_states_is_compiled_with_more_optimization(
    states: int | None, flags: tuple[str, ...]
) -> None:
    assert optimization(states) == flags


def test_each_optimization_has_the_same_result() -> None:
    found = [
        explore(Kip101(), budget=Budget(states=states), engine="compiled", threads=threads)
        for states in (SMALL_SEARCH, MANY, MANY + 1)
        for threads in (1, 2)
    ]
    assert found[0].violated
    assert found[0].distinct < SMALL_SEARCH
    assert [replace(one, seconds=0) for one in found[1:]] == [replace(found[0], seconds=0)] * 5
