"""The generated C code and the reference interpreter agree on random terms and random actions.

Compilation is slow, so each library has many terms, each evaluated in many states.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers.explicit.compiled.library import Library
from checkers.explicit.instance import Instance
from model.language import terms as t
from model.language.actions import Action, Claim
from model.language.interpreter import State, joined
from tests.checkers.explicit.random_programs import (
    Small,
    about_steps,
    actions,
    interpreted,
    spec_of,
    states,
    steps,
    terms,
)

SLOW = settings(
    max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@SLOW
@given(
    formulas=st.lists(terms(t.BOOL, depth=4), min_size=20, max_size=30),
    some=st.lists(states(), min_size=10, max_size=20),
)
def test_random_formulas_agree_with_the_interpreter(
    formulas: Sequence[t.Node], some: Sequence[State]
) -> None:
    spec = Small()
    spec.__dict__["claims"] = [Claim(f"c{k}", "", f, lemma=False) for k, f in enumerate(formulas)]
    library = Library(Instance.of(spec), fingerprints=False)
    for state in some:
        assert [judged(library, f"c{k}", state) for k in range(len(formulas))] == [
            interpreted(formula, state) for formula in formulas
        ]


def judged(library: Library, name: str, state: State) -> bool | str:
    with library.opened(1, [name]):
        library.start(library.source.at.pack(state))
        library.next_level()
        library.judge(1)
        (found,) = library.found
        return "undefined" if found.undefined else not any(found.broken)


@SLOW
@given(
    several=st.lists(actions(), min_size=4, max_size=6),
    some=st.lists(states(), min_size=10, max_size=20),
)
def test_random_actions_agree_with_the_interpreter(
    several: Sequence[Action], some: Sequence[State]
) -> None:
    for action in several:
        spec = spec_of(action)
        library = Library(Instance.of(spec), fingerprints=False)
        for state in some:
            found = steps(spec, state)
            expected = found if isinstance(found, str) else distinct([s for _, s in found], state)
            assert successors(library, state) == expected


def distinct(after: Sequence[State], before: State) -> list[State]:
    return [s for k, s in enumerate(after) if s != before and s not in after[:k]]


def successors(library: Library, state: State) -> list[State] | str:
    at = library.source.at
    with library.opened(1, []):
        library.start(at.pack(state))
        library.next_level()
        library.expand(1)
        (found,) = library.found
        if found.undefined:
            return "undefined"
        keys = [library.key(number) for number in range(1, library.count())]
        return [at.unpack(library.source.layout.loaded(key)) for key in keys]


@SLOW
@given(
    formulas=st.lists(about_steps(), min_size=10, max_size=20),
    first=actions(),
    some=st.lists(states(), min_size=10, max_size=20),
)
def test_random_formulas_about_steps_agree_with_the_interpreter(
    formulas: Sequence[t.Node], first: Action, some: Sequence[State]
) -> None:
    spec = spec_of(first)
    spec.__dict__["action_properties"] = [
        Claim(f"c{k}", "", f, lemma=False, about="steps") for k, f in enumerate(formulas)
    ]
    library = Library(Instance.of(spec), fingerprints=False)
    for state in some:
        found = steps(spec, state)
        if not isinstance(found, str):
            taken = [joined(state, after) for _, after in found if after != state]
            for k, formula in enumerate(formulas):
                says = [interpreted(formula, step) for step in taken]
                # of the answers for several steps, the first one that is not `true` counts
                first_bad = next((answer for answer in says if answer is not True), True)
                if "undefined" not in says or first_bad == "undefined":
                    assert judged_steps(library, f"c{k}", state) == first_bad


def judged_steps(library: Library, name: str, state: State) -> bool | str:
    with library.opened(1, [name]):
        library.start(library.source.at.pack(state))
        library.next_level()
        library.expand(1)
        (found,) = library.found
        return "undefined" if found.undefined else not any(found.broken)
